// A read-only memory map of a whole file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace buoy {

// Maps a regular file on construction; throws Error when it is missing, a directory, or cannot be mapped.
// An empty file gives empty bytes. Movable, not copyable; the bytes live as long as the object.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace buoy
