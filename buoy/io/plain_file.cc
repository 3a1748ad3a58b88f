#include "buoy/io/plain_file.h"

#include "buoy/base/error.h"
#include "buoy/io/file.h"

namespace buoy {

std::string read_plain_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    fail("{}: is not a regular file", path.string());
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMostPlainBytes)
    fail("{}: has {} bytes, expected at most {}", path.string(), size, kMostPlainBytes);
  return read_file(path);
}

}  // namespace buoy
