// Public sets in the layouts they were published in: a record or two of each, as their files have them.
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/dataset.h"
#include "buoy/corpus/dataset_test_support.h"

namespace buoy {
namespace {

using Strings = std::vector<std::string>;

struct ReadFile {
  DatasetFormat format;
  std::vector<QaItem> items;
};

ReadFile read(const std::string& contents, const std::string& ending = ".jsonl") {
  const TestFile file(ending, contents);
  Dataset dataset = open_dataset(file.path());
  ReadFile made{.format = dataset.format(), .items = {}};
  while (auto item = dataset.next()) made.items.push_back(std::move(*item));
  return made;
}

TEST(PublicDatasets, Squad2KeepsQuestionsWithoutAnAnswer) {
  const ReadFile file = read(R"({"version": "v2.0", "data": [{"title": "Normans", "paragraphs": [{"qas": [
    {"question": "In what country is Normandy located?", "id": "56ddde6b", "is_impossible": false,
     "answers": [{"text": "France", "answer_start": 159}, {"text": "France", "answer_start": 159}]},
    {"plausible_answers": [{"text": "Normans", "answer_start": 4}], "question": "Who gave their name to Normandy?",
     "id": "5ad39d53", "answers": [], "is_impossible": true}],
    "context": "The Normans gave their name to Normandy, a region in France."}]}]})",
                             ".json");
  EXPECT_EQ(file.format, DatasetFormat::kSquad);
  ASSERT_EQ(file.items.size(), 2U);
  EXPECT_EQ(file.items[0].answers, Strings{"France"});
  EXPECT_EQ(file.items[1].answers, Strings{""});
  EXPECT_EQ(score_answer("", file.items[1].answers).f1, 1);
  EXPECT_EQ(score_answer("The Normans", file.items[1].answers).em, 0);
  EXPECT_EQ(score_answer("The Normans", file.items[1].answers).substring, 0);
}

TEST(PublicDatasets, SquadRowsOfTheHub) {
  const ReadFile file = read(
      R"({"id": "5733be28", "title": "Notre_Dame", "context": "It is a replica of the grotto at Lourdes.", )"
      R"("question": "What is it a replica of?", "answers": {"text": ["the grotto at Lourdes"], "answer_start": [19]}})"
      "\n"
      R"({"id": "5ad39d54", "title": "Normans", "context": "c", "question": "q", "answers": {"text": [], "answer_start": []}})");
  EXPECT_EQ(file.format, DatasetFormat::kSquad);
  ASSERT_EQ(file.items.size(), 2U);
  EXPECT_EQ(file.items[0].answers, Strings{"the grotto at Lourdes"});
  EXPECT_TRUE(file.items[0].passages.at(0).gold);
  EXPECT_EQ(file.items[1].answers, Strings{""});
}

TEST(PublicDatasets, HotpotqaRowsOfTheHub) {
  const ReadFile file = read(
      R"({"id": "5a7a0693", "question": "Which came first?", "answer": "Arthur's Magazine", "type": "comparison", )"
      R"("level": "medium", "supporting_facts": {"title": ["Arthur's Magazine", "First for Women"], "sent_id": [0, 0]}, )"
      R"("context": {"title": ["Radio City", "Arthur's Magazine"], "sentences": [["Radio City is a station.", " It plays."], )"
      R"(["Arthur's Magazine (1844) was a periodical.", " It was edited."]]}})");
  EXPECT_EQ(file.format, DatasetFormat::kHotpotqa);
  const QaItem& item = file.items.at(0);
  EXPECT_EQ(item.id, "5a7a0693");
  EXPECT_EQ(item.task, "comparison");
  ASSERT_EQ(item.passages.size(), 2U);
  EXPECT_FALSE(item.passages[0].gold);
  EXPECT_TRUE(item.passages[1].gold);
  EXPECT_EQ(item.passages[1].text, "Arthur's Magazine (1844) was a periodical. It was edited.");
  ASSERT_EQ(item.passages[1].evidence.size(), 1U);
  EXPECT_EQ(item.passages[1].evidence[0].end, 42);
}

TEST(PublicDatasets, TriviaqaAsPublished) {
  const ReadFile file = read(
      R"json({"Data": [{"Answer": {"Aliases": ["York", "Park Grove (1895)"], "MatchedWikiEntityName": "York",
    "NormalizedAliases": ["york", "park grove 1895"], "NormalizedValue": "york", "Type": "WikipediaEntity", "Value": "York"},
    "EntityPages": [{"DocSource": "TagMe", "Filename": "England.txt", "Title": "England"}],
    "Question": "Where in England was Dame Judi Dench born?", "QuestionId": "tc_3", "QuestionSource": "http://www.triviacountry.com/",
    "SearchResults": [{"Description": "Judi Dench, Actress: born in York.", "DisplayUrl": "www.imdb.com", "Filename": "103/103_1.txt",
    "Rank": 0, "Title": "Judi Dench - IMDb", "Url": "http://www.imdb.com"}]}], "Domain": "Web", "VerifiedEval": false, "Version": 1.0})json",
      ".json");
  EXPECT_EQ(file.format, DatasetFormat::kTriviaqa);
  const QaItem& item = file.items.at(0);
  EXPECT_EQ(item.id, "tc_3");
  EXPECT_EQ(item.answers, (Strings{"York", "Park Grove (1895)"}));
  ASSERT_EQ(item.passages.size(), 1U);
  EXPECT_EQ(item.passages[0].title, "Judi Dench - IMDb");
  EXPECT_EQ(item.passages[0].id, "103/103_1.txt");
}

TEST(PublicDatasets, TriviaqaRowsOfTheHub) {
  const ReadFile file = read(
      R"({"question": "Who was the man behind The Chipmunks?", "question_id": "tc_2", "question_source": "http://www.triviacountry.com/", )"
      R"("entity_pages": {"doc_source": ["TagMe"], "filename": ["The_Chipmunks.txt"], "title": ["The Chipmunks"], "wiki_context": ["Created by Ross Bagdasarian."]}, )"
      R"("search_results": {"description": ["short"], "filename": ["1.txt"], "rank": [0], "title": ["t"], "url": ["u"], "search_context": ["Found text."]}, )"
      R"("answer": {"aliases": ["David Seville"], "normalized_aliases": ["david seville"], "matched_wiki_entity_name": "", )"
      R"("normalized_matched_wiki_entity_name": "", "normalized_value": "david seville", "type": "WikipediaEntity", "value": "David Seville"}})");
  EXPECT_EQ(file.format, DatasetFormat::kTriviaqa);
  const QaItem& item = file.items.at(0);
  EXPECT_EQ(item.answers, Strings{"David Seville"});
  ASSERT_EQ(item.passages.size(), 2U);
  EXPECT_EQ(item.passages[0].text, "Created by Ross Bagdasarian.");
  EXPECT_EQ(item.passages[1].text, "Found text.");
}

constexpr const char* kMarcoLine =
    R"({"answers": ["Approximately $15,000 per year."], "passages": [{"is_selected": 1, "passage_text": "The average is $15,000.", "url": "http://a"}, )"
    R"({"is_selected": 0, "passage_text": "Other.", "url": "http://b"}], "query": "walgreens store sales average", "query_id": 9652, )"
    R"("query_type": "NUMERIC", "wellFormedAnswers": "[]"})";
constexpr const char* kMarcoColumns =
    R"({"answers": {"0": ["Approximately $15,000 per year."], "7": ["No Answer Present."]}, "passages": {"0": [{"is_selected": 1, )"
    R"("passage_text": "The average is $15,000.", "url": "http://a"}, {"is_selected": 0, "passage_text": "Other.", "url": "http://b"}], "7": []}, )"
    R"("query": {"0": "walgreens store sales average", "7": "what is it"}, "query_id": {"0": 9652, "7": 10}, )"
    R"("query_type": {"0": "NUMERIC", "7": "DESCRIPTION"}, "wellFormedAnswers": {"0": "[]", "7": "[]"}})";
constexpr const char* kMarcoRow =
    R"({"answers": ["Approximately $15,000 per year."], "passages": {"is_selected": [1, 0], "passage_text": ["The average is $15,000.", "Other."], )"
    R"("url": ["http://a", "http://b"]}, "query": "walgreens store sales average", "query_id": 9652, "query_type": "NUMERIC", "wellFormedAnswers": []})";

TEST(PublicDatasets, MsMarcoInLinesInColumnsAndAsRowsOfTheHub) {
  for (const auto& [contents, ending] :
       {std::pair(kMarcoLine, ".jsonl"), std::pair(kMarcoColumns, ".json"), std::pair(kMarcoRow, ".jsonl")}) {
    const ReadFile file = read(contents, ending);
    EXPECT_EQ(file.format, DatasetFormat::kMsMarco) << contents;
    const QaItem& item = file.items.at(0);
    EXPECT_EQ(item.id, "9652");
    EXPECT_EQ(item.task, "NUMERIC");
    EXPECT_EQ(item.question, "walgreens store sales average");
    EXPECT_EQ(item.answers, Strings{"Approximately $15,000 per year."});
    ASSERT_EQ(item.passages.size(), 2U) << contents;
    EXPECT_TRUE(item.passages[0].gold);
    EXPECT_FALSE(item.passages[1].gold);
    EXPECT_EQ(item.passages[1].id, "http://b");
  }
  EXPECT_EQ(read(kMarcoColumns, ".json").items.at(1).answers, Strings{""}) << "No Answer Present.";
}

TEST(PublicDatasets, NaturalQuestionsRowsOfTheHub) {
  const ReadFile file = read(
      R"({"id": "797803103760793766", "document": {"title": "Google", "url": "u", "html": "<html>", "tokens": {"token": ["<P>", "Google", "was", "founded", )"
      R"("in", "1998", "</P>", "More"], "is_html": [true, false, false, false, false, false, true, false]}}, "question": {"text": "when was google founded", )"
      R"("tokens": ["when", "was", "google", "founded"]}, "annotations": {"id": ["1"], "long_answer": [{"start_token": 0, "end_token": 7, "start_byte": 1, )"
      R"("end_byte": 9, "candidate_index": 0}], "short_answers": [{"start_token": [5], "end_token": [6], "start_byte": [1], "end_byte": [2], "text": ["1998"]}], )"
      R"("yes_no_answer": [-1]}})");
  EXPECT_EQ(file.format, DatasetFormat::kNaturalQuestions);
  const QaItem& item = file.items.at(0);
  EXPECT_EQ(item.question, "when was google founded");
  EXPECT_EQ(item.answers, Strings{"1998"});
  ASSERT_EQ(item.passages.size(), 1U);
  EXPECT_EQ(item.passages[0].text, "Google was founded in 1998");
  EXPECT_TRUE(item.passages[0].gold);
  EXPECT_EQ(read(R"({"question": "who sang it", "answer": ["A", "B"]})").items.at(0).answers,
            (Strings{"A", "B"}))
      << "NQ-open";
}

TEST(PublicDatasets, Popqa) {
  const ReadFile file = read(
      R"({"id": 4222362, "subj": "George Rankin", "prop": "occupation", "obj": "politician", "subj_id": 1850297, "prop_id": 22, "obj_id": 2834605, )"
      R"("s_aliases": "[\"George James Rankin\"]", "o_aliases": "[\"political leader\"]", "question": "What is George Rankin's occupation?", )"
      R"("possible_answers": "[\"politician\", \"political leader\"]"})");
  EXPECT_EQ(file.format, DatasetFormat::kPopqa);
  EXPECT_EQ(file.items.at(0).id, "4222362");
  EXPECT_EQ(file.items.at(0).answers, (Strings{"politician", "political leader"}));
}

TEST(PublicDatasets, KiltTriviaqa) {
  const ReadFile file = read(
      R"({"id": "tc_3", "input": "Where in England was Dame Judi Dench born?", "output": [{"answer": "York", "meta": {"score": -1}, "provenance": [)"
      R"({"bleu_score": 1, "section": "Section::::Early life.", "start_paragraph_id": 3, "title": "Judi Dench", "wikipedia_id": "15742"}]}, )"
      R"({"answer": "York, UK", "provenance": []}], "meta": {"partial_evidence": []}})");
  EXPECT_EQ(file.format, DatasetFormat::kKilt);
  EXPECT_EQ(file.items.at(0).answers, (Strings{"York", "York, UK"}));
  try {
    read(R"({"id": "tc_3", "input": "", "output": [{"answer": "York"}]})");
    FAIL() << "a question that KILT left out was read";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("KILT leaves TriviaQA's questions out"), std::string::npos)
        << e.what();
  }
}

TEST(PublicDatasets, DprTrainingFiles) {
  const ReadFile file = read(
      R"([{"dataset": "nq_dev_psgs_w100", "question": "who sings it", "answers": ["Hank Snow"], "positive_ctxs": [{"title": "A", "text": "Sung by Hank Snow.", )"
      R"("score": 1000, "title_score": 1, "passage_id": "3643705"}], "negative_ctxs": [{"title": "C", "text": "c", "score": 0, "title_score": 0, "passage_id": "9"}], )"
      R"("hard_negative_ctxs": [{"title": "B", "text": "b", "score": 14.9, "title_score": 0, "psg_id": 7}]}])",
      ".json");
  EXPECT_EQ(file.format, DatasetFormat::kDpr);
  const QaItem& item = file.items.at(0);
  ASSERT_EQ(item.passages.size(), 3U);
  EXPECT_TRUE(item.passages[0].gold);
  EXPECT_EQ(item.passages[0].id, "3643705");
  EXPECT_EQ(item.passages[1].id, "7");
  EXPECT_FALSE(item.passages[2].gold);
}

TEST(PublicDatasets, Musique) {
  const ReadFile file = read(
      R"({"id": "2hop__460946_294723", "paragraphs": [{"idx": 0, "title": "Green", "paragraph_text": "Green is an album.", "is_supporting": true}, )"
      R"({"idx": 1, "title": "Red", "paragraph_text": "Red is another.", "is_supporting": false}], "question": "Who performed it?", "question_decomposition": )"
      R"([{"id": 460946, "question": "Green >> performer", "answer": "Steve Hillage", "paragraph_support_idx": 0}], "answer": "Steve Hillage", )"
      R"("answer_aliases": ["S. Hillage"], "answerable": true})");
  EXPECT_EQ(file.format, DatasetFormat::kMusique);
  const QaItem& item = file.items.at(0);
  EXPECT_EQ(item.task, "2hop");
  EXPECT_EQ(item.answers, (Strings{"Steve Hillage", "S. Hillage"}));
  ASSERT_EQ(item.passages.size(), 2U);
  EXPECT_TRUE(item.passages[0].gold);
  EXPECT_EQ(item.passages[1].id, "1");
}

TEST(PublicDatasets, SayWhichTextsAreNotRead) {
  const TestFile file(
      ".jsonl",
      R"({"id": "1", "question": "q", "answers": ["a"], "documents": [{"body": "Text that is long enough to be a passage."}]})");
  std::string warning;
  const auto keep = [&](const std::string& line) { warning = line; };
  EXPECT_EQ(read_dataset(file.path(), {}, keep).size(), 1U);
  EXPECT_NE(warning.find("no item has passages; texts that are not read: \"documents\" (1 items)"),
            std::string::npos)
      << warning;
  warning.clear();
  const TestFile closed("_closed.jsonl", R"({"id": "1", "question": "q", "answers": ["a"], "tags": ["x"]})");
  read_dataset(closed.path(), {}, keep);
  EXPECT_EQ(warning, "") << "nothing there could be a passage";
}

TEST(PublicDatasets, AGitLfsPointerIsCalledByItsName) {
  try {
    read("version https://git-lfs.github.com/spec/v1\noid sha256:0fb19dee\nsize 74747\n");
    FAIL() << "a pointer was read";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is a Git LFS pointer"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace buoy
