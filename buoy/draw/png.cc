#include "buoy/draw/png.h"

#include <algorithm>
#include <string_view>

#include <zlib.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr int kLevel = 4;  // figures get hardly smaller beyond it
constexpr char kNoFilter = 0, kUp = 2;

void put_number(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_number(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = out.size();
  out.append(type).append(data);
  const auto* bytes = reinterpret_cast<const Bytef*>(out.data() + begin);
  put_number(out, static_cast<std::uint32_t>(::crc32_z(0, bytes, out.size() - begin)));
}

// Every row is its filter and then its pixels, or, where it is the row above once more, zeros.
std::string filtered(std::span<const std::uint32_t> pixels, Index rows, Index columns, Index stride) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(rows * (1 + 3 * columns)));
  std::span<const std::uint32_t> above;
  for (Index r = 0; r < rows; ++r) {
    const auto row = pixels.subspan(static_cast<std::size_t>(r * stride), static_cast<std::size_t>(columns));
    if (r > 0 && std::ranges::equal(row, above)) {
      bytes += kUp;
      bytes.append(static_cast<std::size_t>(3 * columns), '\0');
    } else {
      bytes += kNoFilter;
      for (const std::uint32_t pixel : row) {
        for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(pixel >> shift & 0xFF);
      }
    }
    above = row;
  }
  return bytes;
}

std::string deflated(std::string_view bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int status =
      ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                  static_cast<uLong>(bytes.size()), kLevel);
  check(status == Z_OK, "png: zlib did not compress");
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(std::span<const std::uint32_t> pixels, Index rows, Index columns, Index stride) {
  check(rows > 0 && columns > 0 && columns <= stride && std::ssize(pixels) >= (rows - 1) * stride + columns,
        "png: pixels are missing");
  std::string header;
  put_number(header, static_cast<std::uint32_t>(columns));
  put_number(header, static_cast<std::uint32_t>(rows));
  header += {8, 2, 0, 0, 0};  // bits a channel, RGB, deflate, filters by row, not interlaced
  std::string out = "\x89PNG\r\n\x1A\n";
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", deflated(filtered(pixels, rows, columns, stride)));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace buoy
