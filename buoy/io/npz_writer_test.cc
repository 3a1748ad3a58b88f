// Archives written in pieces: the same bytes as at once, nothing half-written, large offsets.
#include "buoy/io/npz_writer.h"

#include <cstring>
#include <fstream>

#include "buoy/io/test_support.h"

namespace buoy {
namespace {

std::span<const std::byte> bytes_of_floats(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

TEST(NpzWriter, PiecesGiveTheSameBytesAsTheWholeArray) {
  const TempDir dir;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  write_npz(dir / "whole.npz",
            {{"a", NpyArray::of(values, {2, 3})}, {"b", NpyArray::of_text({"naïve"}, {})}});
  NpzWriter writer(dir / "pieces.npz");
  writer.begin("a", DType::kF32, {2, 3});
  writer.append(bytes_of_floats(values).first(4));
  writer.append({});
  writer.append(bytes_of_floats(values).subspan(4));
  writer.end();
  writer.add("b", NpyArray::of_text({"naïve"}, {}));
  writer.commit();
  EXPECT_EQ(read_file(dir / "pieces.npz"), read_file(dir / "whole.npz"));
}

TEST(NpzWriter, WithoutCommitNothingIsLeftAndTheOldFileStays) {
  const TempDir dir;
  write_file_atomically(dir / "a.npz", "old");
  {
    NpzWriter writer(dir / "a.npz");
    writer.add("x", NpyArray::of(std::vector<float>{1}, {1}));
    EXPECT_EQ(dir.file_count(), 2);
  }
  EXPECT_EQ(read_file(dir / "a.npz"), "old");
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(NpzWriter, ArraysThatDoNotFillTheirShapeAreBugs) {
  const TempDir dir;
  NpzWriter writer(dir / "a.npz");
  EXPECT_THROW(writer.append({}), InternalError);
  writer.begin("x", DType::kF32, {2});
  const std::vector<float> values = {1, 2, 3};
  EXPECT_THROW(writer.append(bytes_of_floats(values)), InternalError);
  EXPECT_THROW(writer.end(), InternalError);
  EXPECT_THROW(writer.commit(), InternalError);
  writer.append(bytes_of_floats(values).first(8));
  writer.end();
  EXPECT_THROW(writer.begin("x", DType::kF32, {2}), InternalError);
  EXPECT_THROW(writer.begin("y", DType::kBf16, {2}), InternalError);
  writer.commit();
  EXPECT_EQ(read_npz(dir / "a.npz").at("x").as_floats(), (std::vector<float>{1, 2}));
}

TEST(NpzWriter, AFullDiskIsNoticedAndNothingIsLeft) {
  const TempDir dir;
  {
    const FileSizeLimit limit(100000);
    const std::string message = error_of([&] {
      NpzWriter writer(dir / "a.npz");
      writer.begin("x", DType::kF32, {50000});
      const std::vector<float> piece(1000);
      for (int i = 0; i < 50; ++i) writer.append(bytes_of_floats(piece));
      writer.end();
      writer.commit();
    });
    EXPECT_TRUE(message.starts_with((dir / "a.npz").string() + ": cannot write: ")) << message;
  }
  EXPECT_EQ(dir.file_count(), 0);
}

TEST(Crc32, IsThePublishedCheckValueHoweverTheBytesAreCut) {
  const std::string text = "123456789";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Crc32 crc;
    crc.add(bytes_of(text).first(cut));
    crc.add(bytes_of(text).subspan(cut));
    EXPECT_EQ(crc.value(), 0xCBF43926U) << cut;
  }
}

// The file is a hole of 5 GiB with a member behind it: libzip finds it only through the 64-bit fields.
TEST(Zip, MembersBeyondFourGibibytesAreFound) {
  const TempDir dir;
  const std::string npy = format_npy(NpyArray::of(std::vector<float>{7}, {1}));
  ZipMember member{.name = "far.npy", .offset = Index{5} << 30, .size = std::ssize(npy)};
  Crc32 crc;
  crc.add(bytes_of(npy));
  member.crc = crc.value();
  {
    std::ofstream file(dir / "a.npz", std::ios::binary);
    file << "PK\x03\x04";
    file.seekp(member.offset);
    const std::string header = zip_local_header(member);
    const Index directory = member.offset + std::ssize(header) + member.size;
    file << header << npy << zip_directory({&member, 1}, directory);
    ASSERT_TRUE(file.good());
  }
  EXPECT_EQ(read_npz(dir / "a.npz").at("far").as_floats(), std::vector<float>{7});
}

TEST(Zip, MoreMembersThanSixteenBitsCountAreListed) {
  const std::string npy = format_npy(NpyArray::of(std::vector<float>{7}, {1}));
  ZipMember member{.name = "x.npy", .size = std::ssize(npy)};
  const std::string one = zip_local_header(member) + npy;
  const std::vector<ZipMember> members(70000, member);
  const std::string archive = one + zip_directory(members, std::ssize(one));
  const std::size_t end64 = archive.rfind("PK\x06\x06");
  ASSERT_NE(end64, archive.npos);
  Index count = 0;
  std::memcpy(&count, archive.data() + end64 + 32, sizeof count);
  EXPECT_EQ(count, 70000);
}

}  // namespace
}  // namespace buoy
