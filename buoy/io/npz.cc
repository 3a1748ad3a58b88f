// .npz: a zip archive with one .npy per array, read through libzip.
#include "buoy/io/npz.h"

#include <algorithm>
#include <memory>

#include <zip.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/mapped_file.h"
#include "buoy/io/npy_format.h"
#include "buoy/io/npz_writer.h"

namespace buoy {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr Index kMaxDeflateRatio = 1040;  // deflate cannot do better than 1032
constexpr std::size_t kReadChunk = std::size_t{1} << 26;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

std::string message_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

void check_magic(std::span<const std::byte> bytes, std::string_view place) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 6));
  if (start.empty()) fail("{}: is empty, expected a .npz archive", place);
  if (start == "\x93NUMPY") fail("{}: not a zip archive but a single .npy array, expected a .npz", place);
  if (!start.starts_with("PK\x03\x04") && !start.starts_with("PK\x05\x06")) {
    fail("{}: not a zip archive, expected a .npz", place);
  }
}

Archive open_archive(std::span<const std::byte> bytes, std::string_view place) {
  check_magic(bytes, place);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) fail("{}: cannot read: {}", place, message_of(&error));
  Archive archive(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (!archive) {
    zip_source_free(source);
    fail("{}: damaged or truncated zip archive: {}", place, message_of(&error));
  }
  zip_error_fini(&error);
  return archive;
}

// A member's bytes in order, each read exactly as long as asked for.
class MemberReader {
 public:
  MemberReader(zip_t* archive, zip_uint64_t index, std::string_view place)
      : member_(zip_fopen_index(archive, index, 0)), place_(place) {
    if (!member_) fail("{}: cannot read: {}", place, zip_strerror(archive));
  }

  void fill(std::span<std::byte> out) {
    while (!out.empty()) {
      const std::size_t n = read(out.first(std::min(out.size(), kReadChunk)));
      if (n == 0) fail("{}: truncated", place_);
      out = out.subspan(n);
    }
  }

  // libzip compares the checksum when it meets the end.
  void expect_end() {
    std::byte extra{};
    if (read({&extra, 1}) != 0) fail("{}: longer than the archive says", place_);
  }

 private:
  std::size_t read(std::span<std::byte> out) {
    const zip_int64_t n = zip_fread(member_.get(), out.data(), out.size());
    if (n < 0) fail("{}: damaged: {}", place_, zip_file_strerror(member_.get()));
    return static_cast<std::size_t>(n);
  }

  Member member_;
  std::string_view place_;
};

// The first `count` bytes of a member whose first bytes `head` have been read already.
std::vector<std::byte> extend(MemberReader& reader, std::span<const std::byte> head, std::size_t count) {
  std::vector<std::byte> bytes(std::max(count, head.size()));
  std::copy(head.begin(), head.end(), bytes.begin());
  reader.fill(std::span(bytes).subspan(head.size()));
  return bytes;
}

NpyArray read_member(zip_t* archive, zip_uint64_t index, Index size, std::string_view place) {
  MemberReader reader(archive, index, place);
  const auto preamble = extend(reader, {}, static_cast<std::size_t>(std::min(size, kNpyPreambleBytes)));
  const Index offset = npy_data_offset(preamble, place);
  if (offset > size) fail("{}: truncated .npy header", place);
  // A version 1 header may end inside the preamble; what is beyond it is then data.
  const auto start = extend(reader, preamble, static_cast<std::size_t>(offset));
  const NpyHeader header = parse_npy_header(start, size, place);
  const auto rest = std::span(start).subspan(static_cast<std::size_t>(offset));
  auto data = extend(reader, rest, static_cast<std::size_t>(header.data_bytes));
  reader.expect_end();
  return assemble_npy(header, std::move(data), place);
}

// Refuses sizes that the archive's own bytes cannot hold, before anything is allocated for them.
void check_claims(const zip_stat_t& stat, Index archive_bytes, Index& compressed_total,
                  std::string_view place) {
  const auto limit = static_cast<zip_uint64_t>(archive_bytes - compressed_total);
  if (stat.comp_size > limit) fail("{}: members overlap or reach past the end of the archive", place);
  compressed_total += static_cast<Index>(stat.comp_size);
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    fail("{}: compression method {} is not supported, expected stored or deflated", place, stat.comp_method);
  }
  const zip_uint64_t ratio = stat.comp_method == ZIP_CM_STORE ? 1 : kMaxDeflateRatio;
  if (stat.size > stat.comp_size * ratio) {
    fail("{}: claims {} bytes, more than its {} compressed bytes can hold", place, stat.size, stat.comp_size);
  }
}

// Names the member by its array: "a.npy" → "a".
std::string array_name(const zip_stat_t& stat, std::string_view place) {
  const std::string_view member = stat.name;
  if (!member.ends_with(kSuffix)) fail("{}: member {} is not a .npy array", place, quote(member));
  return std::string(member.substr(0, member.size() - kSuffix.size()));
}

}  // namespace

NpzArrays parse_npz(std::span<const std::byte> bytes, std::string_view place) {
  const Archive archive = open_archive(bytes, place);
  NpzArrays arrays;
  Index compressed_total = 0;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), index, 0, &stat) != 0) {
      fail("{}: member {}: {}", place, i, zip_strerror(archive.get()));
    }
    std::string name = array_name(stat, place);
    if (arrays.contains(name)) fail("{}: {} occurs twice", place, quote(name));
    const std::string member_place = fmt::format("{}: {}", place, quote(name));
    check_claims(stat, static_cast<Index>(bytes.size()), compressed_total, member_place);
    arrays.emplace(std::move(name),
                   read_member(archive.get(), index, static_cast<Index>(stat.size), member_place));
  }
  return arrays;
}

NpzArrays read_npz(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_npz(file.bytes(), path.string());
}

void write_npz(const std::filesystem::path& path, const NpzArrays& arrays) {
  NpzWriter writer(path);
  for (const auto& [name, array] : arrays) writer.add(name, array);
  writer.commit();
}

}  // namespace buoy
