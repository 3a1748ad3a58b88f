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
    // The prompts of the evaluation published with the paper, byte for byte (tests/prompts).
    {.name = "attention-floating-llada",
     .about = "what the paper's evaluation asks LLaDA",
     .source = "Use the following passages as context if they are helpful, \n"
               "but provide a SHORT and DIRECT answer.\n\n"
               "RULES:\n"
               "- First, check the context passages for the answer\n"
               "- If the context contains the answer, use it\n"
               "- If not, use your general knowledge\n"
               "- Answer must be 1-10 words maximum\n"
               "- Do NOT include any explanations or extra text\n"
               "- Do NOT repeat or summarize the passages\n\n"
               "Context:\n"
               "{for passage}Passage {number}:\n{text}\n\n{end}"
               "{if passages}{else}Passage 1:\nNo relevant context available.\n\n{end}"
               "Question: {question}\n\n"
               "Short Answer:",
     .raw = false},
    {.name = "attention-floating-others",
     .about = "what the paper's evaluation asks Dream, Llama and Qwen",
     .source = "You are a helpful assistant that answers questions. \n\n"
               "INSTRUCTIONS:\n"
               "1. First, check if the answer is in the provided context passages\n"
               "2. If the answer is in the context, use it\n"
               "3. If the context doesn't contain the answer, use your general knowledge\n"
               "4. Always provide a direct, concise answer (typically 1-10 words)\n"
               "5. Do NOT include explanations, reasoning, or phrases like \"based on\" or \"according to\"\n"
               "6. Never say \"no answer found\" - always attempt to answer using available information\n\n"
               "Context:\n"
               "{for passage}Passage {number}:\n{text}\n\n{end}"
               "{if passages}{else}Passage 1:\nNo relevant context available.\n\n{end}"
               "Here are examples showing the expected answer format:\n\n"
               "Example 1:\n"
               "Context:\n"
               "Passage 1: The Eiffel Tower is located in Paris, France. It was completed in 1889.\n\n"
               "Question: Where is the Eiffel Tower located?\n"
               "Answer: Paris, France\n\n"
               "Example 2:\n"
               "Context:\n"
               "Passage 1: Albert Einstein was born on March 14, 1879 in Ulm, Germany.\n\n"
               "Question: When was Albert Einstein born?\n"
               "Answer: March 14, 1879\n\n"
               "Example 3:\n"
               "Context:\n"
               "Passage 1: The Great Wall of China stretches over 13,000 miles.\n\n"
               "Question: What is the capital of Japan?\n"
               "Answer: Tokyo\n"
               "(Note: This answer uses general knowledge since the context doesn't contain it)\n\n"
               "---\n\n"
               "Now answer the following question in the same concise format:\n\n"
               "Question: {question}\n"
               "Answer:",
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

  bool raw() const { return raw_; }

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
    } else if (name == "else") {
      if (scope_ != Scope::kWithPassages) complain("{else} outside of {if passages}");
      close_block(Scope::kWithoutPassages);
    } else if (name == "no chat") {
      if (scope_ != Scope::kAlways) complain("{no chat} inside a block");
      raw_ = true;
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
          "{} is unknown here; known: {{question}}, {{for passage}} with {{number}}, {{title}} and "
          "{{text}}, {{if passages}}, {{else}}, {{end}}, {{no chat}}",
          quote(fmt::format("{{{}}}", name))));
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
  bool has_question_ = false, raw_ = false;
};

PromptTemplate PromptTemplate::parse(std::string_view source, const std::string& place) {
  if (const auto bad = find_invalid_utf8(source)) fail("{}: is not UTF-8 at byte {}", place, *bad);
  PromptTemplate made;
  TemplateParser parser(source, place);
  made.blocks_ = parser.parse();
  made.raw_ = parser.raw();
  made.name_ = place;
  made.source_ = source;
  return made;
}

PromptTemplate PromptTemplate::find(const std::string& name_or_path) {
  const auto found = std::ranges::find(kBundled, std::string_view(name_or_path), &BundledTemplate::name);
  if (found != std::end(kBundled)) {
    PromptTemplate made = parse(found->source, name_or_path);
    made.raw_ = made.raw_ || found->raw;
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
