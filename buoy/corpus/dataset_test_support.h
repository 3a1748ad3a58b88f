// Dataset files for tests: written, compressed, removed.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>
#include <zlib.h>

namespace buoy {

// A file with these bytes, under a name of this process with this end; removed with the object.
class TestFile {
 public:
  TestFile(const std::string& ending, const std::string& contents)
      : path_(std::filesystem::temp_directory_path() / ("buoy_" + std::to_string(::getpid()) + ending)) {
    std::ofstream(path_, std::ios::binary) << contents;
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  ~TestFile() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }

  void compress(const std::string& contents) const {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, contents.data(), static_cast<unsigned>(contents.size()));
    gzclose_w(file);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace buoy
