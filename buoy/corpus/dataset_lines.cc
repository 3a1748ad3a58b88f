#include "buoy/corpus/dataset_lines.h"

#include <algorithm>
#include <string_view>

#include <zlib.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 17;
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 30;  // a file without line ends must not fill memory

// Text shrinks to a fifth or a twentieth; a file made to fill memory, to a thousandth.
constexpr std::uintmax_t kMostGrowth = 100, kAlwaysAllowed = std::uintmax_t{1} << 26;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";

}  // namespace

void LineReader::Close::operator()(gzFile_s* file) const {
  gzclose_r(file);
}

LineReader::LineReader(const std::filesystem::path& path) : path_(path.string()) {
  // zlib hands out the bytes of a file that is not compressed as they are. It opens directories too.
  if (std::filesystem::is_directory(path)) fail("{}: is a directory, expected a file", path_);
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) fail("{}: cannot be read", path_);
  gzbuffer(file_.get(), static_cast<unsigned>(kBufferBytes));
  std::error_code unknown;
  if (std::filesystem::is_regular_file(path, unknown)) stored_ = std::filesystem::file_size(path, unknown);
  if (refill() && buffer_.starts_with(kLfsPointer)) {
    fail("{}: is a Git LFS pointer, not the file itself; \"git lfs pull\" fetches that", path_);
  }
}

double LineReader::share() const {
  return stored_ > 0 ? static_cast<double>(gzoffset(file_.get())) / static_cast<double>(stored_) : 0;
}

bool LineReader::refill() {
  buffer_.resize(kBufferBytes);
  at_ = 0;
  const int got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(kBufferBytes));
  buffer_.resize(static_cast<std::size_t>(std::max(got, 0)));
  if (got > 0) {
    read_ += static_cast<std::uintmax_t>(got);
    if (stored_ > 0 && read_ > kAlwaysAllowed && read_ / kMostGrowth > stored_) {
      fail("{}: its {} bytes unpack to more than {} times as many; unpack it yourself if that is meant",
           path_, stored_, kMostGrowth);
    }
    return true;
  }
  // Data that ends too early is reported only after what there was of it.
  int code = Z_OK;
  std::string_view message = gzerror(file_.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) {
    if (message.starts_with(path_ + ": ")) message.remove_prefix(path_.size() + 2);
    fail("{}: reading failed after line {}: {}", path_, number_, message);
  }
  return false;
}

bool LineReader::read_line(std::string& line) {
  line.clear();
  if (at_ == buffer_.size() && !refill()) return false;
  ++number_;
  do {
    const std::size_t end = buffer_.find('\n', at_);
    line.append(buffer_, at_, end == buffer_.npos ? end : end - at_);
    at_ = end == buffer_.npos ? buffer_.size() : end + 1;
    if (end != buffer_.npos) break;
    if (line.size() > kMaxLineBytes) {
      fail("{}: line {} is longer than {} bytes", path_, number_, kMaxLineBytes);
    }
  } while (refill());
  return true;
}

std::optional<std::string> LineReader::next() {
  for (std::string line; read_line(line);) {
    if (number_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.find_first_not_of(kBlank) != line.npos) return line;
  }
  return std::nullopt;
}

std::string LineReader::rest() {
  std::string all = buffer_.substr(at_);
  at_ = buffer_.size();
  while (refill()) all += buffer_;
  return all;
}

}  // namespace buoy
