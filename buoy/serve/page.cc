#include "buoy/serve/page.h"

#include <algorithm>

#include <zlib.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's window of 32 KiB, with gzip's header

}  // namespace

std::string gunzip(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) fail("zlib cannot begin");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string made;
  std::string piece(1 << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    made.append(piece, 0, piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) fail("{} bytes are not gzip's", bytes.size());
  return made;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    fail("zlib cannot begin");
  std::string made(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  const int status = deflate(&stream, Z_FINISH);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  check(status == Z_STREAM_END, "the bound was enough");
  return made;
}

std::string page_text(std::string_view name) {
  const auto found = std::ranges::find(page_files(), name, &PageFile::name);
  check(found != page_files().end(), "the page has this file");
  return gunzip(found->gzip);
}

}  // namespace buoy
