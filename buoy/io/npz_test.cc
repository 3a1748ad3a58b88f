// .npz archives: both ways against NumPy itself, the same bytes every time, and damage that is noticed.
#include "buoy/io/npz.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <numeric>

#include <sys/wait.h>

#include "buoy/base/testing.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

const std::string kScript = source_path("tests/io/roundtrip.py").string();

const char* python() {
  return fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

bool has_numpy() {
  return std::system(fmt::format("{} -c 'import numpy' 2>/dev/null", python()).c_str()) == 0;
}

int run_script(std::string_view command, const fs::path& file) {
  const int status =
      std::system(fmt::format("{} '{}' {} '{}'", python(), kScript, command, file.string()).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The values of roundtrip.py: numbers(), in the type T.
template <typename T>
NpyArray numbers(DType dtype, const Shape& shape) {
  NpyArray array{.dtype = dtype, .shape = shape};
  array.bytes.resize(static_cast<std::size_t>(element_count(shape)) * sizeof(T));
  for (Index k = 0; k < element_count(shape); ++k) {
    T value = static_cast<T>(k * 3 - 5);
    if (dtype == DType::kBool) value = static_cast<T>(k % 3 == 0);
    if (dtype == DType::kU8) value = static_cast<T>(k * 3 + 1);
    if (std::is_floating_point_v<T>) value = static_cast<T>(static_cast<double>(k * 3 - 5) / 2);
    std::memcpy(array.bytes.data() + static_cast<std::size_t>(k) * sizeof(T), &value, sizeof(T));
  }
  return array;
}

// The same values as half floats. Each is a multiple of 0.5 below 2048, so the mantissa holds it exactly.
NpyArray halves(const Shape& shape) {
  NpyArray array{.dtype = DType::kF16, .shape = shape};
  for (Index k = 0; k < element_count(shape); ++k) {
    int exponent = 0;
    const double value = static_cast<double>(k * 3 - 5) / 2;
    const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
    const int mantissa = static_cast<int>(fraction * 2048) & 0x3FF;
    const int bits = (value < 0 ? 0x8000 : 0) | (value == 0 ? 0 : (exponent + 14) << 10 | mantissa);
    array.bytes.push_back(static_cast<std::byte>(bits & 0xFF));
    array.bytes.push_back(static_cast<std::byte>(bits >> 8));
  }
  return array;
}

const std::vector<std::string> kText = {
    "", "a", "naïve", "日本語", "\U0001F600\U0001F3F3\uFE0F", std::string("x\0y", 3), " end "};

NpyArray raw(DType dtype, const Shape& shape, std::vector<std::uint16_t> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.dtype = dtype, .shape = shape, .bytes = {bytes.begin(), bytes.end()}};
}

// What roundtrip.py's table() holds.
NpzArrays table() {
  NpzArrays arrays;
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{7}, Shape{3, 4}, Shape{2, 3, 5}, Shape{0}, Shape{3, 0, 2}}) {
    std::string suffix;
    for (const Index extent : shape) suffix += fmt::format("{}{}", suffix.empty() ? "" : "x", extent);
    arrays[fmt::format("f2_{}", suffix)] = halves(shape);
    arrays[fmt::format("f4_{}", suffix)] = numbers<float>(DType::kF32, shape);
    arrays[fmt::format("f8_{}", suffix)] = numbers<double>(DType::kF64, shape);
    arrays[fmt::format("i1_{}", suffix)] = numbers<std::int8_t>(DType::kI8, shape);
    arrays[fmt::format("i2_{}", suffix)] = numbers<std::int16_t>(DType::kI16, shape);
    arrays[fmt::format("i4_{}", suffix)] = numbers<std::int32_t>(DType::kI32, shape);
    arrays[fmt::format("i8_{}", suffix)] = numbers<std::int64_t>(DType::kI64, shape);
    arrays[fmt::format("u1_{}", suffix)] = numbers<std::uint8_t>(DType::kU8, shape);
    arrays[fmt::format("b1_{}", suffix)] = numbers<std::uint8_t>(DType::kBool, shape);
  }
  arrays["fortran_f8"] = numbers<double>(DType::kF64, {2, 3, 5});
  arrays["fortran_text"] = NpyArray::of_text({kText.begin(), kText.begin() + 6}, {2, 3});
  arrays["text_7"] = NpyArray::of_text(kText, {7});
  arrays["text_"] = NpyArray::of_text({kText[4]}, {});
  arrays["text_0"] = NpyArray::of_text({}, {0});
  arrays["text_empty"] = NpyArray::of_text({"", "", ""}, {3});
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  arrays["f16_all"] = raw(DType::kF16, {65536}, all);
  const std::vector<Index> ends{std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max()};
  arrays["i8_ends"] = NpyArray::of(ends, {2});
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{infinity, -infinity, std::nanf(""), -0.0F, 1e-45F};
  arrays["f4_special"] = NpyArray::of(special, {5});
  arrays["bf16_as_f4"] = raw(DType::kBf16, {4}, {0x3F80, 0xC000, 0x3F00, 0x4049});
  arrays["größe/層.0"] = numbers<float>(DType::kF32, {7});
  return arrays;
}

void expect_table(NpzArrays got) {
  // Only reading meets these: see make() in the script.
  const std::vector<float> widened = got.at("f16_all_widened").as_floats();
  const std::vector<float> ours = got.at("f16_all").as_floats();
  ASSERT_EQ(ours.size(), 65536U);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool equal = std::isnan(widened[i]) ? std::isnan(ours[i])
                                              : std::bit_cast<std::uint32_t>(ours[i]) ==
                                                    std::bit_cast<std::uint32_t>(widened[i]);
    ASSERT_TRUE(equal) << i << ": " << ours[i] << " and " << widened[i];
  }
  got.erase("f16_all_widened");
  for (const char* version : {"version_2", "version_3"}) {
    EXPECT_EQ(got.at(version).bytes, numbers<float>(DType::kF32, {3, 4}).bytes);
    got.erase(version);
  }
  const NpzArrays expected = table();
  EXPECT_EQ(got.size(), expected.size());
  for (const auto& [name, want] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    const NpyArray& have = got.at(name);
    EXPECT_EQ(have.shape, want.shape) << name;
    EXPECT_EQ(have.is_text, want.is_text) << name;
    EXPECT_EQ(have.text, want.text) << name;
    if (want.dtype == DType::kBf16) {
      EXPECT_EQ(have.as_floats(), want.as_floats()) << name;
    } else if (!want.is_text) {
      EXPECT_EQ(have.dtype, want.dtype) << name;
      EXPECT_EQ(have.bytes, want.bytes) << name;
    }
  }
}

TEST(Npz, ReadsWhatNumpyWrites) {
  if (!has_numpy()) GTEST_SKIP() << "NumPy is not installed";
  const TempDir dir;
  for (const char* command : {"make", "make-deflated"}) {
    ASSERT_EQ(run_script(command, dir / "a.npz"), 0) << command;
    expect_table(read_npz(dir / "a.npz"));
  }
}

TEST(Npz, NumpyReadsWhatWeWrite) {
  if (!has_numpy()) GTEST_SKIP() << "NumPy is not installed";
  const TempDir dir;
  NpzArrays arrays = table();
  write_npz(dir / "a.npz", arrays);
  EXPECT_EQ(run_script("verify", dir / "a.npz"), 0);
  arrays["f4_7"].bytes[0] ^= std::byte{1};
  write_npz(dir / "a.npz", arrays);
  EXPECT_EQ(run_script("verify", dir / "a.npz"), 1) << "the witness must notice one wrong bit";
}

TEST(Npz, TheSameArraysGiveTheSameBytesInEveryTimeZone) {
  const TempDir dir;
  write_npz(dir / "a.npz", table());
  const char* old_zone = std::getenv("TZ");
  const std::string saved = old_zone == nullptr ? "" : old_zone;
  for (const char* zone : {"UTC", "Asia/Tokyo", "America/Los_Angeles", "XYZ-13:45"}) {
    ::setenv("TZ", zone, 1);
    ::tzset();
    write_npz(dir / "b.npz", table());
    EXPECT_EQ(read_file(dir / "a.npz"), read_file(dir / "b.npz")) << zone;
  }
  old_zone == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", saved.c_str(), 1);
  ::tzset();
}

TEST(Npz, AnArchiveWithoutArraysIsReadBack) {
  const TempDir dir;
  write_npz(dir / "a.npz", {});
  EXPECT_TRUE(read_npz(dir / "a.npz").empty());
}

TEST(Npz, WritingIsAtomic) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {7})}});
  const std::string before = read_file(dir / "a.npz");
  NpzArrays bad{{"x", NpyArray::of_text({"\xff"}, {})}};
  EXPECT_EQ(error_of([&] { write_npz(dir / "a.npz", bad); }),
            (dir / "a.npz").string() + ": \"x\": \"\xEF\xBF\xBD\" is not valid UTF-8");
  EXPECT_EQ(read_file(dir / "a.npz"), before);
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(Npz, AWriteThatFailsMidwayLeavesTheOldFile) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {7})}});
  const std::string before = read_file(dir / "a.npz");
  {
    const FileSizeLimit limit(100000);
    const std::string message = error_of([&] {
      write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {50000})}});
    });
    EXPECT_TRUE(message.starts_with((dir / "a.npz").string() + ": cannot write: ")) << message;
  }
  EXPECT_EQ(read_file(dir / "a.npz"), before);
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(Npz, UnwritablePlacesAndNamesAreErrors) {
  const TempDir dir;
  const NpzArrays arrays{{"x", numbers<float>(DType::kF32, {7})}};
  EXPECT_EQ(error_of([&] { write_npz(dir / "no/a.npz", arrays); }),
            (dir / "no/a.npz").string() + ": cannot write: No such file or directory");
  EXPECT_EQ(error_of([&] { write_npz(dir.path(), arrays); }),
            dir.path().string() + ": cannot write: is a directory");
  EXPECT_EQ(error_of([&] { write_npz("/dev/null", arrays); }),
            "/dev/null: cannot write: is not a regular file");
  const NpzArrays nul{{std::string("a\0b", 3), arrays.at("x")}};
  EXPECT_NE(error_of([&] { write_npz(dir / "a.npz", nul); }).find("holds NUL"), std::string::npos);
  const NpzArrays invalid{{"\xff", arrays.at("x")}};
  EXPECT_NE(error_of([&] { write_npz(dir / "a.npz", invalid); }).find("cannot write array"),
            std::string::npos);
  EXPECT_EQ(dir.file_count(), 0);
}

TEST(Npz, WhatIsNoArchiveSaysWhatItIs) {
  const TempDir dir;
  const auto message = [&](std::string_view bytes) {
    write_file_atomically(dir / "a.npz", bytes);
    return error_of([&] { read_npz(dir / "a.npz"); }).substr((dir / "a.npz").string().size());
  };
  EXPECT_EQ(message(""), ": is empty, expected a .npz archive");
  EXPECT_EQ(message("hello"), ": not a zip archive, expected a .npz");
  EXPECT_EQ(message(format_npy(numbers<float>(DType::kF32, {7}))),
            ": not a zip archive but a single .npy array, expected a .npz");
  EXPECT_EQ(error_of([&] { read_npz(dir / "none.npz"); }),
            (dir / "none.npz").string() + ": cannot open: No such file or directory");
}

TEST(Npz, TruncationAndFlippedBitsAreNoticed) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {7})}, {"y", NpyArray::of_text(kText, {7})}});
  const std::string whole = read_file(dir / "a.npz");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    error_of([&] { parse_npz(bytes_of(std::string_view(whole).substr(0, n)), "a.npz"); });
  }
  std::string flipped = whole;
  const std::size_t data = whole.find("(7,), }");
  ASSERT_NE(data, std::string::npos);
  flipped[data + 80] ^= 4;
  EXPECT_TRUE(
      error_of([&] { parse_npz(bytes_of(flipped), "a.npz"); }).starts_with("a.npz: \"x\": damaged: "));
}

// Puts `now`, which is as long, wherever `was` stands.
void overwrite(std::string& bytes, std::string_view was, std::string_view now) {
  for (std::size_t at = bytes.find(was); at != std::string::npos; at = bytes.find(was, at + 1)) {
    std::memcpy(bytes.data() + at, now.data(), now.size());
  }
}

TEST(Npz, MembersThatAreNoArraysAreNotSkipped) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {7})}});
  std::string bytes = read_file(dir / "a.npz");
  overwrite(bytes, "x.npy", "x.txt");
  EXPECT_EQ(error_of([&] { parse_npz(bytes_of(bytes), "a.npz"); }),
            "a.npz: member \"x.txt\" is not a .npy array");
}

TEST(Npz, RepeatedMembersAreRefused) {
  const TempDir dir;
  write_npz(dir / "a.npz",
            {{"x", numbers<float>(DType::kF32, {7})}, {"y", numbers<float>(DType::kF32, {7})}});
  std::string bytes = read_file(dir / "a.npz");
  overwrite(bytes, "y.npy", "x.npy");
  EXPECT_EQ(error_of([&] { parse_npz(bytes_of(bytes), "a.npz"); }), "a.npz: \"x\" occurs twice");
}

TEST(Npz, ClaimsBeyondTheFileAreRefused) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"x", numbers<float>(DType::kF32, {7})}});
  std::string bytes = read_file(dir / "a.npz");
  const std::size_t central = bytes.find("PK\x01\x02");
  ASSERT_NE(central, std::string::npos);
  std::memcpy(bytes.data() + central + 24, "\xff\xff\xff\x7f", 4);  // uncompressed size
  const std::string message = error_of([&] { parse_npz(bytes_of(bytes), "a.npz"); });
  EXPECT_NE(message.find("claims 2147483647 bytes"), std::string::npos) << message;
}

}  // namespace
}  // namespace buoy
