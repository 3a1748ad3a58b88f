// Prompts as templates with regions: every character of a prompt belongs to the template, the query or a
// passage.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/corpus/dataset.h"
#include "buoy/probe/region.h"

namespace buoy {

// What a run remembers of the code that makes prompts: to be raised when the same template and item give
// other words or other tokens than before (PromptCode.* in prompt_test.cc says when).
inline constexpr Index kPromptCode = 1;

// A stretch of a prompt. Parts follow one another without gaps.
struct PromptPart {
  Index begin = 0, end = 0;  // code points
  RegionKind kind = RegionKind::kTemplate;
  Index document = 0;  // from 1; 0: no passage
  bool evidence =
      false;  // of a gold passage: what states a needed fact, or all of it where nothing is marked
};

struct PromptText {
  std::string text;
  std::vector<PromptPart> parts;
  std::vector<Region> documents;  // one for each passage, gold or not
};

// Where the question stands: as the template has it, or on a given side of the passages.
enum class QueryPlace { kAsWritten, kBeforePassages, kAfterPassages };

// A prompt's own words, with places for an item's:
//   {question}                                the question
//   {for passage} … {end}                     once for each passage, with {number}, {title} and {text}
//   {if passages} … {else} … {end}            only where the item has passages, and where it has none
//   {no chat}                                 nothing; the text is the whole prompt even for a chat model
//   {{ and }}                                 braces
// Immutable.
class PromptTemplate {
 public:
  // `place` starts every error message. Throws Error naming the line of an unknown or unclosed place, and
  // when there is no {question}.
  static PromptTemplate parse(std::string_view source, const std::string& place);

  // A bundled template by name, or a file's path. Throws Error listing the bundled names.
  static PromptTemplate find(const std::string& name_or_path);

  // Where the question is to stand on the other side of the passages, its line and the passages, with what is
  // in {if passages} next to them, change places; what stands between them stays. An item without passages
  // has nothing to change. Throws UsageError when the template cannot be laid out so: it has no passages,
  // asks the question twice, or asks it between two lists of passages.
  PromptText render(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const;

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  // The text is the whole prompt even where the model has a chat template.
  bool raw() const { return raw_; }

 private:
  enum class Kind { kText, kQuestion, kNumber, kTitle, kBody };
  enum class Scope { kAlways, kWithPassages, kWithoutPassages, kEachPassage };
  struct Piece {
    Kind kind;
    std::string text;  // of kText
  };
  struct Block {
    Scope scope;
    std::vector<Piece> pieces;
  };
  friend class TemplateParser;
  friend class PromptWriter;

  std::string name_, source_;
  bool raw_ = false;
  std::vector<Block> blocks_;
};

struct BundledTemplate {
  std::string_view name, about, source;
  bool raw;
};
std::span<const BundledTemplate> bundled_templates();

}  // namespace buoy
