// Answers MicroWorld's questions from the passages' text alone: the tests' witness that an answer follows
// from what is written, by the rule the question states.
#pragma once

#include <map>
#include <set>

#include "buoy/world/world_item.h"
#include "buoy/world/world_test_support.h"

namespace buoy::testing {

struct Written {
  StatedFact fact;
  Index year = 0;  // of the record; 0 where the passage is none
};

inline constexpr std::string_view kUnclear = "(unclear)";  // nothing is stated, or two things are

class WorldReader {
 public:
  explicit WorldReader(const std::vector<Passage>& passages) {
    for (const Passage& passage : passages) {
      std::string_view text = passage.text;
      Index year = 0;
      if (text.starts_with("Record of ")) {
        year = std::stol(std::string(text.substr(10, 4)));
        text.remove_prefix(16);
      }
      for (StatedFact& fact : read_passage(text)) written_.push_back({std::move(fact), year});
    }
  }

  std::string answer(std::string question) const {
    for (const std::string_view start : {"Explain in a sentence: ", "In a full sentence: "}) {
      if (question.starts_with(start)) return sentence(question.substr(start.size()));
    }
    if (question.starts_with("Write about ")) return profile(question);
    if (question.starts_with("Name in alphabetical order ")) return list(question);
    if (const std::size_t at = question.find(" [SEP] "); at != std::string::npos) {
      return by_slot(question.substr(0, at), question.substr(at + 7)).second;
    }
    if (const std::size_t at = question.find(" Believe the "); at != std::string::npos) {
      const bool latest = question.ends_with("latest record.");
      return record(question.substr(0, at), [&](Index year, Index best) {
        return best == 0 || (latest ? year > best : year < best);
      });
    }
    if (const std::size_t at = question.find(" Answer as of "); at != std::string::npos) {
      const Index asked = std::stol(question.substr(at + 14, 4));
      return record(question.substr(0, at),
                    [&](Index year, Index best) { return year <= asked && year > best; });
    }
    return plain(question);
  }

 private:
  // What stands for the one blank of the phrase, if the text has its fixed parts.
  static std::optional<std::string> blank(std::string_view phrase, std::string_view text) {
    const std::size_t open = phrase.find('{');
    const std::string_view before = phrase.substr(0, open), after = phrase.substr(open + 3);
    if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after)) {
      return std::nullopt;
    }
    return std::string(text.substr(before.size(), text.size() - before.size() - after.size()));
  }

  // The one value stated for it.
  std::string value(const std::string& name, std::string_view key) const {
    std::set<std::string> values;
    for (const Written& w : written_) {
      if (w.fact.name == name && w.fact.key == key) values.insert(w.fact.value);
    }
    return values.size() == 1 ? *values.begin() : std::string(kUnclear);
  }

  std::set<std::string> holders(std::string_view key, const std::string& value) const {
    std::set<std::string> names;
    for (const Written& w : written_) {
      if (w.fact.key == key && w.fact.value == value) names.insert(w.fact.name);
    }
    return names;
  }

  // "the author of X" → who that is.
  std::string named(const std::string& phrase) const {
    for (const LinkNoun& noun : link_nouns()) {
      if (const auto inner = blank(noun.phrase, phrase)) return value(named(*inner), noun.link);
    }
    return phrase;
  }

  struct Match {
    std::size_t fixed = 0;  // the phrase with the most fixed text is meant
    std::string name;
    std::string_view key, link;
    bool reverse = false;
  };

  static void look(const Phrasings& phrasings, const std::string& question, Match match, Match& best) {
    for (Index p = 0; p < phrasing_count(phrasings); ++p) {
      const std::string_view phrase = phrasings[static_cast<std::size_t>(p)];
      const auto found = blank(phrase, question);
      if (!found || phrase.size() <= best.fixed) continue;
      match.fixed = phrase.size();
      match.name = *found;
      best = match;
    }
  }

  static Match meant(const std::string& question) {
    Match best;
    for (const Hop& hop : hops()) look(hop.questions, question, {.key = hop.asked, .link = hop.link}, best);
    for (int k = 0; k < kEntityKinds; ++k) {
      for (const Attribute& a : attributes_of(static_cast<EntityKind>(k))) {
        look(a.questions, question, {.key = a.key}, best);
        look(a.reverse, question, {.key = a.key, .reverse = true}, best);
      }
    }
    return best;
  }

  std::string plain(const std::string& question) const {
    const Match match = meant(question);
    if (match.reverse) {
      const auto names = holders(match.key, match.name);
      return names.size() == 1 ? *names.begin() : std::string(kUnclear);
    }
    const std::string name = named(match.name);
    return value(match.link.empty() ? name : value(name, match.link), match.key);
  }

  static const Attribute& attribute(std::string_view key) {
    for (int k = 0; k < kEntityKinds; ++k) {
      for (const Attribute& a : attributes_of(static_cast<EntityKind>(k))) {
        if (a.key == key) return a;
      }
    }
    throw std::out_of_range("no such attribute");
  }

  static std::string write(const Attribute& attribute, const std::string& name, const std::string& value) {
    std::string text(attribute.sentences[0]);
    text.replace(text.find("{n}"), 3, name);
    return text.replace(text.find("{v}"), 3, value);
  }

  std::string sentence(const std::string& question) const {
    const Match match = meant(question);
    return write(attribute(match.key), match.name, value(match.name, match.key));
  }

  // Key and value; two kinds share the slot "inception", of which a name has one.
  std::pair<std::string_view, std::string> by_slot(const std::string& name, std::string_view slot) const {
    for (int k = 0; k < kEntityKinds; ++k) {
      for (const Attribute& a : attributes_of(static_cast<EntityKind>(k))) {
        if (a.slot != slot) continue;
        std::string found = value(name, a.key);
        if (found != kUnclear) return {a.key, std::move(found)};
      }
    }
    return {{}, std::string(kUnclear)};
  }

  std::string profile(const std::string& question) const {
    const std::size_t colon = question.find(": ");
    const std::string name = question.substr(12, colon - 12);
    std::string_view rest = std::string_view(question).substr(colon + 2);
    std::string text;
    while (!rest.empty()) {
      const std::size_t end = rest.find_first_of(",.");
      const auto [key, found] = by_slot(name, rest.substr(0, end));
      if (found == kUnclear) return found;
      text += (text.empty() ? "" : " ") + write(attribute(key), name, found);
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    return text;
  }

  std::string list(const std::string& question) const {
    for (const Listing& listing : listings()) {
      const auto found = blank(listing.phrase, question.substr(27, question.size() - 28));
      if (!found) continue;
      std::string text;
      for (const std::string& name : holders(listing.attribute, *found)) {
        text += (text.empty() ? "" : ", ") + name;
      }
      return text;
    }
    return std::string(kUnclear);
  }

  template <typename Better>
  std::string record(const std::string& question, Better better) const {
    const Match match = meant(question);
    Index best = 0;
    std::string found(kUnclear);
    for (const Written& w : written_) {
      if (w.fact.name != match.name || w.fact.key != match.key || w.year == 0) continue;
      if (better(w.year, best)) {
        best = w.year;
        found = w.fact.value;
      }
    }
    return found;
  }

  std::vector<Written> written_;
};

}  // namespace buoy::testing
