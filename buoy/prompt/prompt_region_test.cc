// Whatever the reader, the template and the script: regions cover prompts and tokens exactly.
#include <algorithm>
#include <random>

#include "buoy/corpus/dataset_test_support.h"
#include "buoy/io/json.h"
#include "buoy/prompt/prompt_test_support.h"
#include "buoy/prompt/tokenized_prompt.h"

namespace buoy {
namespace {

constexpr Index kItemsPerFormat = 40;  // five formats: 200 cases

// Pieces of five scripts, and what trips careless code: braces of templates, tokens' names, spaces of
// Unicode.
constexpr std::string_view kPieces[] = {"Où est",
                                        "river",
                                        "naïve",
                                        "1909",
                                        "Ελλάς",
                                        "مصر",
                                        "القاهرة",
                                        "مَدِينَة",
                                        "東京",
                                        "東京都。",
                                        "한국어",
                                        "😀",
                                        "👨‍👩‍👧",
                                        "🇫🇷",
                                        "👍🏽",
                                        "e\u0301\u0323",
                                        "a\u0308o\u0308",
                                        "ก็ดี",
                                        "{question}",
                                        "}}",
                                        "{{text}",
                                        "<|mdm_mask|>",
                                        "\u00A0",
                                        "\u200B",
                                        "\u3000",
                                        "\n\n",
                                        "…",
                                        "\"",
                                        "\\"};

class Maker {
 public:
  explicit Maker(unsigned seed) : engine_(seed) {}

  Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }

  std::string text(Index pieces) {
    std::string out = "x";  // so that it is not empty and starts with no space
    for (Index i = 0; i < pieces; ++i) {
      out += kPieces[static_cast<std::size_t>(below(std::ssize(kPieces)))];
      if (below(2) == 0) out += ' ';
    }
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

// An item, its passages once more as sentences, and which sentence of a gold passage is the evidence.
struct Sample {
  QaItem item;
  std::vector<std::vector<std::string>> sentences;
  std::vector<Index> wanted;
};

Sample make_sample(Maker& maker, Index number, Index passages) {
  Sample made{.item = {.id = std::to_string(number), .question = maker.text(6), .answers = {maker.text(1)}}};
  for (Index p = 0; p < passages; ++p) {
    QaPassage passage{.title = "t" + std::to_string(p), .gold = maker.below(2) == 0};
    std::vector<std::string> sentences;
    const Index count = 1 + maker.below(3), wanted = maker.below(count);
    for (Index s = 0; s < count; ++s) {
      const std::string sentence = maker.text(4) + ".";
      if (s > 0) passage.text += ' ';
      const Index begin = count_code_points(passage.text);
      passage.text += sentence;
      if (passage.gold && s == wanted) passage.evidence = {{begin, count_code_points(passage.text)}};
      sentences.push_back((s > 0 ? " " : "") + sentence);
    }
    made.sentences.push_back(std::move(sentences));
    made.wanted.push_back(wanted);
    made.item.passages.push_back(std::move(passage));
  }
  return made;
}

// A sample as a record of each format. What the format cannot say is taken out of the sample.
Json buoy_record(Sample& sample) {
  Json passages = Json::array();
  for (const QaPassage& passage : sample.item.passages) {
    Json made = {{"title", passage.title}, {"text", passage.text}, {"gold", passage.gold}};
    made["evidence"] = Json::array();
    for (const TextSpan& span : passage.evidence) {
      made["evidence"].push_back(Json::array({span.begin, span.end}));
    }
    passages.push_back(made);
  }
  return {{"id", sample.item.id},
          {"question", sample.item.question},
          {"answers", sample.item.answers},
          {"passages", passages}};
}

Json kilt_record(Sample& sample) {
  Json passages = Json::array(), output = Json::array();
  output.push_back({{"answer", sample.item.answers[0]}});
  for (QaPassage& passage : sample.item.passages) {
    passages.push_back({{"title", passage.title}, {"segment", passage.text}});
    passage.gold = false;
    passage.evidence.clear();
  }
  return {{"id", sample.item.id}, {"input", sample.item.question}, {"output", output}, {"passage", passages}};
}

Json lost_in_the_middle_record(Sample& sample) {
  Json passages = Json::array();
  for (QaPassage& passage : sample.item.passages) {
    passages.push_back({{"title", passage.title}, {"text", passage.text}, {"isgold", passage.gold}});
    passage.evidence.clear();
  }
  return {{"id", sample.item.id},
          {"question", sample.item.question},
          {"answers", sample.item.answers},
          {"ctxs", passages}};
}

Json squad_article(Sample& sample) {
  QaPassage& passage = sample.item.passages.at(0);
  passage.gold = true;
  passage.evidence.clear();
  Json answers = Json::array(), questions = Json::array(), paragraphs = Json::array();
  answers.push_back({{"text", sample.item.answers[0]}});
  questions.push_back({{"id", sample.item.id}, {"question", sample.item.question}, {"answers", answers}});
  paragraphs.push_back({{"context", passage.text}, {"qas", questions}});
  return {{"title", passage.title}, {"paragraphs", paragraphs}};
}

Json hotpotqa_record(Sample& sample) {
  Json context = Json::array(), facts = Json::array();
  for (std::size_t p = 0; p < sample.item.passages.size(); ++p) {
    const QaPassage& passage = sample.item.passages[p];
    context.push_back(Json::array({passage.title, sample.sentences[p]}));
    if (passage.gold) facts.push_back(Json::array({passage.title, sample.wanted[p]}));
  }
  return {{"_id", sample.item.id},
          {"question", sample.item.question},
          {"answer", sample.item.answers[0]},
          {"supporting_facts", facts},
          {"context", context}};
}

// A file of samples in a format; the samples then are what a reader should find there.
std::string file_of(DatasetFormat format, std::vector<Sample>& samples) {
  Json list = Json::array();
  std::string lines;
  for (Sample& sample : samples) {
    switch (format) {
      case DatasetFormat::kBuoy:
        lines += buoy_record(sample).dump() + "\n";
        break;
      case DatasetFormat::kKilt:
        lines += kilt_record(sample).dump() + "\n";
        break;
      case DatasetFormat::kLostInTheMiddle:
        lines += lost_in_the_middle_record(sample).dump() + "\n";
        break;
      case DatasetFormat::kSquad:
        list.push_back(squad_article(sample));
        break;
      case DatasetFormat::kHotpotqa:
        list.push_back(hotpotqa_record(sample));
        break;
      default:  // those of dataset_public_test.cc
        break;
    }
  }
  if (format == DatasetFormat::kSquad) return Json({{"data", list}}).dump();
  return list.empty() ? lines : list.dump();
}

void expect_same(const QaItem& got, const QaItem& want) {
  EXPECT_EQ(got.id, want.id);
  EXPECT_EQ(got.question, want.question);
  EXPECT_EQ(got.answers, want.answers);
  ASSERT_EQ(got.passages.size(), want.passages.size());
  for (std::size_t p = 0; p < want.passages.size(); ++p) {
    EXPECT_EQ(got.passages[p].title, want.passages[p].title);
    EXPECT_EQ(got.passages[p].text, want.passages[p].text);
    EXPECT_EQ(got.passages[p].gold, want.passages[p].gold);
    EXPECT_EQ(got.passages[p].evidence, want.passages[p].evidence);
  }
}

std::string span_of(const std::string& text, const TextSpan& span) {
  std::string out;
  Index character = 0;
  for (Index byte = 0; byte < std::ssize(text); ++character) {
    const CodePoint c = code_point_at(text, byte);
    byte += c.length;
    if (span.begin <= character && character < span.end) append_utf8(out, c.value);
  }
  return out;
}

void expect_regions_of_characters(const PromptText& prompt, const QaItem& item) {
  expect_covered(prompt);
  EXPECT_EQ(text_of(prompt, RegionKind::kQuery, 0), item.question);
  ASSERT_EQ(prompt.documents.size(), item.passages.size());
  for (Index n = 1; n <= std::ssize(item.passages); ++n) {
    const QaPassage& passage = item.passages[static_cast<std::size_t>(n - 1)];
    EXPECT_TRUE(text_of(prompt, RegionKind::kDocument, n).ends_with(passage.text));
    const std::string evidence = !passage.evidence.empty() ? span_of(passage.text, passage.evidence[0])
                                 : passage.gold            ? passage.text
                                                           : "";
    EXPECT_EQ(evidence_of(prompt, n), evidence);
  }
}

// Every token has one region, and that region owns one of the token's characters.
void expect_regions_of_tokens(const Tokenizer& tokenizer, const PromptText& prompt) {
  const TokenizedPrompt tokens = tokenize_prompt(tokenizer, prompt, nullptr);
  const Encoding encoding = tokenizer.encode_with_spans(prompt.text, SpecialTokens::kAdd);
  const RegionMap& map = tokens.layout.regions;
  EXPECT_EQ(tokens.ids, encoding.ids);
  ASSERT_EQ(map.of.size(), encoding.ids.size());
  ASSERT_EQ(tokens.layout.evidence.size(), encoding.ids.size());
  const std::vector<RegionSpan> spans = map.spans();
  EXPECT_EQ(RegionMap::from_spans(map.regions, spans, std::ssize(map.of), "t").of, map.of);
  for (std::size_t i = 0; i < map.of.size(); ++i) {
    const TokenSpan span = encoding.spans[i];
    const Region& region = map.regions.at(static_cast<std::size_t>(map.of[i]));
    const auto owns = [&](const PromptPart& part) {
      return part.begin < span.end && span.begin < part.end && part.kind == region.kind &&
             part.document == region.document;
    };
    const bool is_bos = i == 0;
    EXPECT_EQ(region.kind == RegionKind::kBos, is_bos);
    EXPECT_TRUE(is_bos || std::ranges::any_of(prompt.parts, owns)) << "token " << i << " of " << prompt.text;
  }
}

std::vector<PromptTemplate> all_templates() {
  std::vector<PromptTemplate> all;
  for (const BundledTemplate& bundled : bundled_templates()) {
    all.push_back(PromptTemplate::find(std::string(bundled.name)));
  }
  all.push_back(PromptTemplate::parse("{{é {question}{for passage}{title}{text}{end}👍", "one's own"));
  return all;
}

class Regions : public testing::TestWithParam<DatasetFormat> {};

TEST_P(Regions, CoverEveryPromptAndEveryToken) {
  const DatasetFormat format = GetParam();
  const Tokenizer tokenizer = mini_tokenizer();
  const std::vector<PromptTemplate> templates = all_templates();
  Maker maker(2026u + static_cast<unsigned>(format));
  std::vector<Sample> samples;
  for (Index n = 0; n < kItemsPerFormat; ++n) {
    samples.push_back(make_sample(maker, n, format == DatasetFormat::kSquad ? 1 : maker.below(4)));
  }
  const TestFile file(".json", file_of(format, samples));
  Dataset dataset = open_dataset(file.path());
  EXPECT_EQ(dataset.format(), format);
  for (const Sample& sample : samples) {
    const auto item = dataset.next();
    ASSERT_TRUE(item);
    expect_same(*item, sample.item);
    for (const PromptTemplate& each : templates) {
      SCOPED_TRACE(each.name());
      const PromptText prompt = each.render(*item);
      expect_regions_of_characters(prompt, *item);
      expect_regions_of_tokens(tokenizer, prompt);
      for (const QueryPlace place : {QueryPlace::kBeforePassages, QueryPlace::kAfterPassages}) {
        const PromptText moved = each.render(*item, place);
        expect_regions_of_characters(moved, *item);
        EXPECT_EQ(moved.text.size(), prompt.text.size());
        if (moved.text != prompt.text) expect_regions_of_tokens(tokenizer, moved);
      }
    }
  }
  EXPECT_FALSE(dataset.next());
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Regions,
                         testing::Values(DatasetFormat::kBuoy, DatasetFormat::kKilt,
                                         DatasetFormat::kLostInTheMiddle, DatasetFormat::kSquad,
                                         DatasetFormat::kHotpotqa));

}  // namespace
}  // namespace buoy
