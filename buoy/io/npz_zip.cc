#include "buoy/io/npz_zip.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <zlib.h>

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

namespace buoy {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;   // "see the ZIP64 field"
constexpr std::uint16_t kManyIn64 = 0xFFFF;   // the same for counts
constexpr std::uint16_t kVersion = 45;        // of the format: the first with ZIP64
constexpr std::uint16_t kUnix = 3 << 8;       // whose file attributes follow
constexpr std::uint16_t kUtf8Name = 1 << 11;  // flag
constexpr std::uint16_t kStored = 0;
constexpr std::uint32_t kEpoch = (1 << 5 | 1)
                                 << 16;  // 1980-01-01 00:00, so that equal arrays are equal bytes
constexpr std::uint32_t kReadable = std::uint32_t{0100644} << 16;  // a plain file that all may read
constexpr std::uint16_t kField64 = 1;

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

std::uint32_t in_32_bits(Index value) {
  return value < Index{kIn64} ? static_cast<std::uint32_t>(value) : kIn64;
}

void put_central(std::string& out, const ZipMember& member) {
  std::string field;
  if (in_32_bits(member.size) == kIn64) {
    put<Index>(field, member.size);
    put<Index>(field, member.size);  // stored: as long "compressed"
  }
  if (in_32_bits(member.offset) == kIn64) put<Index>(field, member.offset);
  put(out, kCentral);
  put<std::uint16_t>(out, kUnix | kVersion);
  put(out, kVersion);
  put(out, kUtf8Name);
  put(out, kStored);
  put(out, kEpoch);
  put(out, member.crc);
  put(out, in_32_bits(member.size));
  put(out, in_32_bits(member.size));
  put(out, static_cast<std::uint16_t>(member.name.size()));
  put(out, static_cast<std::uint16_t>(field.empty() ? 0 : field.size() + 4));
  put<std::uint16_t>(out, 0);  // comment
  put<std::uint16_t>(out, 0);  // disk
  put<std::uint16_t>(out, 0);  // what kind of contents
  put(out, kReadable);
  put(out, in_32_bits(member.offset));
  out += member.name;
  if (field.empty()) return;
  put(out, kField64);
  put(out, static_cast<std::uint16_t>(field.size()));
  out += field;
}

struct Directory {
  Index count = 0, size = 0, offset = 0;
  bool needs_64() const {
    return count >= kManyIn64 || in_32_bits(size) == kIn64 || in_32_bits(offset) == kIn64;
  }
};

void put_end64(std::string& out, const Directory& directory) {
  put(out, kEnd64);
  put<Index>(out, 44);  // bytes that follow in this record
  put<std::uint16_t>(out, kUnix | kVersion);
  put(out, kVersion);
  put<std::uint32_t>(out, 0);  // this disk
  put<std::uint32_t>(out, 0);  // the directory's disk
  put(out, directory.count);   // on this disk
  put(out, directory.count);
  put(out, directory.size);
  put(out, directory.offset);
  put(out, kLocator64);
  put<std::uint32_t>(out, 0);  // the disk of the record above
  put(out, directory.offset + directory.size);
  put<std::uint32_t>(out, 1);  // disks
}

void put_end(std::string& out, const Directory& directory) {
  const auto count = static_cast<std::uint16_t>(std::min<Index>(directory.count, kManyIn64));
  put(out, kEnd);
  put<std::uint16_t>(out, 0);  // this disk
  put<std::uint16_t>(out, 0);  // the directory's disk
  put(out, count);             // on this disk
  put(out, count);
  put(out, in_32_bits(directory.size));
  put(out, in_32_bits(directory.offset));
  put<std::uint16_t>(out, 0);  // comment
}

}  // namespace

void Crc32::add(std::span<const std::byte> bytes) {
  value_ = static_cast<std::uint32_t>(
      ::crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string zip_local_header(const ZipMember& member) {
  std::string out;
  put(out, kLocal);
  put(out, kVersion);
  put(out, kUtf8Name);
  put(out, kStored);
  put(out, kEpoch);
  put(out, member.crc);
  put(out, kIn64);
  put(out, kIn64);
  put(out, static_cast<std::uint16_t>(member.name.size()));
  put<std::uint16_t>(out, 20);  // bytes of the field behind the name
  out += member.name;
  put(out, kField64);
  put<std::uint16_t>(out, 16);
  put(out, member.size);
  put(out, member.size);
  return out;
}

std::string zip_directory(std::span<const ZipMember> members, Index offset) {
  std::string out;
  for (const ZipMember& member : members) put_central(out, member);
  const Directory directory{.count = std::ssize(members), .size = std::ssize(out), .offset = offset};
  if (directory.needs_64()) put_end64(out, directory);
  put_end(out, directory);
  return out;
}

}  // namespace buoy
