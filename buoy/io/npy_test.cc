// .npy blobs: headers as numpy writes them and as it never would, number conversion, strings.
#include <cmath>
#include <cstring>
#include <limits>

#include "buoy/io/half.h"
#include "buoy/io/npz.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

std::string npy(std::string_view dict, std::string_view data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  const int field = version == 1 ? 2 : 4;
  for (int i = 0; i < field; ++i) bytes.push_back(static_cast<char>(dict.size() >> (8 * i) & 0xFF));
  return bytes + std::string(dict) + std::string(data);
}

std::string message_for(const std::string& bytes) {
  return error_of([&] { parse_npy(bytes_of(bytes), "a.npy"); });
}

std::string dict(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", descr, order, shape);
}

constexpr std::string_view kFourBytes("\0\0\x80\x3f", 4);  // 1.0f

TEST(Npy, ReadsVersionsOneToThree) {
  for (const char version : {'\1', '\2', '\3'}) {
    const NpyArray array = parse_npy(bytes_of(npy(dict("<f4", "(1,)"), kFourBytes, version)), "x");
    EXPECT_EQ(array.shape, Shape{1});
    EXPECT_EQ(array.as_floats(), std::vector<float>{1.0F});
  }
}

TEST(Npy, KeysComeInAnyOrderAndLongSuffixIsRead) {
  const std::string bytes = npy(R"({"shape":(1L,),"fortran_order":True,"descr":"<f4"})", kFourBytes);
  EXPECT_EQ(parse_npy(bytes_of(bytes), "x").as_floats(), std::vector<float>{1.0F});
}

TEST(Npy, TurnsFortranOrderIntoC) {
  const std::string bytes = npy(dict("|u1", "(2, 3)", "True"), "adbecf");
  const NpyArray array = parse_npy(bytes_of(bytes), "x");
  EXPECT_EQ(std::memcmp(array.bytes.data(), "abcdef", 6), 0);
}

TEST(Npy, WrongMagicVersionOrLengthIsRefused) {
  EXPECT_EQ(message_for(""), "a.npy: not a .npy array (wrong magic)");
  EXPECT_EQ(message_for("hello world"), "a.npy: not a .npy array (wrong magic)");
  EXPECT_EQ(message_for("\x93NUMPY"), "a.npy: truncated .npy header");
  EXPECT_EQ(message_for(npy(dict("<f4", "()"), kFourBytes, 4)),
            "a.npy: .npy version 4.0, expected 1.0, 2.0 or 3.0");
  EXPECT_EQ(message_for(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)),
            "a.npy: .npy header of 4294967295 bytes, expected at most 1048576");
  const std::string whole = npy(dict("<f4", "(1,)"), kFourBytes);
  for (std::size_t n = 0; n < whole.size(); ++n) message_for(whole.substr(0, n));
  EXPECT_EQ(message_for(whole.substr(0, whole.size() - 1)),
            "a.npy: has 3 bytes of data, expected 4 for shape [1] of 4-byte elements (truncated?)");
  EXPECT_EQ(message_for(whole + "x"),
            "a.npy: has 5 bytes of data, expected 4 for shape [1] of 4-byte elements");
}

TEST(Npy, UnsupportedTypesAreNamed) {
  EXPECT_EQ(message_for(npy(dict("|O", "()"), "x")), "a.npy: holds Python objects, which are not read");
  EXPECT_NE(message_for(npy(dict(">f4", "()"), kFourBytes)).find("type \">f4\" is not supported"),
            std::string::npos);
  EXPECT_NE(message_for(npy(dict("|S3", "()"), "abc")).find("type \"|S3\""), std::string::npos);
  EXPECT_NE(message_for(npy(dict("<U-1", "()"), "abc")).find("type \"<U-1\""), std::string::npos);
  EXPECT_EQ(message_for(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", kFourBytes)),
            "a.npy: structured types are not supported");
}

TEST(Npy, TheHeaderIsReadStrictly) {
  for (const std::string_view bad :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}", "{'descr: '<f4'}", "{'descr"}) {
    EXPECT_TRUE(message_for(npy(bad, kFourBytes)).starts_with("a.npy: ")) << bad;
  }
}

TEST(Npy, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_EQ(message_for(npy(dict("<f8", "(4611686018427387904,)"), "")),
            "a.npy: shape [4611686018427387904] is too large");
  EXPECT_EQ(message_for(npy(dict("<f8", "(99999999999999999999,)"), "")), "a.npy: shape is too large");
  EXPECT_EQ(message_for(npy(dict("<f4", "(1000000000000,)"), "")),
            "a.npy: has 0 bytes of data, expected 4000000000000 for shape [1000000000000] of 4-byte elements "
            "(truncated?)");
  EXPECT_EQ(message_for(npy(dict("<U0", "(1000000000000,)"), "")),
            "a.npy: 1000000000000 strings of no length, expected at most 65536");
  std::string deep = "(";
  for (int i = 0; i < 33; ++i) deep += "1, ";
  EXPECT_EQ(message_for(npy(dict("|u1", deep + ")"), "x")), "a.npy: shape has more than 32 dimensions");
}

TEST(Npy, StringsOfNoLengthAreEmpty) {
  EXPECT_EQ(parse_npy(bytes_of(npy(dict("<U0", "(2,)"), "")), "x").text, (std::vector<std::string>{"", ""}));
}

TEST(Npy, WhatIsNoCharacterIsRefused) {
  EXPECT_EQ(message_for(npy(dict("<U1", "()"), std::string_view("\0\xd8\0\0", 4))),
            "a.npy: a string holds U+D800, which is no character");
  EXPECT_EQ(message_for(npy(dict("<U1", "()"), std::string_view("\0\0\x11\0", 4))),
            "a.npy: a string holds U+110000, which is no character");
}

TEST(Npy, StringsNumpyCouldNotKeepAreRefused) {
  const auto message = [](const std::string& text) {
    return error_of([&] { format_npy(NpyArray::of_text({text}, {1})); });
  };
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"}) {
    EXPECT_NE(message(bad).find("is not valid UTF-8"), std::string::npos) << bad;
  }
  EXPECT_EQ(message(std::string("a\0", 2)), "npy: \"a\\u0000\" ends with NUL, which numpy drops");
}

TEST(Npy, EveryCharacterSurvivesTheRoundTrip) {
  std::vector<std::string> text;
  for (const char* item : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    text.emplace_back(item);
  }
  const NpyArray array = NpyArray::of_text(text, {11});
  EXPECT_EQ(parse_npy(bytes_of(format_npy(array)), "x").text, text);
}

TEST(Npy, TheHeaderFillsBlocksOf64Bytes) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{0, 12345, 678}, Shape(32, 0)}) {
    const std::string bytes =
        format_npy(NpyArray::of(std::span<const float>(), shape.empty() ? Shape{0} : shape));
    EXPECT_EQ(bytes.size() % 64, 0U);
    EXPECT_EQ(bytes.back(), '\n');
  }
  EXPECT_NE(error_of([] {
              format_npy(NpyArray::of(std::span<const float>(), Shape(33, 0)));
            }).find("33 dimensions"),
            std::string::npos);
}

TEST(NpyArray, ConvertsBetweenNumberTypes) {
  const std::vector<Index> integers{-3, 0, 7};
  EXPECT_EQ(NpyArray::of(integers, {3}).as_floats(), (std::vector<float>{-3, 0, 7}));
  EXPECT_EQ(NpyArray::of(integers, {3}).as_doubles(), (std::vector<double>{-3, 0, 7}));
  const std::vector<float> whole{-3, 0, 7};
  EXPECT_EQ(NpyArray::of(whole, {3}).as_integers(), integers);
  const NpyArray flags{
      .dtype = DType::kBool, .shape = {3}, .bytes = {std::byte{1}, std::byte{0}, std::byte{255}}};
  EXPECT_EQ(flags.as_integers(), (std::vector<Index>{1, 0, 1}));
  const NpyArray brain{.dtype = DType::kBf16,
                       .shape = {2},
                       .bytes = {std::byte{0x80}, std::byte{0x3f}, std::byte{0x49}, std::byte{0xc0}}};
  EXPECT_EQ(brain.as_floats(), (std::vector<float>{1.0F, -3.140625F}));
  const NpyArray again = parse_npy(bytes_of(format_npy(brain)), "x");
  EXPECT_EQ(again.dtype, DType::kF32);
  EXPECT_EQ(again.as_floats(), brain.as_floats());
}

TEST(NpyArray, IntegersMustBeWholeAndInRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.5, std::nan(""), infinity, -infinity, 0x1p63, 1e300}) {
    const std::vector<double> values{1, bad};
    EXPECT_NE(error_of([&] { NpyArray::of(values, {2}).as_integers(); }).find("element 1"), std::string::npos)
        << bad;
  }
  const std::vector<double> lowest{-0x1p63};
  EXPECT_EQ(NpyArray::of(lowest, {1}).as_integers(), std::vector<Index>{std::numeric_limits<Index>::min()});
  EXPECT_EQ(error_of([] { NpyArray::of_text({"a"}, {1}).as_floats(); }),
            "array [1] holds text, expected numbers");
}

TEST(NpyArray, WrongCountsAreBugs) {
  const std::vector<float> values{1, 2};
  EXPECT_THROW(NpyArray::of(values, {3}), InternalError);
  EXPECT_THROW(NpyArray::of_text({"a"}, {}).as_floats(), Error);
  EXPECT_THROW(NpyArray::of_text({"a"}, {2}), InternalError);
  NpyArray array = NpyArray::of(values, {2});
  array.shape = {3};
  EXPECT_THROW(format_npy(array), InternalError);
}

TEST(Half, WidensLikeTheDefinition) {
  EXPECT_EQ(widen_f16(0x3C00), 1.0F);
  EXPECT_EQ(widen_f16(0xC000), -2.0F);
  EXPECT_EQ(widen_f16(0x7BFF), 65504.0F);
  EXPECT_EQ(widen_f16(0x0001), 0x1p-24F);
  EXPECT_EQ(widen_f16(0x03FF), 1023 * 0x1p-24F);
  EXPECT_TRUE(std::signbit(widen_f16(0x8000)));
  EXPECT_EQ(widen_f16(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(widen_f16(0x7E01)));
  EXPECT_EQ(widen_bf16(0x4049), 3.140625F);
}

}  // namespace
}  // namespace buoy
