// An item's words in a template's places, and the question on the other side of the passages.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/prompt/prompt_template.h"
#include "buoy/text/utf8.h"

namespace buoy {

// A run of characters of one part, and the block of the template that it comes from.
struct PromptPiece {
  std::string text;
  PromptPart like;  // its begin and end are not set yet
  Index block = 0;
};

namespace {

using Pieces = std::vector<PromptPiece>;

// A passage's text, cut where evidence begins and ends.
void add_passage(Pieces& pieces, const QaPassage& passage, Index number, Index block) {
  const bool all = passage.gold && passage.evidence.empty();
  const auto is_evidence = [&](Index p) {
    return all || std::ranges::any_of(passage.evidence,
                                      [&](const TextSpan& s) { return s.begin <= p && p < s.end; });
  };
  Index position = 0, begin_byte = 0;
  bool evidence = is_evidence(0);
  const std::string_view text = passage.text;
  const auto flush = [&](Index end_byte) {
    pieces.push_back({.text = std::string(text.substr(static_cast<std::size_t>(begin_byte),
                                                      static_cast<std::size_t>(end_byte - begin_byte))),
                      .like = {.kind = RegionKind::kDocument, .document = number, .evidence = evidence},
                      .block = block});
    begin_byte = end_byte;
  };
  for (Index byte = 0; byte < std::ssize(text);) {
    if (is_evidence(position) != evidence) {
      flush(byte);
      evidence = !evidence;
    }
    byte += code_point_at(text, byte).length;
    ++position;
  }
  flush(std::ssize(text));
}

// Neighbours alike become one part.
PromptText join(const Pieces& pieces) {
  PromptText out;
  Index length = 0;
  for (const PromptPiece& piece : pieces) {
    if (piece.text.empty()) continue;
    PromptPart part = piece.like;
    part.begin = length;
    part.end = length += count_code_points(piece.text);
    out.text += piece.text;
    PromptPart* last = out.parts.empty() ? nullptr : &out.parts.back();
    const bool alike = last != nullptr && last->kind == part.kind && last->document == part.document &&
                       last->evidence == part.evidence;
    if (alike) {
      last->end = part.end;
    } else {
      out.parts.push_back(part);
    }
  }
  return out;
}

struct Range {
  Index begin = 0, end = 0;
};

bool is_blank(const PromptPiece& piece) {
  return piece.like.kind == RegionKind::kTemplate &&
         piece.text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// Every line end of the template's own words becomes a piece.
Pieces cut_lines(const Pieces& pieces) {
  Pieces out;
  for (const PromptPiece& piece : pieces) {
    if (piece.like.kind != RegionKind::kTemplate) {
      out.push_back(piece);
      continue;
    }
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const std::size_t length = rest.front() == '\n' ? 1 : std::min(rest.find('\n'), rest.size());
      out.push_back({.text = std::string(rest.substr(0, length)), .like = piece.like, .block = piece.block});
      rest.remove_prefix(length);
    }
  }
  return out;
}

// The pieces of the blocks first .. last without the white space around them.
Range pieces_of(const Pieces& pieces, Index first, Index last) {
  const auto inside = [&](const PromptPiece& p) { return first <= p.block && p.block <= last; };
  const auto begin = std::ranges::find_if(pieces, inside);
  Range range{.begin = begin - pieces.begin()};
  range.end = std::find_if_not(begin, pieces.end(), inside) - pieces.begin();
  while (range.begin < range.end && is_blank(pieces[static_cast<std::size_t>(range.begin)])) ++range.begin;
  while (range.begin < range.end && is_blank(pieces[static_cast<std::size_t>(range.end - 1)])) --range.end;
  return range;
}

// The line that piece `at` stands on, up to `other` where that is on the same line.
Range line_of(const Pieces& pieces, Index at, const Range& other) {
  const auto on_line = [&](Index i) {
    const bool in_other = other.begin <= i && i < other.end;
    return i >= 0 && i < std::ssize(pieces) && !in_other && pieces[static_cast<std::size_t>(i)].text != "\n";
  };
  Range line{.begin = at, .end = at + 1};
  while (on_line(line.begin - 1)) --line.begin;
  while (on_line(line.end)) ++line.end;
  return line;
}

Pieces swapped(const Pieces& pieces, const Range& first, const Range& second) {
  Pieces out(pieces.begin(), pieces.begin() + first.begin);
  const auto append = [&](Index begin, Index end) {
    out.insert(out.end(), pieces.begin() + begin, pieces.begin() + end);
  };
  append(second.begin, second.end);
  append(first.end, second.begin);
  append(first.begin, first.end);
  append(second.end, std::ssize(pieces));
  return out;
}

}  // namespace

// Lays an item out in a template.
class PromptWriter {
 public:
  using Kind = PromptTemplate::Kind;
  using Scope = PromptTemplate::Scope;
  using Block = PromptTemplate::Block;

  PromptWriter(const PromptTemplate& prompt, const QaItem& item) : prompt_(prompt), item_(item) {
    const Index passages = std::ssize(item.passages);
    for (Index b = 0; b < std::ssize(prompt.blocks_); ++b) {
      const Block& block = block_at(b);
      // Blocks of passages that follow one another stay apart: each runs over all passages.
      if (block.scope == Scope::kEachPassage) {
        for (Index n = 1; n <= passages; ++n) add_block(b, n);
      } else if (block.scope == Scope::kAlways || (block.scope == Scope::kWithPassages) == (passages > 0)) {
        add_block(b, 0);
      }
    }
  }

  void move_question(QueryPlace place) {
    if (place == QueryPlace::kAsWritten || item_.passages.empty()) return;
    const auto is_question = [](const PromptPiece& p) { return p.like.kind == RegionKind::kQuery; };
    if (std::ranges::count_if(pieces, is_question) > 1) complain("asks the question more than once");
    const Range blocks = passage_blocks();
    const Index asked = std::ranges::find_if(pieces, is_question)->block;
    if (blocks.begin <= asked && asked < blocks.end) complain("asks between two lists of passages");
    const bool is_before = asked < blocks.begin;
    if (is_before == (place == QueryPlace::kBeforePassages)) return;
    const Pieces cut = cut_lines(pieces);
    const Range passages = pieces_of(cut, blocks.begin, blocks.end - 1);
    if (passages.begin == passages.end) return;  // they show nothing that it could stand before
    const Range line = line_of(cut, std::ranges::find_if(cut, is_question) - cut.begin(), passages);
    pieces = is_before ? swapped(cut, line, passages) : swapped(cut, passages, line);
  }

  Pieces pieces;

 private:
  const Block& block_at(Index b) const { return prompt_.blocks_[static_cast<std::size_t>(b)]; }

  [[noreturn]] void complain(std::string_view why) const {
    fail_usage("template {}: {}, so the question cannot be put before or after the passages",
               quote(prompt_.name()), why);
  }

  void add_block(Index b, Index number) {
    const QaPassage* passage = number > 0 ? &item_.passages[static_cast<std::size_t>(number - 1)] : nullptr;
    const auto add = [&](const std::string& text, const PromptPart& like) {
      pieces.push_back({.text = text, .like = like, .block = b});
    };
    for (const PromptTemplate::Piece& piece : block_at(b).pieces) {
      switch (piece.kind) {
        case Kind::kText:
          add(piece.text, {});
          break;
        case Kind::kQuestion:
          add(item_.question, {.kind = RegionKind::kQuery});
          break;
        case Kind::kNumber:
          add(fmt::to_string(number), {});
          break;
        case Kind::kTitle:
          add(passage->title, {.kind = RegionKind::kDocument, .document = number});
          break;
        case Kind::kBody:
          add_passage(pieces, *passage, number, b);
          break;
      }
    }
  }

  // The blocks from the first to the last list of passages, and those in {if passages} next to them.
  Range passage_blocks() const {
    const Index count = std::ssize(prompt_.blocks_);
    Range range{.begin = count, .end = 0};
    for (Index b = 0; b < count; ++b) {
      if (block_at(b).scope != Scope::kEachPassage) continue;
      range.begin = std::min(range.begin, b);
      range.end = b + 1;
    }
    if (range.end == 0) complain("has no passages");
    while (range.begin > 0 && block_at(range.begin - 1).scope == Scope::kWithPassages) --range.begin;
    while (range.end < count && block_at(range.end).scope == Scope::kWithPassages) ++range.end;
    return range;
  }

  const PromptTemplate& prompt_;
  const QaItem& item_;
};

PromptText PromptTemplate::render(const QaItem& item, QueryPlace place) const {
  PromptWriter writer(*this, item);
  writer.move_question(place);
  PromptText out = join(writer.pieces);
  for (Index n = 1; n <= std::ssize(item.passages); ++n) {
    out.documents.push_back({.kind = RegionKind::kDocument,
                             .document = n,
                             .gold = item.passages[static_cast<std::size_t>(n - 1)].gold});
  }
  return out;
}

}  // namespace buoy
