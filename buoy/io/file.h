// Whole files in and out, with errors that name the path. Writes are atomic: temporary name, then rename.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace buoy {

// The bytes of a file or a pipe. Throws Error when it is missing, a directory, or unreadable.
std::string read_file(const std::filesystem::path& path);

// Writes `bytes` so that a reader sees either the old file or the whole new one. A device or a pipe
// (/dev/stdout) is written straight into instead: renaming over it would replace it. Throws Error.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// An empty file under a temporary name beside `path`, for writers that need a name to write to. commit()
// flushes it to disk and renames it over `path` (over its target, if that is a symbolic link); what was not
// committed is removed on destruction. Throws Error naming `path` when the place cannot be written or holds
// something else than a file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;
};

}  // namespace buoy
