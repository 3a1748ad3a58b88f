#include "buoy/text/pretokenizer.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

struct MarkedRange {
  ByteRange range;
  bool is_match = false;
};

// Matches and what lies between them, covering the text.
std::vector<MarkedRange> mark(PatternScanner& scanner, std::string_view text, bool invert) {
  std::vector<MarkedRange> marked;
  Index done = 0;
  scanner.start(text);
  while (const std::optional<ByteRange> found = scanner.next()) {
    if (done < found->begin) marked.push_back({{done, found->begin}, invert});
    if (found->size() > 0) marked.push_back({*found, !invert});
    done = found->end;
  }
  if (done < std::ssize(text)) marked.push_back({{done, std::ssize(text)}, invert});
  return marked;
}

// Joins each match to the range before it, unless that one is a match too.
void merge_with_previous(const std::vector<MarkedRange>& marked, std::vector<ByteRange>& out) {
  bool previous_was_match = false;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i].is_match && !previous_was_match && i > 0) {
      out.back().end = marked[i].range.end;
    } else {
      out.push_back(marked[i].range);
    }
    previous_was_match = marked[i].is_match;
  }
}

void merge_with_next(const std::vector<MarkedRange>& marked, std::vector<ByteRange>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  bool next_was_match = false;
  for (std::size_t i = marked.size(); i-- > 0;) {
    if (marked[i].is_match && !next_was_match && i + 1 < marked.size()) {
      out.back().begin = marked[i].range.begin;
    } else {
      out.push_back(marked[i].range);
    }
    next_was_match = marked[i].is_match;
  }
  std::reverse(out.begin() + first, out.end());
}

void merge_equal_neighbours(const std::vector<MarkedRange>& marked, std::vector<ByteRange>& out) {
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (i > 0 && marked[i].is_match == marked[i - 1].is_match) {
      out.back().end = marked[i].range.end;
    } else {
      out.push_back(marked[i].range);
    }
  }
}

void arrange(const std::vector<MarkedRange>& marked, SplitBehavior behavior, std::vector<ByteRange>& out) {
  switch (behavior) {
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(marked, out);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(marked, out);
    case SplitBehavior::kContiguous:
      return merge_equal_neighbours(marked, out);
    case SplitBehavior::kRemoved:
    case SplitBehavior::kIsolated:
      for (const MarkedRange& range : marked) {
        if (!range.is_match || behavior == SplitBehavior::kIsolated) out.push_back(range.range);
      }
  }
}

std::string_view slice(std::string_view text, ByteRange range) {
  return text.substr(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

std::vector<ByteRange> split_all(const SplitStep& step, PatternScanner& scanner, const Pieces& pieces) {
  std::vector<ByteRange> out;
  out.reserve(pieces.text.bytes.size() / 4);
  std::vector<ByteRange> local;
  for (const ByteRange& piece : pieces.ranges) {
    local.clear();
    arrange(mark(scanner, slice(pieces.text.bytes, piece), step.invert), step.behavior, local);
    for (const ByteRange& range : local) out.push_back({piece.begin + range.begin, piece.begin + range.end});
  }
  return out;
}

// The added space comes from nowhere: its span is empty, at the piece's first character.
Pieces add_prefix_spaces(const Pieces& pieces) {
  Pieces out;
  for (const ByteRange& piece : pieces.ranges) {
    const Index begin = std::ssize(out.text.bytes);
    const std::string_view bytes = slice(pieces.text.bytes, piece);
    const bool track = !pieces.text.origin.empty();
    if (!bytes.starts_with(' ')) {
      out.text.bytes += ' ';
      if (track) {
        const Index place = pieces.text.origin[static_cast<std::size_t>(piece.begin)].begin;
        out.text.origin.push_back({place, place});
      }
    }
    out.text.bytes += bytes;
    if (track) {
      const auto first = pieces.text.origin.begin() + piece.begin;
      out.text.origin.insert(out.text.origin.end(), first, first + piece.size());
    }
    out.ranges.push_back({begin, std::ssize(out.text.bytes)});
  }
  return out;
}

SplitBehavior parse_behavior(const std::string& name, const std::string& place) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  fail(
      "{}: behavior {} is not known (known: Removed, Isolated, MergedWithPrevious, MergedWithNext, "
      "Contiguous)",
      place, quote(name));
}

SplitStep parse_split(const JsonObject& object) {
  const Json* pattern = object.find("pattern");
  if (pattern == nullptr) fail("{}: \"pattern\" is missing", object.place());
  const JsonObject source(*pattern, object.place() + ".pattern");
  const PatternKind kind = source.has("Regex") ? PatternKind::kExpression : PatternKind::kLiteral;
  const std::string text = source.string(kind == PatternKind::kExpression ? "Regex" : "String");
  return {.pattern = Pattern(text, kind, source.place()),
          .behavior = parse_behavior(object.string("behavior"), object.place()),
          .invert = object.boolean_or("invert", false)};
}

void parse_step(const Json& value, const std::string& place, std::vector<PreTokenizerStep>& steps,
                bool& byte_level) {
  const JsonObject object(value, place);
  const std::string type = object.string("type");
  if (byte_level) fail("{}: type {} stands after ByteLevel, which must be the last", place, quote(type));
  if (type == "Split") {
    steps.emplace_back(parse_split(object));
  } else if (type == "ByteLevel") {
    byte_level = true;
    if (object.boolean_or("add_prefix_space", false)) steps.emplace_back(PrefixSpaceStep{});
    if (object.boolean_or("use_regex", true)) {
      steps.emplace_back(SplitStep{.pattern = Pattern(kGpt2Pattern, PatternKind::kExpression, place)});
    }
  } else {
    fail("{}: type {} is not known (known: Split, ByteLevel, Sequence)", place, quote(type));
  }
}

}  // namespace

PreTokenizer PreTokenizer::parse(const Json* value, const std::string& place) {
  if (value == nullptr) fail("{}: is missing; expected a ByteLevel", place);
  const JsonObject object(*value, place);
  std::vector<PreTokenizerStep> steps;
  bool byte_level = false;
  if (object.string_or("type", "") == "Sequence") {
    const Json* list = object.find("pretokenizers");
    if (list == nullptr || !list->is_array()) fail("{}: \"pretokenizers\" is missing or not an array", place);
    for (std::size_t i = 0; i < list->size(); ++i) {
      parse_step((*list)[i], fmt::format("{}.pretokenizers[{}]", place, i), steps, byte_level);
    }
  } else {
    parse_step(*value, place, steps, byte_level);
  }
  if (!byte_level) fail("{}: has no ByteLevel; only byte-level tokenizers are known", place);
  return PreTokenizer(std::move(steps));
}

PreTokenizer::Scanners::Scanners(const PreTokenizer& owner) {
  for (const PreTokenizerStep& step : owner.steps_) {
    const auto* split = std::get_if<SplitStep>(&step);
    scanners_.push_back(split == nullptr ? nullptr : std::make_unique<PatternScanner>(split->pattern));
  }
}

Pieces PreTokenizer::split(AlignedText text, Scanners& scanners) const {
  Pieces pieces;
  if (!text.bytes.empty()) pieces.ranges.push_back({0, std::ssize(text.bytes)});
  pieces.text = std::move(text);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (const auto* split = std::get_if<SplitStep>(&steps_[i])) {
      pieces.ranges = split_all(*split, *scanners.scanners_[i], pieces);
    } else {
      pieces = add_prefix_spaces(pieces);
    }
  }
  return pieces;
}

}  // namespace buoy
