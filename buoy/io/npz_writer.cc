#include "buoy/io/npz_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/npy_format.h"

namespace buoy {
namespace {

constexpr std::size_t kMaxName = 65535;  // zip has 16 bits for its length

}  // namespace

NpzWriter::NpzWriter(const std::filesystem::path& path)
    : place_(path.string()), target_(path), file_(std::fopen(target_.temporary().c_str(), "wb")) {
  if (!file_) fail_write();
}

void NpzWriter::add(const std::string& name, const NpyArray& array) {
  const EncodedNpy encoded(array, fmt::format("{}: {}", place_, quote(name)));
  open_member(name, encoded.header(), std::ssize(encoded.data()));
  append(encoded.data());
  end();
}

void NpzWriter::begin(const std::string& name, DType dtype, const Shape& shape) {
  check(dtype != DType::kBf16, "numpy has no bfloat16");
  open_member(name, npy_header_text(npy_descr(dtype), shape), element_count(shape) * size_of(dtype));
}

void NpzWriter::begin_objects(const std::string& name, const Shape& shape) {
  open_member(name, npy_header_text("|O", shape), kAnyLength);
}

void NpzWriter::append(std::span<const std::byte> bytes) {
  check(is_open_, "an array was begun");
  if (expected_ != kAnyLength) {
    check(std::ssize(bytes) <= expected_, "no more bytes than the shape says");
    expected_ -= std::ssize(bytes);
  }
  write(bytes);
}

void NpzWriter::end() {
  check(is_open_ && expected_ <= 0, "as many bytes as the shape says");
  is_open_ = false;
  ZipMember& member = members_.back();
  member.size = offset_ - member.offset - std::ssize(zip_local_header(member));
  member.crc = crc_.value();
  // The header in front of the data was written before its size and checksum were known.
  const std::string header = zip_local_header(member);
  const bool rewritten = ::fseeko(file_.get(), member.offset, SEEK_SET) == 0 &&
                         std::fwrite(header.data(), 1, header.size(), file_.get()) == header.size() &&
                         ::fseeko(file_.get(), 0, SEEK_END) == 0;
  if (!rewritten) fail_write();
}

void NpzWriter::commit() {
  check(!is_open_, "the last array was ended");
  write(zip_directory(members_, offset_));
  if (std::fclose(file_.release()) != 0) fail_write();
  target_.commit();
}

void NpzWriter::open_member(const std::string& name, const std::string& npy_header, Index data_bytes) {
  check(!is_open_, "the array before was ended");
  if (name.find('\0') != name.npos) fail("{}: array name {} holds NUL", place_, quote(name));
  const std::string place = fmt::format("{}: cannot write array {}", place_, quote(name));
  npy_text_length({name}, place);  // throws unless it is UTF-8
  ZipMember member{.name = name + ".npy", .offset = offset_};
  if (member.name.size() > kMaxName) {
    fail("{}: its name has {} bytes, expected at most {}", place, name.size(), kMaxName - 4);
  }
  check(std::ranges::find(members_, member.name, &ZipMember::name) == members_.end(), "each name once");
  write(zip_local_header(member));
  members_.push_back(std::move(member));
  crc_ = {};
  is_open_ = true;
  expected_ = data_bytes;
  write(npy_header);
}

void NpzWriter::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_write();
  offset_ += std::ssize(bytes);
  if (is_open_) crc_.add(bytes);
}

void NpzWriter::write(const std::string& bytes) {
  write(std::as_bytes(std::span(bytes)));
}

void NpzWriter::fail_write() const {
  fail("{}: cannot write: {}", place_, std::strerror(errno));
}

}  // namespace buoy
