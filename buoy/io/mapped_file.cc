#include "buoy/io/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

std::span<const std::byte> map_descriptor(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail("{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("{}: is a directory, expected a file", path.string());
  if (!S_ISREG(info.st_mode)) fail("{}: is not a regular file", path.string());
  if (info.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) fail("{}: cannot map {} bytes: {}", path.string(), size, std::strerror(errno));
  return {static_cast<const std::byte*>(address), size};
}

void unmap(std::span<const std::byte> bytes) {
  if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  try {
    bytes_ = map_descriptor(fd, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap(bytes_);
    path_ = std::move(other.path_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() {
  unmap(bytes_);
}

}  // namespace buoy
