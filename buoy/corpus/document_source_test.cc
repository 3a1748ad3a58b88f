// Where passages are cut, what each kind of source yields, and when a bad one stops.
#include "buoy/corpus/document_source.h"

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

using Views = std::vector<std::string_view>;

std::vector<Document> documents_of(const std::filesystem::path& path, Index passage_words = 100) {
  std::vector<Document> documents;
  read_documents(path, passage_words, [&](Document d) { documents.push_back(std::move(d)); });
  return documents;
}

TEST(CutPassages, EndsBetweenSentences) {
  EXPECT_EQ(cut_passages("One two. Three four five. Six.", 5), (Views{"One two. Three four five.", "Six."}));
  EXPECT_EQ(cut_passages("One two. Three four five. Six.", 4), (Views{"One two.", "Three four five. Six."}));
  EXPECT_EQ(cut_passages("He said “no.” Then left. Ok", 3), (Views{"He said “no.”", "Then left. Ok"}));
}

TEST(CutPassages, EndsAfterAParagraphOnceHalfFull) {
  EXPECT_EQ(cut_passages("a b c\n\nd e f g", 6), (Views{"a b c", "d e f g"}));
  EXPECT_EQ(cut_passages("a b\n \nd e f g", 6), (Views{"a b\n \nd e f g"}));
  EXPECT_EQ(cut_passages("a b c\nd e f", 6), (Views{"a b c\nd e f"})) << "a line is no paragraph";
}

TEST(CutPassages, ALongSentenceIsCutBetweenWords) {
  EXPECT_EQ(cut_passages(" a b c d e ", 2), (Views{"a b", "c d", "e"}));
}

TEST(CutPassages, TextWithoutWordsHasNone) {
  EXPECT_EQ(cut_passages("", 3), Views{});
  EXPECT_EQ(cut_passages(" \n\n\u3000", 3), Views{});
}

TEST(CutPassages, KeepsEveryWordInOrder) {
  const std::string text = "Ä b. c! d\n\ne f? (g) h i j k\u00A0l. 。m";
  for (Index words = 1; words < 15; ++words) {
    std::string joined;
    for (const std::string_view passage : cut_passages(text, words)) joined += passage;
    std::string expected = text;
    for (std::string* s : {&joined, &expected}) {
      std::erase_if(*s, [](char c) { return c == ' ' || c == '\n' || c == '\xC2' || c == '\xA0'; });
    }
    EXPECT_EQ(joined, expected) << words;
  }
}

TEST(DocumentSource, LinesWithTextAreDocuments) {
  const TempDir dir;
  write_file_atomically(
      dir / "a.jsonl",
      "{\"id\":\"x\",\"title\":\"T\",\"text\":\"one\",\"world\":\"novel\"}\n\n{\"text\":\"two\"}\n");
  const std::vector<Document> documents = documents_of(dir / "a.jsonl");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].id, "x");
  EXPECT_EQ(documents[0].title, "T");
  EXPECT_EQ(documents[0].text, "one");
  EXPECT_EQ(documents[1].id, (dir / "a.jsonl").string() + ":3");
  EXPECT_EQ(documents[1].title, "");
}

TEST(DocumentSource, ADatasetYieldsThePassagesOfItsItems) {
  const std::vector<Document> documents = documents_of(source_path("data/micro_gold_at_1.jsonl"));
  ASSERT_EQ(documents.size(), 1000U);
  EXPECT_EQ(documents[0].id, "micro-2027-000000/p1");
  EXPECT_EQ(documents[999].id, "micro-2027-000099/p10");
  EXPECT_FALSE(documents[0].text.empty());
}

TEST(DocumentSource, AFolderYieldsThePassagesOfItsTexts) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "d/sub");
  write_file_atomically(dir / "d/b.md", "Four five six.");
  write_file_atomically(dir / "d/sub/a.txt", "One two. Three.");
  write_file_atomically(dir / "d/c.png", "no text");
  const std::vector<Document> documents = documents_of(dir / "d/", 2);
  ASSERT_EQ(documents.size(), 4U);
  EXPECT_EQ(documents[0].id, (dir / "d/b.md").string() + "#1");
  EXPECT_EQ(documents[0].title, "b");
  EXPECT_EQ(documents[2].id, (dir / "d/sub/a.txt").string() + "#1");
  EXPECT_EQ(documents[3].text, "Three.");
}

std::string lines(Index good, Index bad) {
  std::string text;
  for (Index i = 0; i < good; ++i) text += "{\"text\":\"fine\"}\n";
  for (Index i = 0; i < bad; ++i) text += "{\"text\":\n";
  return text;
}

TEST(DocumentSource, UpToOnePercentBadLinesAreLeftOutAndNamed) {
  const TempDir dir;
  write_file_atomically(dir / "a.jsonl", lines(99, 1));
  const SourceReport report = read_documents(dir / "a.jsonl", 100, [](const Document&) {});
  EXPECT_EQ(report.records, 100);
  EXPECT_EQ(report.documents, 99);
  EXPECT_EQ(report.bad, 1);
  ASSERT_EQ(report.complaints.size(), 1U);
  EXPECT_NE(report.complaints[0].find("a.jsonl: line 100: "), std::string::npos) << report.complaints[0];
}

TEST(DocumentSource, MoreThanOnePercentBadLinesStop) {
  const TempDir dir;
  write_file_atomically(dir / "a.jsonl", lines(98, 1));
  const std::string message = error_of([&] { documents_of(dir / "a.jsonl"); });
  EXPECT_NE(message.find("1 of 99 records are bad, more than 1 %; the first: "), message.npos) << message;
}

TEST(DocumentSource, SourcesWithoutDocumentsAreErrors) {
  const TempDir dir;
  EXPECT_NE(error_of([&] { documents_of(dir.path()); }).find("holds no documents"), std::string::npos);
  EXPECT_NE(error_of([&] { documents_of(dir / "none"); }).find("none: "), std::string::npos);
  write_file_atomically(dir / "bad.txt", "\xFF");
  EXPECT_NE(error_of([&] { documents_of(dir.path()); }).find("is not valid UTF-8 at byte 0"),
            std::string::npos);
  write_file_atomically(dir / "closed.jsonl", R"({"id":"1","question":"q","answers":["a"]})");
  EXPECT_NE(error_of([&] { documents_of(dir / "closed.jsonl"); }).find("holds no documents"),
            std::string::npos);
}

TEST(DocumentSource, ReadsPublicLayouts) {
  const TempDir dir;
  const auto only = [&](const std::string& name, const std::string& contents) {
    write_file_atomically(dir / name, contents);
    const std::vector<Document> documents = documents_of(dir / name);
    EXPECT_EQ(documents.size(), 1U) << name;
    return documents.empty() ? Document{} : documents[0];
  };
  const Document dpr =
      only("psgs_w100.tsv", "id\ttext\ttitle\n1\t\"Aaron ( or ; \"\"Ahärôn\"\") is a prophet\"\tAaron\n");
  EXPECT_EQ(dpr.id, "1");
  EXPECT_EQ(dpr.title, "Aaron");
  EXPECT_EQ(dpr.text, "Aaron ( or ; \"Ahärôn\") is a prophet");
  const Document pyserini = only("pyserini.jsonl", R"({"id": "doc1", "contents": "this is the contents."})");
  EXPECT_EQ(pyserini.id, "doc1");
  EXPECT_EQ(pyserini.text, "this is the contents.");
  const Document beir =
      only("corpus.jsonl", R"({"_id": "MED-10", "title": "T", "text": "Statin", "metadata": {"url": "u"}})");
  EXPECT_EQ(beir.id, "MED-10");
  EXPECT_EQ(beir.title, "T");
  const Document number = only("numbers.jsonl", R"({"id": 17, "text": "t"})");
  EXPECT_EQ(number.id, "17");
  const Document kilt = only(
      "kilt.json",
      R"({"_id": "290", "wikipedia_id": "290", "wikipedia_title": "A", "text": ["A\n", "A is a letter.\n", "Section::::History.\n", "It is old.\n"], "anchors": []})");
  EXPECT_EQ(kilt.id, "290#1");
  EXPECT_EQ(kilt.title, "A");
  EXPECT_EQ(kilt.text, "A is a letter.\n\nHistory.\n\nIt is old.");
}

}  // namespace
}  // namespace buoy
