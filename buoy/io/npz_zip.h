// The bytes around the members of a zip archive that stores them uncompressed. Private to io.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// The checksum that zip keeps of a member, in pieces.
class Crc32 {
 public:
  void add(std::span<const std::byte> bytes);
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

struct ZipMember {
  std::string name;  // UTF-8
  Index offset = 0;  // of its header in the archive
  Index size = 0;
  std::uint32_t crc = 0;
};

// What stands before a member's bytes. It is as long for every size and checksum, so that a writer can put
// it down first and again when it knows them.
std::string zip_local_header(const ZipMember& member);

// What stands after the last member: the directory, which begins at `offset`, and the end record. Sizes past
// 4 GiB and more than 65534 members are written as ZIP64 says.
std::string zip_directory(std::span<const ZipMember> members, Index offset);

}  // namespace buoy
