// Sentences, passages and documents from the tables.
#include "buoy/world/world_text.h"

#include <algorithm>

namespace buoy {
namespace {

// Appends `phrase` to `text` with `{x}` replaced by slots['x' - 'a']; reports where slot `n` and `v` went.
struct Slot {
  char letter;
  std::string_view value;
  TextSpan* at;
};

void append_filled(std::string& text, std::string_view phrase, std::span<const Slot> slots) {
  for (std::size_t i = 0; i < phrase.size(); ++i) {
    if (phrase[i] != '{') {
      text += phrase[i];
      continue;
    }
    const auto slot = std::ranges::find(slots, phrase[i + 1], &Slot::letter);
    if (slot->at != nullptr) {
      *slot->at = {std::ssize(text), std::ssize(text) + std::ssize(slot->value)};
    }
    text += slot->value;
    i += 2;
  }
}

// Attributes a passage states: the needed one and some others, in random order.
std::vector<Index> choose_attributes(const PassagePlan& plan, Index available, Draws& draws) {
  constexpr Index kLengths[] = {2, 3, 3, 4}, kShort[] = {1, 1, 2, 2};
  const Index drawn = draws.below(4);
  const Index wanted = plan.brevity == Brevity::kShort ? kShort[drawn] : kLengths[drawn];
  std::vector<Index> chosen;
  if (plan.must >= 0) chosen.push_back(plan.must);
  for (const Index i : draws.shuffled(available)) {
    if (std::ssize(chosen) >= wanted) break;
    if (i != plan.must && std::ranges::find(plan.never, i) == plan.never.end()) chosen.push_back(i);
  }
  std::vector<Index> ordered;
  for (const Index i : draws.shuffled(std::ssize(chosen)))
    ordered.push_back(chosen[static_cast<std::size_t>(i)]);
  return ordered;
}

}  // namespace

std::string fill(std::string_view phrase, std::string_view name, std::string_view value, TextSpan* name_at,
                 TextSpan* value_at) {
  std::string text;
  const Slot slots[] = {{'n', name, name_at}, {'v', value, value_at}};
  append_filled(text, phrase, slots);
  return text;
}

PassageText write_passage(const World& world, const PassagePlan& plan, Draws& draws) {
  return write_passage(world[plan.entity], plan, draws);
}

PassageText write_passage(const Entity& entity, const PassagePlan& plan, Draws& draws) {
  const std::span<const Attribute> attributes = attributes_of(entity.kind);
  PassageText out;
  for (const Index i : choose_attributes(plan, std::ssize(attributes), draws)) {
    const std::size_t a = static_cast<std::size_t>(i);
    if (!out.text.empty()) out.text += ' ';
    const Index begin = std::ssize(out.text);
    const bool needed = i == plan.must;
    // The draw happens either way: the wording of the other sentences must not depend on it.
    const std::string_view drawn = pick(attributes[a].sentences, draws);
    const std::string_view phrase =
        needed && plan.wording == Wording::kFirst ? attributes[a].sentences[0] : drawn;
    const std::string_view value =
        needed && !plan.instead.empty() ? std::string_view(plan.instead) : entity.values[a];
    TextSpan name_at, value_at;
    const Slot slots[] = {{'n', entity.name, &name_at}, {'v', value, &value_at}};
    append_filled(out.text, phrase, slots);
    if (needed) {
      out.sentence = {begin, std::ssize(out.text)};
      out.name = name_at;
      out.value = value_at;
    }
  }
  return out;
}

std::string write_filler(Index sentences, Draws& draws) {
  std::string text;
  for (Index i = 0; i < sentences; ++i) {
    if (!text.empty()) text += ' ';
    const std::size_t begin = text.size();
    const std::string_view phrase = draws.pick(filler_sentences());
    const Slot slots[] = {{'a', draws.pick(filler_words(0)), nullptr},
                          {'b', draws.pick(filler_words(1)), nullptr},
                          {'c', draws.pick(filler_words(2)), nullptr}};
    append_filled(text, phrase, slots);
    if (text[begin] >= 'a' && text[begin] <= 'z') text[begin] = static_cast<char>(text[begin] - 'a' + 'A');
  }
  return text;
}

std::string write_document(const World& world, Index paragraphs, Draws& draws) {
  std::string text;
  for (Index i = 0; i < paragraphs; ++i) {
    if (!text.empty()) text += '\n';
    if (draws.below(4) == 0) text += write_filler(1 + draws.below(2), draws) + ' ';
    text += write_passage(world, {.entity = draws.below(std::ssize(world.entities))}, draws).text;
    if (draws.below(4) == 0) text += ' ' + write_filler(1 + draws.below(2), draws);
  }
  return text;
}

}  // namespace buoy
