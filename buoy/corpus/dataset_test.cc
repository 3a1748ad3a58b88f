// Readers of dataset files: every format, bad records, compressed and broken files.
#include "buoy/corpus/dataset.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/corpus/dataset_test_support.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::vector<QaItem> items_in(const std::string& contents, const DatasetOptions& options = {},
                             const std::string& ending = ".jsonl") {
  const TestFile file(ending, contents);
  Dataset dataset = open_dataset(file.path(), options);
  std::vector<QaItem> items;
  while (auto item = dataset.next()) items.push_back(std::move(*item));
  return items;
}

std::string error_in(const std::string& contents, const DatasetOptions& options = {}) {
  try {
    items_in(contents, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string numbered(Index n) {
  return R"({"id":")" + std::to_string(n) + R"(","question":"q","answers":["x"]})" + "\n";
}

TEST(Dataset, ErrorsNameLineAndField) {
  const std::string good = R"({"id":"a","question":"q","answers":["x"],"passages":[{"text":"t"}]})";
  EXPECT_EQ(error_in(good + "\n"), "");
  EXPECT_NE(error_in(good + "\n" + good + "\n").find("line 2: the id \"a\" occurs twice"), std::string::npos);
  EXPECT_NE(error_in(good + "\n{\n").find("line 2: not valid JSON"), std::string::npos);
  EXPECT_NE(error_in(R"({"id":"a","question":"q","answers":[""]})").find("line 1: has no answer"),
            std::string::npos);
  EXPECT_NE(error_in(R"({"id":"a","answers":["x"]})").find("\"question\" is missing"), std::string::npos);
  EXPECT_NE(
      error_in(R"({"id":"a","question":"q","answers":["x"],"passages":[{"text":"t","evidence":[[0,9]]}]})")
          .find("passage 1: \"evidence\" holds [0, 9]"),
      std::string::npos);
  EXPECT_NE(error_in("").find("holds no items"), std::string::npos);
  EXPECT_NE(error_in("\n \r\n").find("holds no items"), std::string::npos);
  EXPECT_NE(error_in(R"({"text":"t"})").find("line 1: has the fields of no known format"), std::string::npos);
  EXPECT_NE(error_in("7\n" + good).find("line 1: is an integer, expected an object"), std::string::npos);
}

TEST(Dataset, InvalidUtf8IsABadLineAndItsCauseIsValid) {
  const std::string error = error_in("{\"id\":\"a\",\"question\":\"\xC3(\",\"answers\":[\"x\"]}");
  EXPECT_NE(error.find("line 1: not valid"), std::string::npos);
  EXPECT_FALSE(find_invalid_utf8(error));
}

TEST(Dataset, ReadsAtMostTheLimit) {
  EXPECT_EQ(std::ssize(read_dataset(source_path("data/micro_test.jsonl"), {.limit = 7})), 7);
  EXPECT_EQ(std::ssize(read_dataset(source_path("data/micro_test.jsonl"))), 100);
  EXPECT_THROW(open_dataset(source_path("data/micro_test.jsonl"), {.limit = 0}), UsageError);
}

TEST(Dataset, CountsBadLinesUpToOnePercent) {
  std::string contents;
  for (Index n = 1; n <= 200; ++n) contents += n == 50 || n == 120 ? "{oops\n" : numbered(n);
  const TestFile file(".jsonl", contents);
  Dataset dataset = open_dataset(file.path());
  Index items = 0;
  while (dataset.next()) ++items;
  EXPECT_EQ(items, 198);
  EXPECT_EQ(dataset.counts().read, 200);
  EXPECT_EQ(dataset.counts().bad, 2);
  ASSERT_EQ(dataset.counts().first_bad.size(), 2u);
  EXPECT_EQ(dataset.counts().first_bad[1].number, 120);
  EXPECT_TRUE(dataset.counts().first_bad[1].cause.starts_with("line 120: not valid JSON"));
  std::string warning;
  EXPECT_EQ(std::ssize(read_dataset(file.path(), {}, [&](const std::string& line) { warning = line; })), 198);
  EXPECT_NE(warning.find("2 of 200 records passed over; the first: line 50"), std::string::npos);
  EXPECT_NE(error_in(contents + "{\n").find("3 of the 201 records read cannot be used"), std::string::npos);
}

TEST(Dataset, StopsEarlyFromAThousandLinesOn) {
  std::string contents;
  for (Index n = 1; n <= 5000; ++n) contents += n > 980 ? "{\n" : numbered(n);
  const TestFile file(".jsonl", contents);
  Dataset dataset = open_dataset(file.path());
  EXPECT_THROW(while (dataset.next()){}, Error);
  EXPECT_EQ(dataset.counts().read, 1000);
  EXPECT_EQ(dataset.counts().first_bad.size(), 10u);
}

TEST(Dataset, ReadsKiltLikeRecords) {
  const auto items = items_in(
      R"({"id":3,"input":"q1","output":[{"answer":"x"},{"provenance":[]},{"answer":"x"},{"answer":"y"}],)"
      R"("passage":[{"segment":"s","title":"t"},"plain",{"text":"u"}]})"
      "\r\n\n"
      R"({"query":"q2","answer":["a","b",""],"answers":["b","c"],"passages":["p"]})"
      "\n"
      R"({"question":"q3","answer":"z"})");
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].id, "3");
  EXPECT_EQ(items[0].answers, (std::vector<std::string>{"x", "y"}));
  ASSERT_EQ(items[0].passages.size(), 3u);
  EXPECT_EQ(items[0].passages[0].title, "t");
  EXPECT_EQ(items[0].passages[0].text, "s");
  EXPECT_EQ(items[0].passages[1].text, "plain");
  EXPECT_EQ(items[0].passages[2].text, "u");
  EXPECT_EQ(items[1].id, "line-3");
  EXPECT_EQ(items[1].question, "q2");
  EXPECT_EQ(items[1].answers, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(items[2].question, "q3");
}

constexpr std::string_view kMiddle =
    R"({"question":"q","answers":["x"],"ctxs":[{"title":"A","text":"é","isgold":false},)"
    R"({"title":"B","text":"x","hasanswer":true,"isgold":true}]})";

TEST(Dataset, ReadsLostInTheMiddleCompressed) {
  const TestFile file(".jsonl.gz", "");
  file.compress(std::string(kMiddle) + "\n" + std::string(kMiddle) + "\n");
  Dataset dataset = open_dataset(file.path());
  EXPECT_EQ(dataset.format(), DatasetFormat::kLostInTheMiddle);
  const auto item = dataset.next();
  ASSERT_TRUE(item && item->passages.size() == 2);
  EXPECT_EQ(item->passages[0].text, "é");
  EXPECT_FALSE(item->passages[0].gold);
  EXPECT_TRUE(item->passages[1].gold);
  EXPECT_EQ(dataset.next()->id, "line-2");
  EXPECT_FALSE(dataset.next());
}

TEST(Dataset, ACompressedFileCutShortIsAnError) {
  std::string contents;
  for (Index n = 0; n < 3000; ++n) contents += numbered(n * n * 7919);
  const TestFile file(".jsonl.gz", "");
  file.compress(contents);
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 20);
  EXPECT_THROW(read_dataset(file.path()), Error);
}

TEST(Dataset, ReadsSquad) {
  const std::string text =
      R"({"version":"1.1","data":[{"title":"T","paragraphs":[{"context":"In 東京.","qas":[)"
      R"({"id":"s1","question":"Where?","answers":[{"text":"東京","answer_start":3},{"text":"東京"}]},)"
      R"({"id":"s2","question":"When?","answers":[{"text":"now","answer_start":0}]}]}]}]})";
  std::string spread = text;
  spread.replace(0, 1, "{\n");
  for (const std::string& contents : {text, spread}) {
    const auto items = items_in(contents, {}, ".json");
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].id, "s1");
    EXPECT_EQ(items[0].answers, std::vector<std::string>{"東京"});
    ASSERT_EQ(items[1].passages.size(), 1u);
    EXPECT_EQ(items[1].passages[0].title, "T");
    EXPECT_EQ(items[1].passages[0].text, "In 東京.");
    EXPECT_TRUE(items[1].passages[0].gold);
  }
  EXPECT_NE(error_in("[{}]", {.format = DatasetFormat::kSquad}).find("SQuAD's articles"), std::string::npos);
}

TEST(Dataset, ReadsHotpotqaWithItsEvidence) {
  const auto items = items_in(
      R"([{"_id":"h","question":"q","answer":"yes","type":"bridge","supporting_facts":[["B",1],["B",9],["D",0]],)"
      R"("context":[["A",["One."," Two."]],["B",["Zé."," Drei.","Vier."]]]}, {"question":"r","answer":"no",)"
      R"("supporting_facts":[],"context":[]}])");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].task, "bridge");
  ASSERT_EQ(items[0].passages.size(), 2u);
  EXPECT_FALSE(items[0].passages[0].gold);
  EXPECT_EQ(items[0].passages[0].text, "One. Two.");
  EXPECT_TRUE(items[0].passages[1].gold);
  EXPECT_EQ(items[0].passages[1].text, "Zé. Drei. Vier.");
  EXPECT_EQ(items[0].passages[1].evidence, (std::vector<TextSpan>{{4, 9}}));
  EXPECT_EQ(items[1].id, "record-2");
}

TEST(Dataset, AFormatCanBeNamed) {
  for (Index i = 0; i < kDatasetFormatCount; ++i) {
    const auto format = static_cast<DatasetFormat>(i);
    EXPECT_EQ(dataset_format_named(name_of(format)), format);
  }
  EXPECT_THROW(dataset_format_named("nothing"), UsageError);
  const std::string record = R"({"id":"a","question":"q","answers":"x","passages":["p"]})";
  EXPECT_NE(error_in(record), "");
  EXPECT_EQ(items_in(record, {.format = DatasetFormat::kKilt})[0].passages[0].text, "p");
}

TEST(Dataset, LinesMayEndAnywhereInTheBuffer) {
  // Lines of all lengths around the reader's buffer of 2^17 bytes.
  std::string contents;
  for (Index n = 0; n < 6; ++n) {
    contents += R"({"id":")" + std::to_string(n) + R"(","answers":["x"],"question":")" +
                std::string(static_cast<std::size_t>((1 << 17) - 45 + n * 2), 'q') + "\"}\n";
  }
  const auto items = items_in(contents);
  ASSERT_EQ(items.size(), 6u);
  for (Index n = 0; n < 6; ++n) {
    EXPECT_EQ(std::ssize(items[static_cast<std::size_t>(n)].question), (1 << 17) - 45 + n * 2);
  }
}

}  // namespace
}  // namespace buoy
