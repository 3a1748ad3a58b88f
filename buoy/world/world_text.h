// Facts as text: passages whose sentences know where they stand, questions, plain prose.
#pragma once

#include <string>
#include <vector>

#include "buoy/text/text_span.h"
#include "buoy/world/world.h"

namespace buoy {

// A fact of an entity: the position of the attribute in attributes_of(kind).
struct WorldFact {
  Index entity = -1;
  Index attribute = -1;
  bool operator==(const WorldFact&) const = default;
};

enum class Wording { kAny, kFirst };    // any of the attribute's sentences, or always the first
enum class Brevity { kUsual, kShort };  // two to four sentences, or one or two

// What a passage about one entity must and must not say.
struct PassagePlan {
  Index entity = -1;
  Index must = -1;                  // attribute that is stated, or -1
  std::vector<Index> never;         // attributes that are not
  Wording wording = Wording::kAny;  // of the `must` sentence
  std::string instead;              // states this value for `must` in place of the true one, unless empty
  Brevity brevity = Brevity::kUsual;
};

struct PassageText {
  std::string text;
  TextSpan sentence;     // the `must` sentence
  TextSpan name, value;  // the entity's name and the value inside it
};

// Sentences about one entity, which need not be in a world; plan.entity is not looked at.
PassageText write_passage(const Entity& entity, const PassagePlan& plan, Draws& draws);
PassageText write_passage(const World& world, const PassagePlan& plan, Draws& draws);

// One sentence or question: `{n}` and `{v}` replaced. The spans say where they went.
std::string fill(std::string_view phrase, std::string_view name, std::string_view value,
                 TextSpan* name_at = nullptr, TextSpan* value_at = nullptr);

// `sentences` sentences that say nothing about any entity.
std::string write_filler(Index sentences, Draws& draws);

// A document of plain text about a world: paragraphs on its entities between filler, one per line.
std::string write_document(const World& world, Index paragraphs, Draws& draws);

}  // namespace buoy
