// Prompt templates and their regions in characters and in tokens.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/prompt/prompt_test_support.h"
#include "buoy/prompt/tokenized_prompt.h"
#include "buoy/world/world_item.h"

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

TEST(PromptTemplate, ThePapersPromptsAreThoseOfItsScriptsByteForByte) {
  QaItem item{.id = "1", .question = "Who wrote \"Lanterns over Quill\"?", .answers = {"Ivo Marest"}};
  for (const char* name : {"llada", "others"}) {
    const PromptTemplate prompt = PromptTemplate::find(fmt::format("attention-floating-{}", name));
    EXPECT_FALSE(prompt.raw());
    item.passages.clear();
    EXPECT_EQ(prompt.render(item).text, read_file(source_path(fmt::format("tests/prompts/{}_0.txt", name))));
    item.passages = {{.text = "First {text} passage."}, {.text = "Second\npassage, ünicode."}};
    EXPECT_EQ(prompt.render(item).text, read_file(source_path(fmt::format("tests/prompts/{}_2.txt", name))));
  }
}

TEST(PromptTemplate, HasWordsForItemsWithoutPassages) {
  const PromptTemplate prompt =
      PromptTemplate::parse("{if passages}With.{else}Without.{end} {question}{if passages}{else}!{end}", "t");
  QaItem alone = kItem;
  alone.passages.clear();
  EXPECT_EQ(prompt.render(kItem).text, "With. " + kItem.question);
  EXPECT_EQ(prompt.render(alone).text, "Without. " + kItem.question + "!");
  expect_covered(prompt.render(alone));
  EXPECT_THROW(PromptTemplate::parse("{question}{else}{end}", "t"), Error);
  EXPECT_THROW(PromptTemplate::parse("{question}{for passage}{else}{end}", "t"), Error);
  EXPECT_THROW(PromptTemplate::parse("{question}{if passages}{else}{else}{end}", "t"), Error);
}

TEST(PromptTemplate, SaysThatItIsTheWholePrompt) {
  const PromptTemplate raw = PromptTemplate::parse("{no chat}Q: {question}", "t");
  EXPECT_TRUE(raw.raw());
  EXPECT_EQ(raw.render(kItem).text, "Q: " + kItem.question);
  EXPECT_FALSE(PromptTemplate::parse("Q: {question}", "t").raw());
  EXPECT_THROW(PromptTemplate::parse("{question}{if passages}{no chat}{end}", "t"), Error);
}

// Where this fails and the new prompts are meant, raise kPromptCode with the hash: runs that were begun
// before must not be completed with other prompts.
TEST(PromptCode, StandsForThesePromptsAndTokens) {
  const Tokenizer tokenizer = mini_tokenizer();
  QaItem alone = kItem;
  alone.passages.clear();
  Hasher hasher;
  for (const BundledTemplate& bundled : bundled_templates()) {
    for (const QaItem& item : {kItem, alone}) {
      const PromptText prompt = PromptTemplate::find(std::string(bundled.name)).render(item);
      hasher.add(prompt.text);
      for (const TokenId id : tokenize_prompt(tokenizer, prompt, nullptr).ids) hasher.add(fmt::to_string(id));
    }
  }
  EXPECT_EQ(kPromptCode, 1);
  EXPECT_EQ(hasher.hex(), "d99dabec90a2664b729a0a04fc34131a");
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
  EXPECT_NE(error("a\n{query}").find("t.txt: line 2: \"{query}\" is unknown here"), std::string::npos);
  EXPECT_NE(error("{question} {text}").find("\"{text}\" is unknown here"), std::string::npos);
  EXPECT_EQ(error("{que\nry}").find('\n'), std::string::npos) << "an error is one line";
  EXPECT_NE(error("{question}{for passage}").find("no {end}"), std::string::npos);
  EXPECT_NE(error("{question}{end}").find("{end} without a block"), std::string::npos);
  EXPECT_NE(error("hello").find("{question} does not occur"), std::string::npos);
  EXPECT_NE(error("{question").find("without \"}\""), std::string::npos);
  EXPECT_NE(error("}{question}").find("without \"{\""), std::string::npos);
  EXPECT_EQ(PromptTemplate::parse("{{{question}}}", "t").render(kItem).text, "{Où est 東京?}");
}

// Whether the question stands before the first passage, after the last, or neither.
QueryPlace place_of_question(const PromptText& prompt) {
  const auto is_query = [](const PromptPart& part) { return part.kind == RegionKind::kQuery; };
  const auto is_passage = [](const PromptPart& part) { return part.kind == RegionKind::kDocument; };
  const auto query = std::ranges::find_if(prompt.parts, is_query);
  const bool before = std::none_of(prompt.parts.begin(), query, is_passage);
  const bool after = std::none_of(query, prompt.parts.end(), is_passage);
  return before ? QueryPlace::kBeforePassages : after ? QueryPlace::kAfterPassages : QueryPlace::kAsWritten;
}

TEST(QueryPlace, EveryBundledTemplateCanHaveTheQuestionOnEitherSide) {
  QaItem alone = kItem;
  alone.passages.clear();
  for (const BundledTemplate& bundled : bundled_templates()) {
    const PromptTemplate prompt = PromptTemplate::find(std::string(bundled.name));
    const std::string as_written = prompt.render(kItem).text;
    Index changed = 0;
    for (const QueryPlace place : {QueryPlace::kBeforePassages, QueryPlace::kAfterPassages}) {
      const PromptText moved = prompt.render(kItem, place);
      expect_covered(moved);
      EXPECT_EQ(place_of_question(moved), place) << bundled.name;
      EXPECT_EQ(evidence_of(moved, 2), "Il est ici.") << bundled.name;
      EXPECT_TRUE(std::ranges::is_permutation(moved.text, as_written)) << bundled.name;
      changed += moved.text != as_written;
      EXPECT_EQ(prompt.render(alone, place).text, prompt.render(alone).text);
    }
    EXPECT_EQ(changed, 1) << bundled.name;
  }
}

TEST(QueryPlace, TheLineOfTheQuestionAndThePassagesChangePlaces) {
  const auto moved = [](const char* name, QueryPlace place) {
    return PromptTemplate::find(name).render(kItem, place).text;
  };
  EXPECT_EQ(moved("micro", QueryPlace::kBeforePassages),
            "Question: Où est 東京?\n\nContext:\nPassage 1: Rien du tout.\nPassage 2: é vide. Il est ici. "
            "Fin.\nShort Answer:");
  EXPECT_EQ(moved("unified", QueryPlace::kBeforePassages),
            "Question: Où est 東京?\n\nUse the passages below to answer the question.\n\nPassage 1: Rien du "
            "tout.\n\nPassage 2: é vide. Il est ici. Fin.\nGive only the answer itself, as few words as "
            "possible.\nAnswer:");
  EXPECT_EQ(moved("attention-floating", QueryPlace::kAfterPassages),
            "Passages:\n[1] Rien du tout.\n[2] é vide. Il est ici. Fin.\n\nQuery: Où est 東京?");
  const PromptTemplate own =
      PromptTemplate::parse("Read.\n{for passage}* {text}\n{end}Now think.\nQ: {question} A:", "own");
  EXPECT_EQ(own.render(kItem, QueryPlace::kBeforePassages).text,
            "Read.\nQ: Où est 東京? A:\nNow think.\n* Rien du tout.\n* é vide. Il est ici. Fin.");
}

TEST(QueryPlace, StaysWhereItIsAmongPassagesThatShowNothing) {
  const PromptTemplate own = PromptTemplate::parse("\n\n{question}:{for passage}\t{end}z", "own");
  EXPECT_EQ(own.render(kItem, QueryPlace::kAfterPassages).text, own.render(kItem).text);
}

TEST(QueryPlace, ATemplateThatCannotBeReorderedIsAnError) {
  const auto error = [](const char* source) -> std::string {
    try {
      PromptTemplate::parse(source, "own").render(kItem, QueryPlace::kBeforePassages);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("Q: {question}"),
            "template \"own\": has no passages, so the question cannot be put before or after the passages");
  EXPECT_NE(error("{question}{for passage}{text}{end}{question}").find("more than once"), std::string::npos);
  EXPECT_NE(error("{for passage}{title}{end}{question}{for passage}{text}{end}").find("between two lists"),
            std::string::npos);
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
