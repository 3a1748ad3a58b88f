// The pieces of the .npy format that .npy blobs and .npz members share. Private to io.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/io/npz.h"

namespace buoy {

// What the start of a .npy says about the data behind it.
struct NpyHeader {
  DType dtype = DType::kF32;  // meaningless when is_text
  bool is_text = false;
  Index element_size = 0;  // bytes; of text 4 per character of the longest string
  bool is_fortran = false;
  Shape shape;
  Index data_offset = 0;  // bytes before the data
  Index data_bytes = 0;
};

inline constexpr std::size_t kMaxNpyRank = 32;  // the most dimensions that numpy reads

// Bytes that are always enough to call npy_data_offset, unless the blob ends before.
inline constexpr Index kNpyPreambleBytes = 12;

// Where the data of a .npy begins, told from its first kNpyPreambleBytes. Throws Error when it is not a .npy.
Index npy_data_offset(std::span<const std::byte> start, std::string_view place);

// Reads the header in the first npy_data_offset() bytes of a .npy of `total_bytes`. Throws Error, also when
// the data is not as long as shape and type say: so nobody allocates what a file merely claims.
NpyHeader parse_npy_header(std::span<const std::byte> start, Index total_bytes, std::string_view place);

// Makes the array of a header and its data (data_bytes of them). Throws Error.
NpyArray assemble_npy(const NpyHeader& header, std::vector<std::byte> data, std::string_view place);

// numpy's UTF-32 cells. decode drops trailing NULs; both throw Error at `place` for what is no Unicode text.
std::vector<std::string> decode_npy_text(std::span<const std::byte> cells, Index element_size, Index count,
                                         std::string_view place);
Index npy_text_length(const std::vector<std::string>& text,
                      std::string_view place);  // of the longest, at least 1
std::vector<std::byte> encode_npy_text(const std::vector<std::string>& text, Index length);

// numpy's name of an element type: "<f4". There is no bfloat16; it is written widened, as "<f4".
std::string_view npy_descr(DType dtype);

// The start of a .npy, version 1.0, C order: everything before the data.
std::string npy_header_text(std::string_view descr, const Shape& shape);

// A .npy about to be written: the bytes are header, then data(). Views `array` unless its data had to be
// converted.
class EncodedNpy {
 public:
  EncodedNpy(const NpyArray& array, std::string_view place);

  const std::string& header() const { return header_; }
  std::span<const std::byte> data() const { return is_converted_ ? converted_ : array_->bytes; }

 private:
  const NpyArray* array_;
  std::string header_;
  bool is_converted_ = false;
  std::vector<std::byte> converted_;
};

}  // namespace buoy
