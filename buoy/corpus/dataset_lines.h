// Lines of a text file, plain or compressed with gzip, one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "buoy/base/types.h"

struct gzFile_s;  // zlib's

namespace buoy {

// Holds one line and a small buffer. A byte order mark at the begin is left out.
class LineReader {
 public:
  // Throws Error when the file cannot be opened, and when it is a pointer of Git LFS in place of a file.
  explicit LineReader(const std::filesystem::path& path);

  // The next line that is not blank, without its end; nothing at the end of the file. Throws Error when
  // reading fails, when compressed data is broken or cut short, and for a line longer than 1 GiB.
  std::optional<std::string> next();

  // Everything after the line given last. Throws as next().
  std::string rest();

  Index number() const { return number_; }                    // of the line given last, from 1
  Index size() const { return static_cast<Index>(stored_); }  // of the file, in bytes as it lies there
  double share() const;                                       // of the file that was read, about

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  bool refill();  // false at the end of the file
  bool read_line(std::string& line);

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::string buffer_;
  std::size_t at_ = 0;                    // of the first byte of the buffer not yet given
  std::uintmax_t stored_ = 0, read_ = 0;  // bytes of the file (0: not known) and bytes that came of them
  Index number_ = 0;
};

}  // namespace buoy
