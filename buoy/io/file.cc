#include "buoy/io/file.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Closes on scope exit, so that every throw below leaves no descriptor behind.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail_write(const fs::path& path) {
  fail("{}: cannot write: {}", path.string(), std::strerror(errno));
}

void write_all(const fs::path& destination, std::string_view bytes, const fs::path& path) {
  const Descriptor file(::open(destination.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.fd < 0) fail_write(path);
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_write(path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Creates a file that did not exist before; the number keeps threads and leftovers of killed runs apart.
fs::path create_beside(const fs::path& target, const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  while (true) {
    fs::path name = fmt::format("{}.tmp{}.{}", target.string(), ::getpid(), counter++);
    const Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.fd >= 0) return name;
    if (errno != EEXIST) fail_write(path);
  }
}

fs::path follow_links(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  fs::path target = fs::weakly_canonical(path, error);
  if (error) fail("{}: cannot write: {}", path.string(), error.message());
  return target;
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail("{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("{}: is a directory, expected a file", path.string());
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(info.st_size));
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = ::read(file.fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("{}: cannot read: {}", path.string(), std::strerror(errno));
    if (n == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    write_all(path, bytes, path);
    return;
  }
  AtomicFile file(path);
  write_all(file.temporary(), bytes, path);
  file.commit();
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path), target_(follow_links(path)) {
  struct stat info {};
  if (::stat(target_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail("{}: cannot write: is a directory", path.string());
    if (!S_ISREG(info.st_mode)) fail("{}: cannot write: is not a regular file", path.string());
  }
  temporary_ = create_beside(target_, path);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  {
    const Descriptor file(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0 || ::fsync(file.fd) != 0) fail_write(path_);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_write(path_);
  temporary_.clear();
}

}  // namespace buoy
