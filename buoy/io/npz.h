// NumPy's .npy and .npz, read and written so that numpy.load opens them without pickle.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/io/tensor_view.h"

namespace buoy {

// One array with its bytes: numbers (dtype, C order) or unicode strings (numpy's '<U'). 0-d arrays have an
// empty shape.
struct NpyArray {
  DType dtype = DType::kF32;  // meaningless when is_text
  Shape shape = {};
  std::vector<std::byte> bytes = {};  // little-endian, C order; empty when is_text
  bool is_text = false;
  std::vector<std::string> text = {};  // UTF-8, C order, one per element, when is_text

  TensorView view() const { return {dtype, shape, bytes}; }
  Index size() const { return element_count(shape); }

  // Copy the values, which must be as many as the shape says.
  static NpyArray of(std::span<const float> values, Shape shape);
  static NpyArray of(std::span<const double> values, Shape shape);
  static NpyArray of(std::span<const std::int32_t> values, Shape shape);
  static NpyArray of(std::span<const Index> values, Shape shape);
  static NpyArray of_text(std::vector<std::string> values, Shape shape);

  // Copy out, converting between number types (16-bit floats are widened, booleans become 0 and 1, wide
  // numbers round to the nearest float). Throw Error when text, or when an integer read meets a fraction or a
  // number out of range.
  std::vector<float> as_floats() const;
  std::vector<double> as_doubles() const;
  std::vector<Index> as_integers() const;
};

// One .npy blob. Reading accepts versions 1.0, 2.0 and 3.0, little-endian or single-byte types, C and Fortran
// order (turned into C); everything else (objects, structured types, big-endian, truncated data) throws Error
// at `place`. Trailing NUL characters of strings are padding and dropped, as numpy does.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view place);

// Version 1.0, C order. numpy has no bfloat16: such arrays are written widened to float32. Throws Error when
// numpy could not give the array back: a string that is not valid UTF-8 or ends with NUL, more than 32
// dimensions.
std::string format_npy(const NpyArray& array);

// A set of named arrays, in order of name.
using NpzArrays = std::map<std::string, NpyArray>;

// Reads every array (stored or deflated); a member that is not a .npy is an error. Throws Error naming the
// file, and the member where one is bad.
NpzArrays read_npz(const std::filesystem::path& path);
NpzArrays parse_npz(std::span<const std::byte> bytes, std::string_view place);

// Writes atomically (temporary name, then rename), stored without compression. Same arrays, same bytes.
// Throws Error, also as format_npy does; then nothing is left behind and an older file stays as it was.
void write_npz(const std::filesystem::path& path, const NpzArrays& arrays);

}  // namespace buoy
