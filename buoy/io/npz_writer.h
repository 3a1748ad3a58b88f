// Writes a .npz array by array and an array piece by piece, so that it may be larger than memory.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "buoy/io/file.h"
#include "buoy/io/npz.h"
#include "buoy/io/npz_zip.h"

namespace buoy {

// Stored without compression under a temporary name until commit(); without it nothing is left behind and an
// older file stays as it was. The same calls give the same bytes. One thread. Everything throws Error naming
// the file.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path);

  // A whole array. Names are UTF-8, each once. Throws Error also as format_npy does.
  void add(const std::string& name, const NpyArray& array);

  // An array in pieces: begin, append its bytes in C order, end. No bfloat16, which numpy does not know.
  void begin(const std::string& name, DType dtype, const Shape& shape);
  // The same for an array of Python objects: what is appended is its pickle (io/pickle.h).
  void begin_objects(const std::string& name, const Shape& shape);
  void append(std::span<const std::byte> bytes);
  void end();

  void commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  static constexpr Index kAnyLength = -1;

  void open_member(const std::string& name, const std::string& npy_header, Index data_bytes);
  void write(std::span<const std::byte> bytes);
  void write(const std::string& bytes);
  [[noreturn]] void fail_write() const;

  std::string place_;
  AtomicFile target_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<ZipMember> members_;
  Index offset_ = 0;  // where the archive ends so far
  Crc32 crc_;         // of the open member
  bool is_open_ = false;
  Index expected_ = kAnyLength;  // bytes of data that the open member still needs
};

}  // namespace buoy
