// Checkpoints good and bad: what is read, and the one line each kind of damage gets.
#include "buoy/io/safetensors.h"

#include <cstring>

#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// A file as the format describes it: length, header, data.
std::string file_of(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + std::string(header) + std::string(data);
}

std::string message_for(std::string_view header, std::string_view data) {
  const std::string bytes = file_of(header, data);
  return error_of([&] { parse_safetensors(bytes_of(bytes), "m.safetensors"); });
}

// One U8 tensor of `size` bytes.
std::string tiny(std::string_view name, int size) {
  return file_of(
      fmt::format(R"({{"{}":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}}}})", name, size, size),
      std::string(static_cast<std::size_t>(size), 'x'));
}

TEST(Safetensors, ReadsTensorsInAnyOrderWithMetadataAndPadding) {
  const std::string bytes =
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[6,14]},)"
              R"("a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
              R"("none":{"dtype":"F16","shape":[0,5],"data_offsets":[6,6]},)"
              R"("one":{"dtype":"I64","shape":[],"data_offsets":[14,22]}}   )",
              "abcdefABCDEFGH12345678");
  const auto tensors = parse_safetensors(bytes_of(bytes), "x");
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors.at("b").dtype, DType::kF32);
  EXPECT_EQ(tensors.at("b").shape, (Shape{2, 1}));
  EXPECT_EQ(std::memcmp(tensors.at("b").bytes.data(), "ABCDEFGH", 8), 0);
  EXPECT_EQ(tensors.at("a").dtype, DType::kBf16);
  EXPECT_EQ(std::memcmp(tensors.at("a").bytes.data(), "abcdef", 6), 0);
  EXPECT_TRUE(tensors.at("none").bytes.empty());
  EXPECT_EQ(tensors.at("one").shape, Shape{});
  EXPECT_EQ(std::memcmp(tensors.at("one").bytes.data(), "12345678", 8), 0);
}

TEST(Safetensors, KnowsEveryDTypeOfOurs) {
  struct Case {
    const char* name;
    DType dtype;
  };
  for (const Case& c : {Case{"F64", DType::kF64}, Case{"F32", DType::kF32}, Case{"F16", DType::kF16},
                        Case{"BF16", DType::kBf16}, Case{"I64", DType::kI64}, Case{"I32", DType::kI32},
                        Case{"I16", DType::kI16}, Case{"I8", DType::kI8}, Case{"U8", DType::kU8},
                        Case{"BOOL", DType::kBool}}) {
    const auto size = static_cast<std::size_t>(size_of(c.dtype)) * 3;
    const std::string bytes =
        file_of(fmt::format(R"({{"t":{{"dtype":"{}","shape":[3],"data_offsets":[0,{}]}}}})", c.name, size),
                std::string(size, 'x'));
    EXPECT_EQ(parse_safetensors(bytes_of(bytes), "x").at("t").dtype, c.dtype) << c.name;
  }
}

TEST(Safetensors, AnUnknownDTypeIsNamedWithItsTensor) {
  EXPECT_TRUE(message_for(R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x")
                  .starts_with("m.safetensors: \"w\": dtype \"F8_E4M3\" is not supported"));
}

TEST(Safetensors, WhatIsNoSafetensorsFileSaysSo) {
  const auto message = [](std::string_view bytes) {
    return error_of([&] { parse_safetensors(bytes_of(bytes), "m"); });
  };
  EXPECT_EQ(message(""), "m: is empty, expected a safetensors file");
  EXPECT_EQ(message("abc"), "m: is 3 bytes long, too short for a safetensors file");
  EXPECT_EQ(message(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "m: truncated: header length is 16, but only 2 bytes follow");
  EXPECT_EQ(message(std::string("\0\0\0\0\0\0\0\x80{}", 10)),
            "m: header length is 9223372036854775808, expected at most 100000000 (not a safetensors file?)");
  EXPECT_EQ(message(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)),
            "m: header length is 18446744073709551615, expected at most 100000000 (not a safetensors file?)");
  EXPECT_NE(message("version https://git-lfs and so on").find("Git LFS pointer"), std::string::npos);
}

TEST(Safetensors, BadHeadersAreRefused) {
  EXPECT_EQ(message_for("", ""), "m.safetensors: header does not start with '{' (not a safetensors file?)");
  EXPECT_EQ(message_for("[1]", ""),
            "m.safetensors: header does not start with '{' (not a safetensors file?)");
  EXPECT_NE(message_for("{\"a\":", "").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(message_for(R"({"a":3})", ""), "m.safetensors: \"a\": is an integer, expected an object");
  EXPECT_EQ(message_for(R"({"__metadata__":3})", ""),
            "m.safetensors: \"__metadata__\" is an integer, expected an object");
  EXPECT_EQ(message_for(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", "x"),
            "m.safetensors: \"a\": \"dtype\" is missing");
  EXPECT_EQ(message_for(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", "x"),
            "m.safetensors: \"a\": \"shape\" is missing");
  EXPECT_EQ(message_for(R"({"a":{"dtype":"U8","shape":[1]}})", "x"),
            "m.safetensors: \"a\": \"data_offsets\" is missing");
  EXPECT_EQ(message_for(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1]}})", "x"),
            "m.safetensors: \"a\": unknown field \"strides\"");
  EXPECT_EQ(message_for(R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", "x"),
            "m.safetensors: \"a\": \"shape\" is an integer, expected an array");
  EXPECT_EQ(message_for(R"({"a\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "x"),
            "m.safetensors: \"a\\n\": \"data_offsets\" has 3 items, expected 2");
}

TEST(Safetensors, RepeatedNamesAreRefused) {
  EXPECT_EQ(message_for(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                        "x"),
            "m.safetensors: \"a\" occurs twice in one object");
}

TEST(Safetensors, BadShapesAndSizesAreRefused) {
  const auto message = [](std::string_view shape, std::string_view offsets, std::string_view data) {
    return message_for(
        fmt::format(R"({{"a":{{"dtype":"F32","shape":{},"data_offsets":{}}}}})", shape, offsets), data);
  };
  EXPECT_EQ(message("[-1]", "[0,4]", "xxxx"),
            "m.safetensors: \"a\": \"shape\" holds -1, expected sizes from 0 to 2^63-1");
  EXPECT_EQ(message("[1.5]", "[0,4]", "xxxx"),
            "m.safetensors: \"a\": \"shape\" holds 1.5, expected sizes from 0 to 2^63-1");
  EXPECT_EQ(message("[18446744073709551615]", "[0,4]", "xxxx"),
            "m.safetensors: \"a\": \"shape\" holds 18446744073709551615, expected sizes from 0 to 2^63-1");
  EXPECT_EQ(message("[\"2\"]", "[0,4]", "xxxx"),
            "m.safetensors: \"a\": \"shape\" holds a string, expected sizes from 0 to 2^63-1");
  EXPECT_EQ(message("[4294967296,4294967296]", "[0,4]", "xxxx"),
            "m.safetensors: \"a\": shape [4294967296,4294967296] is too large");
  EXPECT_EQ(message("[4611686018427387904]", "[0,0]", ""),
            "m.safetensors: \"a\": shape [4611686018427387904] is too large");
  EXPECT_EQ(message("[2,3]", "[0,20]", std::string(20, 'x')),
            "m.safetensors: \"a\": has 20 bytes, expected 24 for float32 [2,3]");
  EXPECT_EQ(message("[1]", "[4,0]", "xxxx"), "m.safetensors: \"a\": data begins at 4 after its end at 0");
}

TEST(Safetensors, EveryByteBelongsToOneTensor) {
  const auto two = [](int a0, int a1, int b0, int b1) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       a1 - a0, a0, a1, b1 - b0, b0, b1);
  };
  EXPECT_EQ(message_for(two(0, 4, 4, 8), "1234567"),
            "m.safetensors: truncated: \"b\" ends at byte 8 of the data, but there are only 7");
  EXPECT_EQ(message_for(two(0, 4, 3, 8), "12345678"), "m.safetensors: \"a\" and \"b\" overlap");
  EXPECT_EQ(message_for(two(0, 4, 0, 4), "1234"), "m.safetensors: \"a\" and \"b\" overlap");
  EXPECT_EQ(message_for(two(5, 8, 0, 4), "12345678"),
            "m.safetensors: 1 bytes before \"a\" belong to no tensor");
  EXPECT_EQ(message_for(two(1, 4, 4, 8), "12345678"),
            "m.safetensors: 1 bytes before \"a\" belong to no tensor");
  EXPECT_EQ(message_for(two(0, 4, 4, 8), "123456789"),
            "m.safetensors: 1 bytes after the last tensor belong to none");
}

TEST(Safetensors, EveryTruncationOfAFileIsAnError) {
  const std::string whole = tiny("weight", 16);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    error_of([&] { parse_safetensors(bytes_of(std::string_view(whole).substr(0, n)), "m"); });
  }
  EXPECT_EQ(parse_safetensors(bytes_of(whole), "m").size(), 1U);
}

TEST(Checkpoint, OpensASingleFile) {
  const TempDir dir;
  write_file_atomically(dir / "model.safetensors", tiny("w", 5));
  const Checkpoint checkpoint = Checkpoint::open(dir.path());
  ASSERT_NE(checkpoint.find("w"), nullptr);
  EXPECT_EQ(checkpoint.find("w")->shape, Shape{5});
  EXPECT_EQ(checkpoint.find("v"), nullptr);
  EXPECT_EQ(checkpoint.total_bytes(), 5);
  EXPECT_EQ(checkpoint.files(), std::vector<fs::path>{dir / "model.safetensors"});
}

TEST(Checkpoint, ViewsSurviveAMove) {
  const TempDir dir;
  write_file_atomically(dir / "model.safetensors", tiny("w", 5));
  Checkpoint first = Checkpoint::open(dir.path());
  const Checkpoint checkpoint = std::move(first);
  EXPECT_EQ(std::memcmp(checkpoint.find("w")->bytes.data(), "xxxxx", 5), 0);
}

void write_index(const TempDir& dir, std::string_view weight_map) {
  write_file_atomically(dir / "model.safetensors.index.json",
                        fmt::format(R"({{"metadata":{{"total_size":1}},"weight_map":{}}})", weight_map));
}

std::string open_error(const TempDir& dir) {
  return error_of([&] { Checkpoint::open(dir.path()); });
}

TEST(Checkpoint, OpensShards) {
  const TempDir dir;
  write_file_atomically(dir / "s1.safetensors", tiny("a", 3));
  write_file_atomically(dir / "s2.safetensors", tiny("b", 4));
  write_index(dir, R"({"b":"s2.safetensors","a":"s1.safetensors"})");
  const Checkpoint checkpoint = Checkpoint::open(dir.path());
  EXPECT_EQ(checkpoint.tensors().size(), 2U);
  EXPECT_EQ(checkpoint.total_bytes(), 7);
  EXPECT_EQ(checkpoint.files(), (std::vector<fs::path>{dir / "s1.safetensors", dir / "s2.safetensors"}));
}

TEST(Checkpoint, ASingleFileGoesBeforeAnIndex) {
  const TempDir dir;
  write_file_atomically(dir / "model.safetensors", tiny("w", 5));
  write_index(dir, R"({"b":"missing.safetensors"})");
  EXPECT_NE(Checkpoint::open(dir.path()).find("w"), nullptr);
}

TEST(Checkpoint, EveryMissingShardIsNamed) {
  const TempDir dir;
  write_file_atomically(dir / "s1.safetensors", tiny("a", 3));
  write_index(dir, R"({"a":"s1.safetensors","b":"s2.safetensors","c":"s3.safetensors"})");
  EXPECT_EQ(open_error(dir), (dir / "model.safetensors.index.json").string() +
                                 R"(: 2 of 3 shards missing: "s2.safetensors", "s3.safetensors")");
}

TEST(Checkpoint, LongListsAreCut) {
  const TempDir dir;
  std::string map = "{";
  for (int i = 0; i < 100; ++i) map += fmt::format("{}\"t{}\":\"s{:03}\"", i == 0 ? "" : ",", i, i);
  write_index(dir, map + "}");
  const std::string message = open_error(dir);
  EXPECT_TRUE(message.ends_with(R"("s006", "s007" and 92 more)")) << message;
}

TEST(Checkpoint, TheIndexMustAgreeWithTheShards) {
  const TempDir dir;
  write_file_atomically(dir / "s1", tiny("a", 3));
  write_file_atomically(dir / "s2", tiny("b", 3));
  write_index(dir, R"({"a":"s1","c":"s1","d":"s2"})");
  EXPECT_EQ(open_error(dir), (dir / "model.safetensors.index.json").string() +
                                 R"(: 2 tensors are not where it places them: "c" in "s1", "d" in "s2"; )"
                                 R"(1 tensors are in shards it does not place them in: "b" in s2)");
  write_index(dir, R"({"a":"s2","b":"s1"})");
  EXPECT_NE(open_error(dir).find("2 tensors are not where it places them"), std::string::npos);
}

TEST(Checkpoint, OneTensorInTwoShardsIsAnError) {
  const TempDir dir;
  write_file_atomically(dir / "s1", tiny("a", 3));
  write_file_atomically(dir / "s2", file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                            "xy"));
  write_index(dir, R"({"a":"s1","b":"s2"})");
  EXPECT_NE(open_error(dir).find(R"("a" in s2)"), std::string::npos);
}

TEST(Checkpoint, ShardsOutsideTheDirectoryAreRefused) {
  const TempDir dir;
  for (const char* shard : {"../x", "/etc/passwd", "a/../../x", "", "sub/", "a\\u0000b"}) {
    write_index(dir, fmt::format(R"({{"a":"{}"}})", shard));
    EXPECT_NE(open_error(dir).find("expected a file inside the checkpoint directory"), std::string::npos)
        << shard;
  }
}

TEST(Checkpoint, BadIndexesAreRefused) {
  const TempDir dir;
  const std::string place = (dir / "model.safetensors.index.json").string();
  write_file_atomically(place, "{}");
  EXPECT_EQ(open_error(dir), place + ": \"weight_map\" is missing");
  write_file_atomically(place, "[]");
  EXPECT_EQ(open_error(dir), place + ": is an array, expected an object");
  write_index(dir, "{}");
  EXPECT_EQ(open_error(dir), place + ": \"weight_map\": is empty");
  write_index(dir, "[]");
  EXPECT_EQ(open_error(dir), place + ": \"weight_map\": is an array, expected an object");
  write_index(dir, R"({"a":3})");
  EXPECT_EQ(open_error(dir), place + ": \"weight_map\": \"a\" is an integer, expected a file name");
  write_index(dir, R"({"a":"s1","a":"s2"})");
  EXPECT_EQ(open_error(dir), place + ": \"a\" occurs twice in one object");
}

TEST(Checkpoint, SaysWhatItLookedForAndWhatIsThere) {
  const TempDir dir;
  const std::string looked =
      dir.path().string() + ": neither model.safetensors nor model.safetensors.index.json is there";
  EXPECT_EQ(open_error(dir), looked);
  write_file_atomically(dir / "pytorch_model-00002-of-00002.bin", "x");
  write_file_atomically(dir / "pytorch_model-00001-of-00002.bin", "x");
  EXPECT_EQ(open_error(dir), looked + R"(; it holds "pytorch_model-00001-of-00002.bin", )"
                                      R"("pytorch_model-00002-of-00002.bin", but only safetensors are read)");
  write_file_atomically(dir / "model-00001-of-00002.safetensors", "x");
  EXPECT_EQ(open_error(dir), looked + R"(; it holds "model-00001-of-00002.safetensors", )"
                                      "but no index that says what they are");
  EXPECT_EQ(error_of([&] { Checkpoint::open(dir / "none"); }),
            (dir / "none").string() + ": no such checkpoint directory");
  EXPECT_EQ(
      error_of([&] { Checkpoint::open(dir / "pytorch_model-00001-of-00002.bin"); }),
      (dir / "pytorch_model-00001-of-00002.bin").string() + ": is not a directory, expected a checkpoint");
}

TEST(Checkpoint, ErrorsInsideAShardNameTheShard) {
  const TempDir dir;
  write_file_atomically(dir / "s1", tiny("a", 3).substr(0, 20));
  write_index(dir, R"({"a":"s1"})");
  EXPECT_TRUE(open_error(dir).starts_with((dir / "s1").string() + ": truncated")) << open_error(dir);
  write_file_atomically(dir / "s1", "");
  EXPECT_EQ(open_error(dir), (dir / "s1").string() + ": is empty, expected a safetensors file");
}

}  // namespace
}  // namespace buoy
