#include "buoy/prompt/prompt_template.h"

#include <algorithm>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr BundledTemplate kBundled[] = {
    {.name = "unified",
     .about = "one zero-shot prompt for every model",
     .source = "{if passages}Use the passages below to answer the question.\n\n{end}"
               "{for passage}Passage {number}: {text}\n\n{end}"
               "Question: {question}\n"
               "Give only the answer itself, as few words as possible.\nAnswer:",
     .raw = false},
    {.name = "fewshot",
     .about = "unified after three worked examples",
     .source = "Three questions, each answered in as few words as possible.\n\n"
               "Question: Which river flows past the old mill of Brenwick?\nAnswer: Sallow\n\n"
               "Question: In what year did Odra Tennel finish her map of the northern bays?\nAnswer: 1846\n\n"
               "Question: Who wrote the song \"Lanterns over Quill\"?\nAnswer: Ivo Marest\n\n"
               "{if passages}Use the passages below to answer the question.\n\n{end}"
               "{for passage}Passage {number}: {text}\n\n{end}"
               "Question: {question}\n"
               "Give only the answer itself, as few words as possible.\nAnswer:",
     .raw = false},
    {.name = "micro",
     .about = "what the bundled models were trained on; never put into a chat template",
     .source = "{if passages}Context:\n{end}{for passage}Passage {number}: {text}\n{end}"
               "{if passages}\n{end}Question: {question}\nShort Answer:",
     .raw = true},
    {.name = "attention-floating",
     .about = "the form that the scripts published with the paper look for",
     .source = "Query: {question}{if passages}\n\nPassages:{end}{for passage}\n[{number}] {text}{end}",
     .raw = false},
};

}  // namespace

std::span<const BundledTemplate> bundled_templates() {
  return kBundled;
}

// Reads a template's source from left to right; one open block at a time.
class TemplateParser {
 public:
  TemplateParser(std::string_view source, const std::string& place) : source_(source), place_(place) {}

  std::vector<PromptTemplate::Block> parse() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const bool doubled = at_ + 1 < source_.size() && source_[at_ + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        literal_ += c;
        at_ += 2;
      } else if (c == '}') {
        complain("\"}\" without \"{\" before it; write }} for a brace");
      } else if (c == '{') {
        place_holder();
      } else {
        literal_ += c;
        ++at_;
      }
    }
    if (scope_ != Scope::kAlways) complain("a block has no {end}");
    close_block(Scope::kAlways);
    if (!has_question_) complain("{question} does not occur");
    return std::move(blocks_);
  }

 private:
  using Kind = PromptTemplate::Kind;
  using Scope = PromptTemplate::Scope;

  [[noreturn]] void complain(std::string_view what) const {
    fail("{}: line {}: {}", place_,
         1 + std::count(source_.begin(), source_.begin() + static_cast<Index>(at_), '\n'), what);
  }

  void place_holder() {
    const std::size_t end = source_.find('}', at_);
    if (end == source_.npos) complain("\"{\" without \"}\" after it; write {{ for a brace");
    const std::string_view name = source_.substr(at_ + 1, end - at_ - 1);
    const bool in_passage = scope_ == Scope::kEachPassage;
    if (name == "for passage" || name == "if passages") {
      if (scope_ != Scope::kAlways) complain("a block inside another");
      close_block(name == "for passage" ? Scope::kEachPassage : Scope::kWithPassages);
    } else if (name == "end") {
      if (scope_ == Scope::kAlways) complain("{end} without a block");
      close_block(Scope::kAlways);
    } else if (name == "question" && !in_passage) {
      add(Kind::kQuestion);
      has_question_ = has_question_ || scope_ == Scope::kAlways;
    } else if (name == "number" && in_passage) {
      add(Kind::kNumber);
    } else if (name == "title" && in_passage) {
      add(Kind::kTitle);
    } else if (name == "text" && in_passage) {
      add(Kind::kBody);
    } else {
      complain(fmt::format(
          "{{{}}} is unknown here; known: {{question}}, {{for passage}} with {{number}}, {{title}} and "
          "{{text}}, {{if passages}}, {{end}}",
          name));
    }
    at_ = end + 1;
  }

  void flush() {
    if (!literal_.empty()) pieces_.push_back({Kind::kText, std::exchange(literal_, {})});
  }
  void add(Kind kind) {
    flush();
    pieces_.push_back({kind, {}});
  }
  void close_block(Scope next) {
    flush();
    if (!pieces_.empty()) blocks_.push_back({scope_, std::exchange(pieces_, {})});
    scope_ = next;
  }

  std::string_view source_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::string literal_;
  Scope scope_ = Scope::kAlways;
  std::vector<PromptTemplate::Piece> pieces_;
  std::vector<PromptTemplate::Block> blocks_;
  bool has_question_ = false;
};

PromptTemplate PromptTemplate::parse(std::string_view source, const std::string& place) {
  if (const auto bad = find_invalid_utf8(source)) fail("{}: is not UTF-8 at byte {}", place, *bad);
  PromptTemplate made;
  made.blocks_ = TemplateParser(source, place).parse();
  made.name_ = place;
  made.source_ = source;
  return made;
}

PromptTemplate PromptTemplate::find(const std::string& name_or_path) {
  const auto found = std::ranges::find(kBundled, std::string_view(name_or_path), &BundledTemplate::name);
  if (found != std::end(kBundled)) {
    PromptTemplate made = parse(found->source, name_or_path);
    made.raw_ = found->raw;
    return made;
  }
  if (!std::filesystem::exists(name_or_path)) {
    std::string names;
    for (const BundledTemplate& b : kBundled) names += fmt::format("{}{}", names.empty() ? "" : ", ", b.name);
    fail("{}: no such prompt template; bundled are {}, or give a file", quote(name_or_path), names);
  }
  return parse(read_file(name_or_path), name_or_path);
}

}  // namespace buoy
