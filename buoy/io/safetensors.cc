// The header of one safetensors file: 8 bytes of length, a JSON object, then the tensors' bytes without gaps.
#include "buoy/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

namespace buoy {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own reader
constexpr std::string_view kLfsPointer = "version https://git-lfs";

struct DTypeName {
  std::string_view name;
  DType dtype;
};

constexpr std::array<DTypeName, 10> kDTypes = {{{"F32", DType::kF32},
                                                {"F16", DType::kF16},
                                                {"BF16", DType::kBf16},
                                                {"F64", DType::kF64},
                                                {"I64", DType::kI64},
                                                {"I32", DType::kI32},
                                                {"I16", DType::kI16},
                                                {"I8", DType::kI8},
                                                {"U8", DType::kU8},
                                                {"BOOL", DType::kBool}}};

// A tensor as the header describes it; offsets count from the end of the header.
struct Entry {
  std::string name;
  TensorView view;  // bytes not yet set
  Index begin = 0;
  Index end = 0;
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The JSON text of the header. Everything after it is tensor data.
std::string_view header_text(std::span<const std::byte> bytes, std::string_view place) {
  if (bytes.empty()) fail("{}: is empty, expected a safetensors file", place);
  if (as_text(bytes).starts_with(kLfsPointer)) {
    fail("{}: is a Git LFS pointer, expected the weights themselves (git lfs pull fetches them)", place);
  }
  if (bytes.size() < kLengthBytes) {
    fail("{}: is {} bytes long, too short for a safetensors file", place, bytes.size());
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    fail("{}: header length is {}, expected at most {} (not a safetensors file?)", place, length,
         kMaxHeaderBytes);
  }
  const std::uint64_t available = bytes.size() - kLengthBytes;
  if (length > available) {
    fail("{}: truncated: header length is {}, but only {} bytes follow", place, length, available);
  }
  const std::string_view text = as_text(bytes.subspan(kLengthBytes, length));
  if (!text.starts_with('{')) fail("{}: header does not start with '{{' (not a safetensors file?)", place);
  return text;
}

// `value` as a size: an integer from 0 to 2^63-1.
std::optional<Index> as_size(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > std::uint64_t{INT64_MAX}) return std::nullopt;
  return static_cast<Index>(number);
}

// A list of sizes under `key`.
std::vector<Index> sizes(const JsonObject& entry, std::string_view key) {
  const Json* list = entry.find(key);
  if (list == nullptr) fail("{}: \"{}\" is missing", entry.place(), key);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected an array", entry.place(), key, kind_of(*list));
  std::vector<Index> result;
  result.reserve(list->size());
  for (const Json& item : *list) {
    const std::optional<Index> size = as_size(item);
    if (!size) {
      fail("{}: \"{}\" holds {}, expected sizes from 0 to 2^63-1", entry.place(), key,
           item.is_number() ? item.dump() : std::string(kind_of(item)));
    }
    result.push_back(*size);
  }
  return result;
}

DType dtype_of(const JsonObject& entry) {
  const std::string name = entry.string("dtype");
  const auto* const found =
      std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeName& d) { return d.name == name; });
  if (found == kDTypes.end()) {
    fail("{}: dtype {} is not supported, expected F32, F16, BF16, F64, I64, I32, I16, I8, U8 or BOOL",
         entry.place(), quote(name));
  }
  return found->dtype;
}

Entry parse_entry(const std::string& name, const Json& value, std::string_view place) {
  const JsonObject object(value, fmt::format("{}: {}", place, quote(name)));
  for (const auto& [key, unused] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      fail("{}: unknown field {}", object.place(), quote(key));
    }
  }
  Entry entry{.name = name,
              .view = {.dtype = dtype_of(object), .shape = sizes(object, "shape"), .bytes = {}}};
  const std::vector<Index> offsets = sizes(object, "data_offsets");
  if (offsets.size() != 2) {
    fail("{}: \"data_offsets\" has {} items, expected 2", object.place(), offsets.size());
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (entry.begin > entry.end) {
    fail("{}: data begins at {} after its end at {}", object.place(), entry.begin, entry.end);
  }
  const std::optional<Index> expected = byte_count(entry.view.shape, size_of(entry.view.dtype));
  if (!expected) fail("{}: shape {} is too large", object.place(), to_string(entry.view.shape));
  if (entry.end - entry.begin != *expected) {
    fail("{}: has {} bytes, expected {} for {} {}", object.place(), entry.end - entry.begin, *expected,
         name_of(entry.view.dtype), to_string(entry.view.shape));
  }
  return entry;
}

// Every byte of the data must belong to exactly one tensor. `entries` are sorted by where they lie.
void check_layout(const std::vector<Entry>& entries, Index data_bytes, std::string_view place) {
  Index covered = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (entry.end > data_bytes) {
      fail("{}: truncated: {} ends at byte {} of the data, but there are only {}", place, quote(entry.name),
           entry.end, data_bytes);
    }
    if (entry.begin < covered) {
      fail("{}: {} and {} overlap", place, quote(entries[i - 1].name), quote(entry.name));
    }
    if (entry.begin > covered) {
      fail("{}: {} bytes before {} belong to no tensor", place, entry.begin - covered, quote(entry.name));
    }
    covered = entry.end;
  }
  if (covered < data_bytes) {
    fail("{}: {} bytes after the last tensor belong to none", place, data_bytes - covered);
  }
}

}  // namespace

std::string_view safetensors_name(DType dtype) {
  return std::ranges::find(kDTypes, dtype, &DTypeName::dtype)->name;
}

std::map<std::string, TensorView> parse_safetensors(std::span<const std::byte> bytes,
                                                    std::string_view place) {
  const std::string_view text = header_text(bytes, place);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + text.size());
  const Json header = parse_json_unique(text, place);
  std::vector<Entry> entries;
  entries.reserve(header.size());
  for (const auto& [name, value] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(parse_entry(name, value, place));
    } else if (!value.is_object()) {
      fail("{}: \"__metadata__\" is {}, expected an object", place, kind_of(value));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(entries, static_cast<Index>(data.size()), place);
  std::map<std::string, TensorView> tensors;
  for (Entry& entry : entries) {
    entry.view.bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin));
    tensors.emplace(std::move(entry.name), std::move(entry.view));
  }
  return tensors;
}

}  // namespace buoy
