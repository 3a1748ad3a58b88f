// JSON in: order, repeated keys, depth, speed, and messages that name file and field.
#include "buoy/io/json.h"

#include <ctime>

#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

TEST(Json, ParsesTheSameAsTheLibrary) {
  for (const char* text :
       {"null", "true", "-3", "18446744073709551615", "2.5e-3", R"("aé\n\u20ac\ud83d\ude00")", "[]", "{}",
        R"([1,[2,[3,{"a":[]}]],{}])", R"({"b":1,"a":{"z":null,"y":[1.5,false]},"c":""})", "  [1 , 2]\n"}) {
    EXPECT_EQ(parse_json(text, "x"), Json::parse(text)) << text;
    EXPECT_EQ(parse_json_unique(text, "x"), Json::parse(text)) << text;
  }
}

TEST(Json, NothingAfterANulIsPassedOver) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{}\0"sv, "{}\0{\"a\": 1}"sv, "\0{}"sv, "[\"a\0b\"]"sv})
    EXPECT_NE(error_of([&] { parse_json(text, "f"); }).find("f: not valid JSON: byte "), std::string::npos);
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b":1,"a":2,"c":3})", "x").dump(), R"({"b":1,"a":2,"c":3})");
}

TEST(Json, OfARepeatedKeyTheLastValueCounts) {
  EXPECT_EQ(parse_json(R"({"a":[1,2],"b":2,"a":{"c":3}})", "x").dump(), R"({"a":{"c":3},"b":2})");
}

TEST(Json, RepeatedKeysAreFoundInLargeObjectsToo) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += fmt::format("\"k{}\":{},", i, i);
  EXPECT_EQ(parse_json(text + "\"k77\":-1}", "x")["k77"], -1);
  EXPECT_EQ(parse_json(text + "\"k77\":-1}", "x").size(), 100U);
  EXPECT_EQ(parse_json(text + "\"k3\":-1}", "x")["k3"], -1);
  EXPECT_EQ(parse_json_unique(text + "\"k100\":-1}", "x").size(), 101U);
  for (const char* key : {"k0", "k15", "k16", "k17", "k99"}) {
    EXPECT_EQ(error_of([&] { parse_json_unique(text + fmt::format("\"{}\":0}}", key), "f.json"); }),
              fmt::format("f.json: \"{}\" occurs twice in one object", key));
  }
}

TEST(Json, TheSameKeyInTwoObjectsIsNoRepeat) {
  EXPECT_EQ(parse_json_unique(R"({"a":{"a":1},"b":{"a":2}})", "x")["b"]["a"], 2);
}

TEST(Json, ErrorsNameFileLineAndTrouble) {
  const std::string message = error_of([] { parse_json("{\"a\": 1,\n\"b\" 2}", "config.json"); });
  EXPECT_TRUE(message.starts_with("config.json: not valid JSON: parse error at line 2, column 5")) << message;
  error_of([] { parse_json("", "x"); });
  error_of([] { parse_json("[1,2", "x"); });
  error_of([] { parse_json("[1] 2", "x"); });
  error_of([] { parse_json("\"\xff\"", "x"); });
  error_of([] { parse_json("1e999", "x"); });
  error_of([] { parse_json("\"a\nb\"", "x"); });
}

TEST(Json, ALongBadTokenDoesNotFloodTheMessage) {
  EXPECT_LT(error_of([] { parse_json(fmt::format("\"{:x<100000}", ""), "x"); }).size(), 400U);
}

TEST(Json, NestingIsLimited) {
  EXPECT_EQ(parse_json(std::string(512, '[') + std::string(512, ']'), "x").size(), 1U);
  EXPECT_EQ(error_of([] { parse_json(std::string(100000, '['), "f"); }), "f: JSON nested more than 512 deep");
}

TEST(Json, AVocabularyOf150000KeysParsesInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 150000; ++i) text += fmt::format("{}\"token{}\":{}", i == 0 ? "" : ",", i, i);
  text += "}";
  const std::clock_t start = std::clock();
  EXPECT_EQ(parse_json(text, "x").size(), 150000U);
  // Seconds of the processor, which other work on the machine does not make more: a tenth of one, or a few
  // under a sanitizer; the quadratic way takes minutes.
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 10);
}

TEST(Json, QuoteMakesOneShortLine) {
  EXPECT_EQ(quote("model.wq"), "\"model.wq\"");
  EXPECT_EQ(quote("a\nb\"c\x01"), R"("a\nb\"c\u0001")");
  EXPECT_EQ(quote("\xff"), "\"\xEF\xBF\xBD\"");
  const std::string cut = quote(std::string(3000, '\xC3'));
  EXPECT_LT(cut.size(), 400U);
  std::string accents;
  for (int i = 0; i < 99; ++i) accents += "é";
  EXPECT_EQ(quote(accents), fmt::format("\"{}…\"", accents.substr(0, 100)));
}

TEST(JsonObject, ReadsTypedFields) {
  const Json json = parse_json(R"({"i":-7,"f":0.5,"b":true,"s":"x","n":null,"u":18446744073709551615})", "c");
  const JsonObject object(json, "config.json");
  EXPECT_EQ(object.integer("i"), -7);
  EXPECT_EQ(object.number("f"), 0.5);
  EXPECT_EQ(object.number("i"), -7.0);
  EXPECT_TRUE(object.boolean("b"));
  EXPECT_EQ(object.string("s"), "x");
  EXPECT_FALSE(object.has("n"));
  EXPECT_EQ(object.find("n"), nullptr);
  EXPECT_EQ(object.integer_or("n", 3), 3);
  EXPECT_EQ(object.number_or("absent", 1.5), 1.5);
  EXPECT_EQ(object.boolean_or("b", false), true);
  EXPECT_EQ(object.string_or("absent", "d"), "d");
  EXPECT_EQ(error_of([&] { object.integer("absent"); }), "config.json: \"absent\" is missing");
  EXPECT_EQ(error_of([&] { object.integer("s"); }), "config.json: \"s\" is a string, expected an integer");
  EXPECT_EQ(error_of([&] { object.integer("f"); }), "config.json: \"f\" is a number, expected an integer");
  EXPECT_EQ(error_of([&] { object.integer_or("b", 1); }),
            "config.json: \"b\" is a boolean, expected an integer");
  EXPECT_NE(error_of([&] { object.integer("u"); }).find("too large"), std::string::npos);
  EXPECT_EQ(error_of([] { JsonObject(Json::array(), "c.json"); }), "c.json: is an array, expected an object");
}

TEST(Json, FilesAreNamedInErrors) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { read_json_file(dir / "none.json"); }),
            (dir / "none.json").string() + ": cannot open: No such file or directory");
  write_file_atomically(dir / "bad.json", "{");
  EXPECT_TRUE(error_of([&] { read_json_file(dir / "bad.json"); }).starts_with((dir / "bad.json").string()));
}

}  // namespace
}  // namespace buoy
