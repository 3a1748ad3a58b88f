// Reads MicroWorld's sentences back into facts, from the text alone: the tests' witness against the
// generator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/world/world_tables.h"

namespace buoy::testing {

struct StatedFact {
  EntityKind kind;
  std::string_view key;  // the attribute's
  std::string name, value;
};

// The text between the fixed parts of `phrase`, if `sentence` has them all: what stands for {n} and {v}.
struct Matched {
  std::string name, value;
  std::size_t fixed = 0;  // characters of the phrase that are not blanks
};

inline std::optional<Matched> match(std::string_view phrase, std::string_view sentence) {
  const std::size_t open = phrase.find('{'), close = phrase.find('}');
  const std::size_t open2 = phrase.find('{', close), close2 = phrase.find('}', open2);
  const std::string_view before = phrase.substr(0, open),
                         between = phrase.substr(close + 1, open2 - close - 1),
                         after = phrase.substr(close2 + 1);
  if (!sentence.starts_with(before) || !sentence.ends_with(after)) return std::nullopt;
  const std::size_t at = sentence.find(between, before.size() + 1);
  if (at == std::string_view::npos || at + between.size() + after.size() >= sentence.size())
    return std::nullopt;
  std::string first(sentence.substr(before.size(), at - before.size()));
  const std::size_t second_at = at + between.size();
  std::string second(sentence.substr(second_at, sentence.size() - after.size() - second_at));
  const bool name_first = phrase[open + 1] == 'n';
  return Matched{name_first ? std::move(first) : second, name_first ? std::move(second) : first,
                 before.size() + between.size() + after.size()};
}

// The fact a sentence states: of all phrases that fit, the one with the most fixed text ("born in the year
// 1900" is no birthplace). Nothing for prose.
inline std::optional<StatedFact> read_sentence(std::string_view sentence) {
  std::optional<StatedFact> best;
  std::size_t most = 0;
  for (int k = 0; k < kEntityKinds; ++k) {
    const EntityKind kind = static_cast<EntityKind>(k);
    for (const Attribute& attribute : attributes_of(kind)) {
      for (Index p = 0; p < phrasing_count(attribute.sentences); ++p) {
        const auto found = match(attribute.sentences[static_cast<std::size_t>(p)], sentence);
        if (!found || found->fixed <= most) continue;
        most = found->fixed;
        best = StatedFact{kind, attribute.key, found->name, found->value};
      }
    }
  }
  return best;
}

inline std::vector<StatedFact> read_passage(std::string_view text) {
  std::vector<StatedFact> facts;
  while (!text.empty()) {
    const std::size_t end = text.find('.') + 1;
    if (auto fact = read_sentence(text.substr(0, end))) facts.push_back(std::move(*fact));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return facts;
}

}  // namespace buoy::testing
