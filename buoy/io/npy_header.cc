// Reads the header of a .npy: magic, version, length, and a Python dictionary of three known keys.
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/npy_format.h"

namespace buoy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr Index kMaxNpyHeaderBytes = 1 << 20;  // a hundred times what numpy itself accepts
constexpr Index kMaxEmptyStrings =
    1 << 16;  // '<U0' elements take no bytes, so the file's size does not bound them
constexpr Index kMaxTextLength = Index{1} << 29;

struct Descr {
  std::string_view name;
  DType dtype;
};

constexpr std::array<Descr, 12> kDescrs = {{{"<f4", DType::kF32},
                                            {"<f2", DType::kF16},
                                            {"<f8", DType::kF64},
                                            {"<i4", DType::kI32},
                                            {"<i8", DType::kI64},
                                            {"<i2", DType::kI16},
                                            {"|u1", DType::kU8},
                                            {"|i1", DType::kI8},
                                            {"|b1", DType::kBool},
                                            {"<u1", DType::kU8},
                                            {"<i1", DType::kI8},
                                            {"<b1", DType::kBool}}};

// Walks the dictionary. Only what numpy writes is understood; the rest is an error that shows where.
class DictReader {
 public:
  DictReader(std::string_view text, std::string_view place) : rest_(text), place_(place) {}

  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) bad(fmt::format("'{}'", c));
  }

  void expect_end() {
    skip_space();
    if (!rest_.empty()) bad("its end");
  }

  std::string_view string() {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) bad("a string");
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) bad("a closed string");
    const std::string_view result = rest_.substr(1, end - 1);
    if (result.find('\\') != std::string_view::npos) bad("a string without escapes");
    rest_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    }
    bad("True or False");
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(size());
      if (shape.size() > kMaxNpyRank) fail("{}: shape has more than {} dimensions", place_, kMaxNpyRank);
      const bool comma = accept(',');
      if (comma) continue;
      if (shape.size() == 1) bad("','");  // "(3)" is a number in Python, not a tuple
      expect(')');
      break;
    }
    return shape;
  }

  [[noreturn]] void bad(std::string_view expected) const {
    fail("{}: bad npy header: expected {} before {}", place_, expected, quote(rest_));
  }

 private:
  Index size() {
    skip_space();
    Index value = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    if (error == std::errc::result_out_of_range) fail("{}: shape is too large", place_);
    if (error != std::errc() || value < 0) bad("a size");
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // numpy under Python 2 wrote "3L"
    return value;
  }

  std::string_view rest_;
  std::string_view place_;
};

// The character count of '<U12'.
std::optional<Index> text_length(std::string_view descr) {
  if (!descr.starts_with("<U")) return std::nullopt;
  Index length = 0;
  const char* const end = descr.data() + descr.size();
  const auto [stop, error] = std::from_chars(descr.data() + 2, end, length);
  if (error != std::errc() || stop != end || length < 0 || length > kMaxTextLength) return std::nullopt;
  return length;
}

void set_type(NpyHeader& header, std::string_view descr, std::string_view place) {
  if (const std::optional<Index> length = text_length(descr)) {
    header.is_text = true;
    header.element_size = 4 * *length;
    return;
  }
  for (const Descr& known : kDescrs) {
    if (known.name == descr) {
      header.dtype = known.dtype;
      header.element_size = size_of(known.dtype);
      return;
    }
  }
  if (descr == "|O") fail("{}: holds Python objects, which are not read", place);
  fail("{}: type {} is not supported, expected <f2 <f4 <f8 |i1 <i2 <i4 <i8 |u1 |b1 or <U", place,
       quote(descr));
}

void read_dict(NpyHeader& header, std::string_view text, std::string_view place) {
  DictReader reader(text, place);
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  reader.expect('{');
  while (!reader.accept('}')) {
    const std::string_view key = reader.string();
    reader.expect(':');
    if (key == "descr" && !std::exchange(has_descr, true)) {
      if (reader.accept('[')) fail("{}: structured types are not supported", place);
      set_type(header, reader.string(), place);
    } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
      header.is_fortran = reader.boolean();
    } else if (key == "shape" && !std::exchange(has_shape, true)) {
      header.shape = reader.tuple();
    } else {
      fail("{}: bad npy header: unknown or repeated key {}", place, quote(key));
    }
    if (reader.accept(',')) continue;
    reader.expect('}');
    break;
  }
  reader.expect_end();
  if (!has_descr || !has_order || !has_shape) {
    fail("{}: bad npy header: expected descr, fortran_order and shape", place);
  }
}

int byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<int>(bytes[i]);
}

// Bytes of the length field: 2 in version 1, 4 in versions 2 and 3.
Index length_bytes(std::span<const std::byte> start, std::string_view place) {
  if (start.size() < kMagic.size() || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    fail("{}: not a .npy array (wrong magic)", place);
  }
  if (start.size() < kMagic.size() + 2) fail("{}: truncated .npy header", place);
  const int major = byte_at(start, 6);
  const int minor = byte_at(start, 7);
  if (major < 1 || major > 3 || minor != 0) {
    fail("{}: .npy version {}.{}, expected 1.0, 2.0 or 3.0", place, major, minor);
  }
  return major == 1 ? 2 : 4;
}

}  // namespace

Index npy_data_offset(std::span<const std::byte> start, std::string_view place) {
  const Index field = length_bytes(start, place);
  const Index preamble = static_cast<Index>(kMagic.size()) + 2 + field;
  if (static_cast<Index>(start.size()) < preamble) fail("{}: truncated .npy header", place);
  Index length = 0;
  for (Index i = field - 1; i >= 0; --i) length = length << 8 | byte_at(start, kMagic.size() + 2 + i);
  if (length > kMaxNpyHeaderBytes) {
    fail("{}: .npy header of {} bytes, expected at most {}", place, length, kMaxNpyHeaderBytes);
  }
  return preamble + length;
}

NpyHeader parse_npy_header(std::span<const std::byte> start, Index total_bytes, std::string_view place) {
  NpyHeader header;
  header.data_offset = npy_data_offset(start, place);
  if (static_cast<Index>(start.size()) < header.data_offset) fail("{}: truncated .npy header", place);
  const auto preamble = static_cast<std::size_t>(std::to_integer<int>(start[6]) == 1 ? 10 : 12);
  read_dict(header,
            {reinterpret_cast<const char*>(start.data()) + preamble,
             static_cast<std::size_t>(header.data_offset) - preamble},
            place);
  const std::optional<Index> elements = byte_count(header.shape, 1);
  const std::optional<Index> bytes = byte_count(header.shape, header.element_size);
  if (!elements || !bytes) fail("{}: shape {} is too large", place, to_string(header.shape));
  if (header.element_size == 0 && *elements > kMaxEmptyStrings) {
    fail("{}: {} strings of no length, expected at most {}", place, *elements, kMaxEmptyStrings);
  }
  header.data_bytes = *bytes;
  const Index available = total_bytes - header.data_offset;
  if (available != header.data_bytes) {
    fail("{}: has {} bytes of data, expected {} for shape {} of {}-byte elements{}", place, available,
         header.data_bytes, to_string(header.shape), header.element_size,
         available < header.data_bytes ? " (truncated?)" : "");
  }
  return header;
}

}  // namespace buoy
