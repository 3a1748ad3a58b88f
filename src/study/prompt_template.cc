#include "study/prompt_template.h"

#include <algorithm>

#include "base/error.h"
#include "io/file.h"
#include "io/json.h"
#include "text/utf8.h"

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

namespace {

// Appends text and keeps the parts in step with it; neighbours alike become one part.
class Writer {
 public:
  void add(std::string_view text, PromptPart like) {
    if (text.empty()) return;
    like.begin = length_;
    like.end = length_ += count_code_points(text);
    out.text += text;
    if (!out.parts.empty()) {
      PromptPart& last = out.parts.back();
      if (last.kind == like.kind && last.document == like.document && last.evidence == like.evidence) {
        last.end = like.end;
        return;
      }
    }
    out.parts.push_back(like);
  }

  // A passage's text, cut where evidence begins and ends.
  void add_passage(const QaPassage& passage, Index number) {
    const bool all = passage.gold && passage.evidence.empty();
    Index position = 0, begin_byte = 0;
    const auto is_evidence = [&](Index p) {
      return all || std::ranges::any_of(passage.evidence,
                                        [&](const TextSpan& s) { return s.begin <= p && p < s.end; });
    };
    bool evidence = is_evidence(0);
    const std::string_view text = passage.text;
    for (Index byte = 0; byte < std::ssize(text);) {
      if (is_evidence(position) != evidence) {
        flush(text, begin_byte, byte, number, evidence);
        begin_byte = byte;
        evidence = !evidence;
      }
      byte += code_point_at(text, byte).length;
      ++position;
    }
    flush(text, begin_byte, std::ssize(text), number, evidence);
  }

  PromptText out;

 private:
  void flush(std::string_view text, Index begin, Index end, Index number, bool evidence) {
    add(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
        {.kind = RegionKind::kDocument, .document = number, .evidence = evidence});
  }

  Index length_ = 0;
};

}  // namespace

PromptText PromptTemplate::render(const QaItem& item) const {
  Writer writer;
  const auto write_block = [&](const Block& block, Index number) {
    const QaPassage* passage = number > 0 ? &item.passages[static_cast<std::size_t>(number - 1)] : nullptr;
    for (const Piece& piece : block.pieces) {
      switch (piece.kind) {
        case Kind::kText:
          writer.add(piece.text, {});
          break;
        case Kind::kQuestion:
          writer.add(item.question, {.kind = RegionKind::kQuery});
          break;
        case Kind::kNumber:
          writer.add(fmt::to_string(number), {});
          break;
        case Kind::kTitle:
          writer.add(passage->title, {.kind = RegionKind::kDocument, .document = number});
          break;
        case Kind::kBody:
          writer.add_passage(*passage, number);
          break;
      }
    }
  };
  const Index passages = std::ssize(item.passages);
  // Blocks of passages that follow one another stay apart: each runs over all passages.
  for (const Block& block : blocks_) {
    if (block.scope == Scope::kEachPassage) {
      for (Index n = 1; n <= passages; ++n) write_block(block, n);
    } else if (block.scope == Scope::kAlways || passages > 0) {
      write_block(block, 0);
    }
  }
  for (Index n = 1; n <= passages; ++n) {
    writer.out.documents.push_back({.kind = RegionKind::kDocument,
                                    .document = n,
                                    .gold = item.passages[static_cast<std::size_t>(n - 1)].gold});
  }
  return std::move(writer.out);
}

}  // namespace buoy
