// .npy blobs to arrays and back, and arrays to numbers.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/half.h"
#include "buoy/io/npy_format.h"

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

namespace buoy {
namespace {

constexpr std::size_t kAlignment = 64;

// Moves elements from Fortran order (first index fastest) to C order (last index fastest).
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data, const Shape& shape,
                                  Index element_size) {
  std::vector<std::byte> result(data.size());
  const auto size = static_cast<std::size_t>(element_size);
  Shape strides(shape.size());
  Index stride = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= shape[d];
  }
  Shape at(shape.size(), 0);
  Index from = 0;
  for (std::size_t to = 0; to < data.size(); to += size) {
    std::memcpy(result.data() + to, data.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++at[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return result;
}

// Calls visit(value) for each element, as its own type or, for 16-bit floats, as float.
template <typename Stored, typename Visit, typename Widen>
void visit_elements(std::span<const std::byte> bytes, Visit& visit, Widen widen) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Stored)) {
    Stored value;
    std::memcpy(&value, bytes.data() + i, sizeof(Stored));
    visit(widen(value));
  }
}

template <typename Visit>
void visit_numbers(const NpyArray& array, Visit visit) {
  if (array.is_text) fail("array {} holds text, expected numbers", to_string(array.shape));
  check(static_cast<Index>(array.bytes.size()) == array.size() * size_of(array.dtype),
        "bytes of an array match its shape");
  const std::span<const std::byte> bytes = array.bytes;
  const auto same = [](auto value) { return value; };
  switch (array.dtype) {
    case DType::kF32:
      return visit_elements<float>(bytes, visit, same);
    case DType::kF16:
      return visit_elements<std::uint16_t>(bytes, visit, widen_f16);
    case DType::kBf16:
      return visit_elements<std::uint16_t>(bytes, visit, widen_bf16);
    case DType::kF64:
      return visit_elements<double>(bytes, visit, same);
    case DType::kI32:
      return visit_elements<std::int32_t>(bytes, visit, same);
    case DType::kI64:
      return visit_elements<std::int64_t>(bytes, visit, same);
    case DType::kU8:
      return visit_elements<std::uint8_t>(bytes, visit, same);
    case DType::kI8:
      return visit_elements<std::int8_t>(bytes, visit, same);
    case DType::kI16:
      return visit_elements<std::int16_t>(bytes, visit, same);
    case DType::kBool:
      return visit_elements<std::uint8_t>(bytes, visit, [](std::uint8_t v) { return Index{v != 0}; });
  }
}

template <typename To>
std::vector<To> numbers_of(const NpyArray& array) {
  std::vector<To> result;
  result.reserve(static_cast<std::size_t>(array.size()));
  visit_numbers(array, [&](auto value) { result.push_back(static_cast<To>(value)); });
  return result;
}

template <typename T>
NpyArray array_of(std::span<const T> values, Shape shape, DType dtype) {
  check(static_cast<Index>(values.size()) == element_count(shape), "as many values as the shape says");
  const auto bytes = std::as_bytes(values);
  NpyArray array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

}  // namespace

std::string_view npy_descr(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kBf16:  // widened
      return "<f4";
    case DType::kF16:
      return "<f2";
    case DType::kF64:
      return "<f8";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU8:
      return "|u1";
    case DType::kI8:
      return "|i1";
    case DType::kI16:
      return "<i2";
    case DType::kBool:
      return "|b1";
  }
  check(false, "unknown DType");
  return "";
}

std::string npy_header_text(std::string_view descr, const Shape& shape) {
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  std::string header("\x93NUMPY\x01\x00", 8);
  const std::size_t used = header.size() + 2 + dict.size() + 1;
  dict.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dict.push_back('\n');
  header.push_back(static_cast<char>(dict.size() & 0xFF));
  header.push_back(static_cast<char>(dict.size() >> 8));
  return header + dict;
}

NpyArray NpyArray::of(std::span<const float> values, Shape shape) {
  return array_of(values, std::move(shape), DType::kF32);
}

NpyArray NpyArray::of(std::span<const double> values, Shape shape) {
  return array_of(values, std::move(shape), DType::kF64);
}

NpyArray NpyArray::of(std::span<const std::int32_t> values, Shape shape) {
  return array_of(values, std::move(shape), DType::kI32);
}

NpyArray NpyArray::of(std::span<const Index> values, Shape shape) {
  return array_of(values, std::move(shape), DType::kI64);
}

NpyArray NpyArray::of_text(std::vector<std::string> values, Shape shape) {
  check(static_cast<Index>(values.size()) == element_count(shape), "as many strings as the shape says");
  NpyArray array;
  array.shape = std::move(shape);
  array.is_text = true;
  array.text = std::move(values);
  return array;
}

std::vector<float> NpyArray::as_floats() const {
  return numbers_of<float>(*this);
}

std::vector<double> NpyArray::as_doubles() const {
  return numbers_of<double>(*this);
}

std::vector<Index> NpyArray::as_integers() const {
  std::vector<Index> result;
  result.reserve(static_cast<std::size_t>(size()));
  visit_numbers(*this, [&](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      // The upper bound 2^63 itself is out of range; NaN fails every comparison.
      const bool whole = value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value;
      if (!whole) {
        fail("array {} of {}: element {} is {}, expected an integer", to_string(shape), name_of(dtype),
             result.size(), value);
      }
    }
    result.push_back(static_cast<Index>(value));
  });
  return result;
}

NpyArray assemble_npy(const NpyHeader& header, std::vector<std::byte> data, std::string_view place) {
  check(static_cast<Index>(data.size()) == header.data_bytes, "npy data matches its header");
  if (header.is_fortran && header.shape.size() > 1) {
    data = to_c_order(data, header.shape, header.element_size);
  }
  NpyArray array;
  array.dtype = header.dtype;
  array.shape = header.shape;
  array.is_text = header.is_text;
  if (header.is_text) {
    array.text = decode_npy_text(data, header.element_size, element_count(header.shape), place);
  } else {
    array.bytes = std::move(data);
  }
  return array;
}

NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view place) {
  const NpyHeader header = parse_npy_header(bytes, static_cast<Index>(bytes.size()), place);
  const auto data = bytes.subspan(static_cast<std::size_t>(header.data_offset));
  return assemble_npy(header, {data.begin(), data.end()}, place);
}

EncodedNpy::EncodedNpy(const NpyArray& array, std::string_view place) : array_(&array) {
  if (array.shape.size() > kMaxNpyRank) {
    fail("{}: array has {} dimensions, numpy reads at most {}", place, array.shape.size(), kMaxNpyRank);
  }
  const Index count = array.size();
  if (array.is_text) {
    check(static_cast<Index>(array.text.size()) == count, "strings of an array match its shape");
    const Index length = npy_text_length(array.text, place);
    header_ = npy_header_text(fmt::format("<U{}", length), array.shape);
    converted_ = encode_npy_text(array.text, length);
    is_converted_ = true;
    return;
  }
  check(static_cast<Index>(array.bytes.size()) == count * size_of(array.dtype),
        "bytes of an array match its shape");
  header_ = npy_header_text(npy_descr(array.dtype), array.shape);
  if (array.dtype == DType::kBf16) {
    const std::vector<float> wide = array.as_floats();
    const auto bytes = std::as_bytes(std::span(wide));
    converted_.assign(bytes.begin(), bytes.end());
    is_converted_ = true;
  }
}

std::string format_npy(const NpyArray& array) {
  const EncodedNpy encoded(array, "npy");
  const auto data = encoded.data();
  std::string result;
  result.reserve(encoded.header().size() + data.size());
  result = encoded.header();
  result.append(reinterpret_cast<const char*>(data.data()), data.size());
  return result;
}

}  // namespace buoy
