// Whole files, atomic replacement, and memory maps.
#include "buoy/io/file.h"

#include <thread>
#include <vector>

#include <sys/stat.h>

#include "buoy/io/count_syncs.h"
#include "buoy/io/mapped_file.h"
#include "buoy/io/plain_file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

TEST(File, WritesAndReadsBack) {
  const TempDir dir;
  const std::string bytes("a\0b\n\xff", 5);
  write_file_atomically(dir / "f", bytes);
  EXPECT_EQ(read_file(dir / "f"), bytes);
  write_file_atomically(dir / "f", "");
  EXPECT_EQ(read_file(dir / "f"), "");
  const std::string large(1 << 20, 'x');
  write_file_atomically(dir / "f", large);
  EXPECT_EQ(read_file(dir / "f"), large);
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(File, MissingFileAndDirectoryAreNamed) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { read_file(dir / "no"); }),
            (dir / "no").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(dir.path()); }),
            dir.path().string() + ": is a directory, expected a file");
}

// An archive may hold a pipe or a link to a device where a checkpoint has its config.
TEST(PlainFile, IsNeitherPipeNorDeviceNorEndless) {
  const TempDir directory;
  write_file_atomically(directory / "plain", "bytes");
  EXPECT_EQ(read_plain_file(directory / "plain"), "bytes");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_plain_file(directory / "pipe"), Error);
  fs::create_symlink("/dev/zero", directory / "device");
  EXPECT_THROW(read_plain_file(directory / "device"), Error);
  write_file_atomically(directory / "long", "");
  fs::resize_file(directory / "long", kMostPlainBytes + 1);  // a hole
  EXPECT_THROW(read_plain_file(directory / "long"), Error);
  EXPECT_THROW(read_plain_file(directory.path()), Error);
  EXPECT_THROW(read_plain_file(directory / "nothing"), Error);
}

TEST(File, UnwritablePlacesLeaveNothingBehind) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { write_file_atomically(dir / "no/f", "x"); }),
            (dir / "no/f").string() + ": cannot write: No such file or directory");
  EXPECT_EQ(error_of([&] { write_file_atomically(dir.path(), "x"); }),
            dir.path().string() + ": cannot write: is a directory");
  write_file_atomically(dir / "file", "old");
  error_of([&] { write_file_atomically(dir / "file/below", "x"); });
  EXPECT_EQ(read_file(dir / "file"), "old");
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(File, AWriteThatFailsMidwayLeavesTheOldFile) {
  const TempDir dir;
  write_file_atomically(dir / "f", "old");
  {
    const FileSizeLimit limit(100000);
    EXPECT_EQ(error_of([&] { write_file_atomically(dir / "f", std::string(200000, 'x')); }),
              (dir / "f").string() + ": cannot write: File too large");
  }
  EXPECT_EQ(read_file(dir / "f"), "old");
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(File, AFullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(error_of([] { write_file_atomically("/dev/full", "x"); }),
            "/dev/full: cannot write: No space left on device");
}

TEST(File, DevicesAreWrittenIntoAndNotReplaced) {
  write_file_atomically("/dev/null", "x");
  struct stat info {};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(File, SymbolicLinksStayLinks) {
  const TempDir dir;
  write_file_atomically(dir / "target", "old");
  fs::create_symlink(dir / "target", dir / "link");
  write_file_atomically(dir / "link", "new");
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "target"), "new");
}

TEST(File, ThreadsWritingOnePathLeaveOneWholeFile) {
  const TempDir dir;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&dir, t] {
      for (int i = 0; i < 20; ++i) {
        write_file_atomically(dir / "f", std::string(5000, static_cast<char>('a' + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string bytes = read_file(dir / "f");
  EXPECT_EQ(bytes, std::string(5000, bytes.at(0)));
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  const TempDir dir;
  write_file_atomically(dir / "f", "old");
  {
    const AtomicFile file(dir / "f");
    EXPECT_TRUE(fs::exists(file.temporary()));
  }
  EXPECT_EQ(read_file(dir / "f"), "old");
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(AtomicFile, IsOnDiskBeforeItTakesItsName) {
  const TempDir dir;
  SyncedFiles::take();
  AtomicFile file(dir / "f");
  EXPECT_TRUE(SyncedFiles::take().empty());
  file.commit();
  const std::vector<std::string> synced = SyncedFiles::take();
  ASSERT_EQ(synced.size(), 1U);
  EXPECT_TRUE(synced[0].starts_with((dir / "f").string() + ".tmp")) << synced[0];
  write_file_atomically(dir / "g", "x");
  EXPECT_EQ(SyncedFiles::take().size(), 1U);
}

TEST(MappedFile, ShowsTheBytes) {
  const TempDir dir;
  write_file_atomically(dir / "f", "hello");
  const MappedFile file(dir / "f");
  ASSERT_EQ(file.bytes().size(), 5U);
  EXPECT_EQ(std::to_integer<char>(file.bytes()[4]), 'o');
  EXPECT_EQ(file.path(), dir / "f");
}

TEST(MappedFile, AnEmptyFileIsEmpty) {
  const TempDir dir;
  write_file_atomically(dir / "f", "");
  EXPECT_TRUE(MappedFile(dir / "f").bytes().empty());
}

TEST(MappedFile, MovesKeepTheBytes) {
  const TempDir dir;
  write_file_atomically(dir / "a", "aaa");
  write_file_atomically(dir / "b", "b");
  MappedFile a(dir / "a");
  const std::byte* address = a.bytes().data();
  MappedFile moved(std::move(a));
  EXPECT_EQ(moved.bytes().data(), address);
  MappedFile b(dir / "b");
  b = std::move(moved);
  EXPECT_EQ(b.bytes().data(), address);
  EXPECT_EQ(b.bytes().size(), 3U);
}

TEST(MappedFile, WhatIsNoFileIsAnError) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { MappedFile(dir / "no"); }),
            (dir / "no").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { MappedFile(dir.path()); }),
            dir.path().string() + ": is a directory, expected a file");
  EXPECT_EQ(error_of([] { MappedFile("/dev/null"); }), "/dev/null: is not a regular file");
}

}  // namespace
}  // namespace buoy
