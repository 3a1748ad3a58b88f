// What is written, read by another program's library.
#include "buoy/draw/png.h"

#include <gtest/gtest.h>

#include "buoy/draw/test_support.h"

namespace buoy {
namespace {

// Pixels that repeat from row to row in places, behind them what must not be seen.
std::vector<std::uint32_t> pixels_of(Index rows, Index columns, Index stride) {
  std::vector<std::uint32_t> pixels;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < stride; ++c) {
      const auto value = static_cast<std::uint32_t>((r / 3 + 1) * 0x010203 + c * 0x0B0701);
      pixels.push_back(c < columns ? value & 0xFFFFFFU : 0xABCDEFU);
    }
  }
  return pixels;
}

TEST(Png, IsReadByLibpngPixelByPixel) {
  struct Shape {
    Index rows, columns, stride;
  };
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{7, 5, 8}, Shape{2, 301, 301}, Shape{90, 13, 16}}) {
    const std::vector<std::uint32_t> pixels = pixels_of(shape.rows, shape.columns, shape.stride);
    const Picture read = decode(encode_png(pixels, shape.rows, shape.columns, shape.stride));
    ASSERT_EQ(read.height, shape.rows);
    ASSERT_EQ(read.width, shape.columns);
    for (Index r = 0; r < shape.rows; ++r) {
      for (Index c = 0; c < shape.columns; ++c) {
        const auto at = [&](Index stride) { return static_cast<std::size_t>(r * stride + c); };
        ASSERT_EQ(read.pixels[at(shape.columns)], pixels[at(shape.stride)]) << r << ", " << c;
      }
    }
  }
}

TEST(Png, TheTopByteOfAPixelIsNotSeen) {
  const std::vector<std::uint32_t> plain = {0x102030, 0x405060}, marked = {0xFF102030, 0x99405060};
  EXPECT_EQ(encode_png(plain, 1, 2, 2), encode_png(marked, 1, 2, 2));
}

TEST(Png, RowsThatRepeatTakeHardlyAnything) {
  const Index columns = 2000;
  std::vector<std::uint32_t> row = pixels_of(1, columns, columns), many;
  for (int r = 0; r < 100; ++r) many.insert(many.end(), row.begin(), row.end());
  EXPECT_LT(encode_png(many, 100, columns, columns).size(),
            encode_png(row, 1, columns, columns).size() + 4000);
}

}  // namespace
}  // namespace buoy
