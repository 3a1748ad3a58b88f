#include "buoy/text/tokenizer.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/text/test_support.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

using Ids = std::vector<TokenId>;
using Spans = std::vector<TokenSpan>;

// A tokenizer of its own, which stays when the bundled models are trained anew.
const std::filesystem::path kGoldens = source_path("tests/text/goldens");
const std::filesystem::path kMini = kGoldens / "mini";

Tokenizer small() {
  return make_tokenizer(small_tokenizer({"Ġ t", "h e", "Ġt he"}));
}

TEST(Tokenizer, AnswersAsTheReferenceDoesForTheMiniModel) {
  const Tokenizer tokenizer = Tokenizer::load(kMini);
  const Json goldens = read_json_file(kGoldens / "mini.json");
  ASSERT_GE(goldens.size(), 150u);
  for (const Json& golden : goldens) {
    const std::string text = golden["text"].get<std::string>();
    const Encoding encoding = tokenizer.encode_with_spans(text, SpecialTokens::kAdd);
    EXPECT_EQ(encoding.ids, golden["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.encode(text, SpecialTokens::kAdd), encoding.ids);
    EXPECT_EQ(tokenizer.decode(golden["cut"].get<Ids>(), SkipSpecial::kKeep),
              golden["decoded"].get<std::string>());
  }
}

TEST(Tokenizer, KnowsTheRolesOfTokens) {
  const Tokenizer tokenizer = Tokenizer::load(kMini);
  EXPECT_EQ(tokenizer.bos_id(), 0);
  EXPECT_EQ(tokenizer.eos_id(), 1);
  EXPECT_EQ(tokenizer.mask_id(), 2);
  EXPECT_EQ(tokenizer.pad_id(), 3);
  EXPECT_EQ(tokenizer.vocab_size(), 2048);
  EXPECT_EQ(tokenizer.id_of("<|mdm_mask|>"), 2);
  EXPECT_FALSE(tokenizer.id_of("no such token"));
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_FALSE(tokenizer.is_special(4));
}

TEST(Tokenizer, EncodesMergesWithinPieces) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.encode("the the", SpecialTokens::kNone), (Ids{'t', 257, 258}));
  EXPECT_EQ(tokenizer.encode("", SpecialTokens::kNone), Ids{});
  EXPECT_EQ(tokenizer.token_text(258), " the");
  EXPECT_EQ(tokenizer.id_of("Ġthe"), 258);
}

TEST(Tokenizer, MergesMayBePairs) {
  Json json = small_tokenizer({"h e"});
  json["model"]["merges"] = Json::array({Json::array({"h", "e"})});
  EXPECT_EQ(make_tokenizer(json).encode("he", SpecialTokens::kNone), Ids{256});
}

TEST(Tokenizer, SpecialTokensInTheTextAreFound) {
  Json json = small_tokenizer();
  json["added_tokens"] = Json::array({added_token(256, "<|x|>")});
  const Tokenizer tokenizer = make_tokenizer(json);
  EXPECT_EQ(tokenizer.encode("a<|x|>b<|x", SpecialTokens::kNone), (Ids{'a', 256, 'b', '<', '|', 'x'}));
  EXPECT_EQ(tokenizer.decode(Ids{'a', 256, 'b'}, SkipSpecial::kKeep), "a<|x|>b");
  EXPECT_EQ(tokenizer.decode(Ids{'a', 256, 'b'}, SkipSpecial::kSkip), "ab");
}

TEST(Tokenizer, NormalizedAddedTokensAreFoundAfterNormalising) {
  Json json = small_tokenizer();
  json["normalizer"] = {{"type", "NFC"}};
  Json token = added_token(256, "e\u0323");
  token["normalized"] = true;
  json["added_tokens"] = Json::array({token});
  const Tokenizer tokenizer = make_tokenizer(json);
  const Encoding encoding = tokenizer.encode_with_spans("xe\u0323\u1EB9y", SpecialTokens::kNone);
  EXPECT_EQ(encoding.ids, (Ids{'x', 256, 256, 'y'}));
  EXPECT_EQ(encoding.spans, (Spans{{0, 1}, {1, 3}, {3, 4}, {4, 5}}));
}

TEST(Tokenizer, PostProcessorPutsTokensOnBothSides) {
  Json json = small_tokenizer();
  json["added_tokens"] = Json::array({added_token(256, "<s>"), added_token(257, "</s>")});
  const auto special = [](const char* id) { return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  json["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       {{{"type", "ByteLevel"}},
        {{"type", "TemplateProcessing"},
         {"single", {special("<s>"), {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, special("</s>")}},
         {"special_tokens", {{"<s>", {{"ids", {256}}}}, {"</s>", {{"ids", {257}}}}}}}}}};
  const Tokenizer tokenizer = make_tokenizer(json);
  const Encoding encoding = tokenizer.encode_with_spans("é", SpecialTokens::kAdd);
  EXPECT_EQ(encoding.ids, (Ids{256, 0xC3, 0xA9, 257}));
  EXPECT_EQ(encoding.spans, (Spans{{0, 0}, {0, 1}, {0, 1}, {1, 1}}));
  EXPECT_EQ(tokenizer.encode("é", SpecialTokens::kNone), (Ids{0xC3, 0xA9}));
}

TEST(Tokenizer, SpansCountCodePointsOfTheOriginal) {
  const Tokenizer tokenizer = small();
  const Encoding encoding = tokenizer.encode_with_spans("😀 the", SpecialTokens::kNone);
  EXPECT_EQ(encoding.ids, (Ids{0xF0, 0x9F, 0x98, 0x80, 258}));
  EXPECT_EQ(encoding.spans, (Spans{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 5}}));
}

TEST(Tokenizer, BrokenUtf8CountsAsReplacementCharacters) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.encode("a\xFF", SpecialTokens::kNone), (Ids{'a', 0xEF, 0xBF, 0xBD}));
}

TEST(Tokenizer, TokenTextShowsLoneBytes) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.token_text('a'), "a");
  EXPECT_EQ(tokenizer.token_text(0xE2), "<0xE2>");
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreErrors) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(error_of([&] { tokenizer.decode(Ids{259}, SkipSpecial::kKeep); }),
            "tokenizer: id 259 is outside the vocabulary of 259 tokens");
  EXPECT_NE(error_of([&] { tokenizer.token_text(-1); }), "");
  EXPECT_FALSE(tokenizer.contains(-1));
  EXPECT_TRUE(tokenizer.contains(258));
}

TEST(Tokenizer, StreamingGivesTheSameTextWithoutSplittingACharacter) {
  const Tokenizer tokenizer = Tokenizer::load(kMini);
  const std::string text = "Wörter 漢字 👩‍💻 <|eos|>!";
  Ids ids = tokenizer.encode(text, SpecialTokens::kAdd);
  ids.erase(ids.begin() + 3);
  ids.insert(ids.begin() + 9, tokenizer.id_of("<|eos|>").value());
  for (const SkipSpecial skip : {SkipSpecial::kKeep, SkipSpecial::kSkip}) {
    StreamDecoder decoder(tokenizer, skip);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string part = decoder.push(id);
      EXPECT_FALSE(find_invalid_utf8(part));
      joined += part;
    }
    joined += decoder.finish();
    EXPECT_EQ(joined, tokenizer.decode(ids, skip));
  }
}

TEST(Tokenizer, ThreadsShareOne) {
  const Tokenizer tokenizer = Tokenizer::load(kMini);
  const std::string text = "The lighthouse keeper of Varn wrote 3 letters.";
  const Ids expected = tokenizer.encode(text, SpecialTokens::kAdd);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(tokenizer.encode(text, SpecialTokens::kAdd), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct BadFile {
  const char* name;
  Json patch;  // merged into a good file
  const char* message;
};

TEST(TokenizerFiles, SayWhatIsWrong) {
  const std::vector<BadFile> files = {
      {"another model",
       {{"model", {{"type", "WordPiece"}}}},
       "t.json: model: type \"WordPiece\" is not known (known: BPE)"},
      {"another decoder",
       {{"decoder", {{"type", "WordPiece"}}}},
       "t.json: decoder: type \"WordPiece\" is not known (known: ByteLevel)"},
      {"another post-processor",
       {{"post_processor", {{"type", "BertProcessing"}}}},
       "t.json: post_processor: type \"BertProcessing\" is not known (known: TemplateProcessing, ByteLevel, "
       "Sequence)"},
      {"a merge of nothing",
       {{"model", {{"merges", {"q q"}}}}},
       "t.json: model: merge 0 names \"qq\", which is not in the vocabulary"},
      {"a merge of three",
       {{"model", {{"merges", {"a b c"}}}}},
       "t.json: model.merges: merge 0 is \"a b c\", expected \"left right\" or [\"left\", \"right\"]"},
      {"byte fallback",
       {{"model", {{"byte_fallback", true}}}},
       "t.json: model: byte_fallback is not supported"},
      {"a suffix",
       {{"model", {{"end_of_word_suffix", "</w>"}}}},
       "t.json: model: end_of_word_suffix is \"</w>\", expected none in a byte-level model"},
      {"a clash of ids",
       {{"added_tokens", {added_token(5, "<x>")}}},
       "t.json: the added token \"<x>\" has id 5, which the vocabulary gives to another token"},
      {"an empty added token",
       {{"added_tokens", {added_token(900, "")}}},
       "t.json: the added token 900 has no content"},
  };
  for (const BadFile& file : files) {
    Json json = small_tokenizer();
    json.merge_patch(file.patch);
    EXPECT_EQ(error_of([&] { make_tokenizer(json); }), file.message) << file.name;
  }
  EXPECT_NE(error_of([] { Tokenizer::parse("{", "t.json"); }).find("t.json: not valid JSON"),
            std::string::npos);
  EXPECT_NE(error_of([] { Tokenizer::parse("[]", "t.json"); }).find("t.json"), std::string::npos);
}

// A directory that is gone when the test ends.
class Folder {
 public:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / ("buoy_text_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(TokenizerFiles, VocabAndMergesGiveTheSameTokenizer) {
  const Folder folder;
  const Json fast = small_tokenizer({"Ġ t", "h e", "Ġt he", "Ã ©"});
  folder.write("vocab.json", fast["model"]["vocab"].dump());
  folder.write("merges.txt", "#version: 0.2\nĠ t\nh e\r\nĠt he\nÃ ©\n");
  folder.write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "DreamTokenizer", "eos_token": "<|endoftext|>", "mask_token": {"content": "<|mask|>"},
                   "added_tokens_decoder": {"300": {"content": "<|endoftext|>", "special": true},
                                            "301": {"content": "<|mask|>", "special": true}}})");
  EXPECT_TRUE(Tokenizer::present(folder.path()));
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  // NFC, single digits, and contractions in any case, as Qwen2's code has them.
  EXPECT_EQ(tokenizer.encode(" the<|mask|>e\u0301", SpecialTokens::kAdd), (Ids{258, 301, 259}));
  EXPECT_EQ(tokenizer.eos_id(), 300);
  EXPECT_EQ(tokenizer.mask_id(), 301);
  EXPECT_EQ(tokenizer.vocab_size(), 302);
}

TEST(TokenizerFiles, VocabNeedsAClassThatIsKnown) {
  const Folder folder;
  EXPECT_FALSE(Tokenizer::present(folder.path()));
  EXPECT_NE(error_of([&] { Tokenizer::load(folder.path()); }).find("has no tokenizer.json"),
            std::string::npos);
  folder.write("vocab.json", "{}");
  folder.write("merges.txt", "");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_NE(error_of([&] { Tokenizer::load(folder.path()); })
                .find("tokenizer_class \"BertTokenizer\" is not known with vocab.json and merges.txt (known: "
                      "Qwen2Tokenizer"),
            std::string::npos);
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>"})");
  EXPECT_NE(error_of([&] { Tokenizer::load(folder.path()); }).find("bos_token is \"<s>\", which is neither"),
            std::string::npos);
  folder.write("merges.txt", "a b c\n");
  EXPECT_NE(error_of([&] { Tokenizer::load(folder.path()); }).find("merges.txt:1: got"), std::string::npos);
}

}  // namespace
}  // namespace buoy
