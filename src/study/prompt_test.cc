// Prompt templates and their regions in characters and in tokens.
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/json.h"
#include "study/prompt_test_support.h"
#include "study/tokenized_prompt.h"
#include "study/world_item.h"

namespace buoy {
namespace {

const QaItem kItem = {
    .id = "1",
    .task = "single",
    .question = "Où est 東京?",
    .answers = {"here"},
    .passages = {{.title = "A", .text = "Rien du tout."},
                 {.title = "B", .text = "é vide. Il est ici. Fin.", .gold = true, .evidence = {{8, 19}}}}};

TEST(PromptTemplate, EveryBundledOneCoversThePromptExactly) {
  for (const BundledTemplate& bundled : bundled_templates()) {
    const PromptText prompt = PromptTemplate::find(std::string(bundled.name)).render(kItem);
    expect_covered(prompt);
    EXPECT_EQ(text_of(prompt, RegionKind::kQuery, 0), kItem.question) << bundled.name;
    EXPECT_EQ(text_of(prompt, RegionKind::kDocument, 1), kItem.passages[0].text) << bundled.name;
    EXPECT_EQ(text_of(prompt, RegionKind::kDocument, 2), kItem.passages[1].text) << bundled.name;
    EXPECT_EQ(evidence_of(prompt, 2), "Il est ici.") << bundled.name;
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

TEST(PromptTemplate, FewshotIsUnifiedAfterThreeExamples) {
  QaItem alone = kItem;
  alone.passages.clear();
  for (const QaItem& item : {kItem, alone}) {
    const std::string fewshot = PromptTemplate::find("fewshot").render(item).text;
    const std::string unified = PromptTemplate::find("unified").render(item).text;
    ASSERT_TRUE(fewshot.ends_with(unified));
    const std::string examples = fewshot.substr(0, fewshot.size() - unified.size());
    Index count = 0;
    for (std::size_t at = 0; (at = examples.find("\nAnswer: ", at)) != examples.npos; ++at) ++count;
    EXPECT_EQ(count, 3);
  }
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

}  // namespace
}  // namespace buoy
