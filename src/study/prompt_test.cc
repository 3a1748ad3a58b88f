// Datasets, prompt templates, their regions in characters and in tokens, and scores of answers.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "io/json.h"
#include "study/answer_score.h"
#include "study/tokenized_prompt.h"
#include "study/world_item.h"
#include "text/utf8.h"

namespace buoy {
namespace {

const QaItem kItem = {
    .id = "1",
    .task = "single",
    .question = "Où est 東京?",
    .answers = {"here"},
    .passages = {{.title = "A", .text = "Rien du tout."},
                 {.title = "B", .text = "é vide. Il est ici. Fin.", .gold = true, .evidence = {{8, 19}}}}};

Tokenizer mini_tokenizer() {
  return Tokenizer::load(BUOY_SOURCE_DIR "/models/mini-mdm");
}

// Every character belongs to exactly one part.
void expect_covered(const PromptText& prompt) {
  Index at = 0;
  for (const PromptPart& part : prompt.parts) {
    EXPECT_EQ(part.begin, at);
    EXPECT_GT(part.end, part.begin);
    at = part.end;
  }
  EXPECT_EQ(at, count_code_points(prompt.text));
}

std::string text_of(const PromptText& prompt, RegionKind kind, Index document, bool evidence_only = false) {
  std::u32string all;
  for (Index byte = 0; byte < std::ssize(prompt.text);) {
    const CodePoint c = code_point_at(prompt.text, byte);
    all += c.value;
    byte += c.length;
  }
  std::string out;
  for (const PromptPart& part : prompt.parts) {
    if (part.kind != kind || part.document != document || (evidence_only && !part.evidence)) continue;
    for (Index i = part.begin; i < part.end; ++i) append_utf8(out, all[static_cast<std::size_t>(i)]);
  }
  return out;
}

TEST(PromptTemplate, EveryBundledOneCoversThePromptExactly) {
  for (const BundledTemplate& bundled : bundled_templates()) {
    const PromptText prompt = PromptTemplate::find(std::string(bundled.name)).render(kItem);
    expect_covered(prompt);
    EXPECT_EQ(text_of(prompt, RegionKind::kQuery, 0), kItem.question) << bundled.name;
    EXPECT_EQ(text_of(prompt, RegionKind::kDocument, 1), kItem.passages[0].text) << bundled.name;
    EXPECT_EQ(text_of(prompt, RegionKind::kDocument, 2), kItem.passages[1].text) << bundled.name;
    EXPECT_EQ(text_of(prompt, RegionKind::kDocument, 2, true), "Il est ici.") << bundled.name;
    QaItem alone = kItem;
    alone.passages.clear();
    expect_covered(PromptTemplate::find(std::string(bundled.name)).render(alone));
  }
}

TEST(PromptTemplate, MicroIsThePromptTheBundledModelsWereTrainedOn) {
  const World known = make_known_world();
  const ItemSettings settings{.seed = 3, .passages = 4};
  const WorldItem made = make_item(known, settings, 0);
  QaItem item{.id = "x", .question = made.question, .answers = {made.answer}};
  for (const Passage& p : made.passages) item.passages.push_back({.title = p.title, .text = p.text});
  EXPECT_EQ(PromptTemplate::find("micro").render(item).text, micro_prompt(made));
  item.passages.clear();
  EXPECT_TRUE(PromptTemplate::find("micro").render(item).text.starts_with("Question: "));
}

TEST(PromptTemplate, TheScriptsFormBeginsWithTheQuery) {
  EXPECT_TRUE(PromptTemplate::find("attention-floating")
                  .render(kItem)
                  .text.starts_with("Query: Où est 東京?\n\nPassages:\n[1] Rien du tout.\n[2] é vide."));
}

TEST(PromptTemplate, ErrorsNameTheLine) {
  const auto error = [](std::string_view source) {
    try {
      PromptTemplate::parse(source, "t.txt");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(error("{question}"), "nothing");
  EXPECT_NE(error("a\n{query}").find("t.txt: line 2: {query} is unknown here"), std::string::npos);
  EXPECT_NE(error("{question} {text}").find("{text} is unknown here"), std::string::npos);
  EXPECT_NE(error("{question}{for passage}").find("no {end}"), std::string::npos);
  EXPECT_NE(error("{question}{end}").find("{end} without a block"), std::string::npos);
  EXPECT_NE(error("hello").find("{question} does not occur"), std::string::npos);
  EXPECT_NE(error("{question").find("without \"}\""), std::string::npos);
  EXPECT_NE(error("}{question}").find("without \"{\""), std::string::npos);
  EXPECT_EQ(PromptTemplate::parse("{{{question}}}", "t").render(kItem).text, "{Où est 東京?}");
}

TEST(TokenizedPrompt, EveryTokenHasItsRegion) {
  const Tokenizer tokenizer = mini_tokenizer();
  const PromptText prompt = PromptTemplate::find("micro").render(kItem);
  const TokenizedPrompt tokens = tokenize_prompt(tokenizer, prompt, nullptr);
  const RegionMap& map = tokens.layout.regions;
  EXPECT_EQ(tokens.ids, tokenizer.encode(prompt.text, SpecialTokens::kAdd));
  ASSERT_EQ(map.of.size(), tokens.ids.size());
  EXPECT_EQ(map.regions[static_cast<std::size_t>(map.of[0])].kind, RegionKind::kBos);
  std::map<std::string, std::vector<TokenId>> by_region;
  for (std::size_t i = 0; i < map.of.size(); ++i) {
    by_region[map.regions[static_cast<std::size_t>(map.of[i])].name()].push_back(tokens.ids[i]);
  }
  EXPECT_EQ(tokenizer.decode(by_region["Query"], SkipSpecial::kKeep).find(kItem.question), 1u);  // " Où …"
  EXPECT_NE(tokenizer.decode(by_region["Doc1"], SkipSpecial::kKeep).find("Rien du tout."), std::string::npos);
  EXPECT_NE(tokenizer.decode(by_region["Template"], SkipSpecial::kKeep).find("Short Answer:"),
            std::string::npos);
  std::vector<TokenId> evidence;
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    if (tokens.layout.evidence[i] != 0) evidence.push_back(tokens.ids[i]);
  }
  EXPECT_EQ(tokenizer.decode(evidence, SkipSpecial::kKeep), " Il est ici.");
}

TEST(TokenizedPrompt, AChatTemplatesWordsAreTemplate) {
  const Tokenizer tokenizer = mini_tokenizer();
  const ChatTemplate chat = ChatTemplate::parse(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}ASSISTANT:", Json::object(),
      "t");
  const TokenizedPrompt tokens =
      tokenize_prompt(tokenizer, PromptTemplate::find("unified").render(kItem), &chat);
  const RegionMap& map = tokens.layout.regions;
  EXPECT_EQ(map.regions[static_cast<std::size_t>(map.of.front())].kind, RegionKind::kTemplate);
  EXPECT_EQ(map.regions[static_cast<std::size_t>(map.of.back())].kind, RegionKind::kTemplate);
  EXPECT_EQ(map.lengths().size(), 7u);
  const ChatTemplate trims = ChatTemplate::parse("{{ messages[0].content | upper }}", Json::object(), "t");
  EXPECT_THROW(tokenize_prompt(tokenizer, plain_prompt("hello"), &trims), Error);
}

class DatasetFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string reading(const std::string& contents) {
    std::ofstream(path_) << contents;
    try {
      count_ = std::ssize(read_dataset(path_));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("buoy_dataset_" + std::to_string(::getpid()) + ".jsonl");
  Index count_ = 0;
};

TEST_F(DatasetFile, ErrorsNameLineAndField) {
  const std::string good = R"({"id":"a","question":"q","answers":["x"],"passages":[{"text":"t"}]})";
  EXPECT_EQ(reading(good + "\n"), "");
  EXPECT_EQ(count_, 1);
  EXPECT_NE(reading(good + "\n" + good + "\n").find("line 2: the id \"a\" occurs twice"), std::string::npos);
  EXPECT_NE(reading(good + "\n{\n").find("line 2"), std::string::npos);
  EXPECT_NE(reading(R"({"id":"a","question":"q","answers":[]})").find("\"answers\" is empty"),
            std::string::npos);
  EXPECT_NE(reading(R"({"id":"a","answers":["x"]})").find("\"question\" is missing"), std::string::npos);
  EXPECT_NE(
      reading(R"({"id":"a","question":"q","answers":["x"],"passages":[{"text":"t","evidence":[[0,9]]}]})")
          .find("passage 1: \"evidence\" holds [0, 9]"),
      std::string::npos);
  EXPECT_NE(reading("").find("holds no items"), std::string::npos);
  EXPECT_EQ(std::ssize(read_dataset(BUOY_SOURCE_DIR "/data/micro_test.jsonl", 7)), 7);
}

TEST(AnswerScore, NormalisesAsSquadDoes) {
  EXPECT_EQ(normalise_answer(" The  Quick, brown\tFOX. "), "quick brown fox");
  EXPECT_EQ(normalise_answer("a the an"), "");
  EXPECT_EQ(normalise_answer("Theatre anthem"), "theatre anthem");
  EXPECT_EQ(normalise_answer("U.S.A."), "usa");
  EXPECT_EQ(normalise_answer("ÉCOLE Äpfel"), "école äpfel");
  EXPECT_EQ(normalise_answer("«the» end"), "« » end");
}

TEST(AnswerScore, TakesTheBestOfTheGoldAnswers) {
  const std::vector<std::string> gold = {"New York City", "NYC"};
  EXPECT_EQ(score_answer("the nyc", gold).em, 1);
  EXPECT_EQ(score_answer("In New York City, of course", gold).em, 0);
  EXPECT_EQ(score_answer("In New York City, of course", gold).substring, 1);
  EXPECT_DOUBLE_EQ(score_answer("New York", gold).f1, 0.8);
  EXPECT_EQ(score_answer("", gold).f1, 0);
}

}  // namespace
}  // namespace buoy
