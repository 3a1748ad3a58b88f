// The vocabulary of MicroWorld as data: kinds of entity, their attributes, sentences and questions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

enum class EntityKind { kPerson, kTown, kCompany, kBook };
inline constexpr int kEntityKinds = 4;

// Where an attribute's values come from: a word list, a fresh name, a year, or the name of another entity.
enum class ValueKind { kRegion, kProfession, kProduct, kSubject, kRiver, kYear, kPerson, kTown, kCompany };

// Up to four phrasings; unused ones are empty and stand last. `{n}` is the entity's name, `{v}` the value.
using Phrasings = std::array<std::string_view, 4>;

struct Attribute {
  EntityKind kind;
  std::string_view key;
  ValueKind value;
  int first_year, last_year;  // for kYear, inclusive
  Phrasings sentences;        // contain {n} and {v}, end with a full stop
  Phrasings questions;        // contain {n}
  std::string_view slot;      // the relation's name in a slot question
  Phrasings reverse;          // contain {v}, ask for the entity; empty where that makes no sense
};

// A question over two facts: the entity's attribute `link` names another entity, whose `asked` is the answer.
struct Hop {
  EntityKind kind;
  std::string_view link, asked;
  Phrasings questions;  // contain {n}
};

// A question for all entities of a kind that share a value, as in "the people born in V".
struct Listing {
  EntityKind kind;
  std::string_view attribute;
  std::string_view phrase;  // contains {v}
};

// How a chain names the entity a link leads to, as in "the author of {n}".
struct LinkNoun {
  EntityKind kind;
  std::string_view link;
  std::string_view phrase;  // contains {n}
};

// All views below live as long as the program.
std::span<const Attribute> attributes_of(EntityKind kind);
std::span<const Hop> hops();
std::span<const Listing> listings();
std::span<const LinkNoun> link_nouns();  // one for every attribute whose value is an entity
std::string_view name_of(EntityKind kind);
Index phrasing_count(const Phrasings& phrasings);

// Position of `key` in attributes_of(kind). Fails check() when there is none: the tables would be broken.
Index attribute_index(EntityKind kind, std::string_view key);

// The entity kind a value names, as in birthplace → town; nothing for words, years and rivers.
std::optional<EntityKind> entity_named_by(ValueKind value);

// Word lists of values; empty for kinds that are drawn another way.
std::span<const std::string_view> words_of(ValueKind value);

// Parts of names.
std::span<const std::string_view> first_syllables();
std::span<const std::string_view> later_syllables();
std::span<const std::string_view> town_endings();
std::span<const std::string_view> company_endings();
std::span<const std::string_view> river_endings();
std::span<const std::string_view> book_endings();

// Sentences that state nothing about any entity: `{a}`, `{b}` and `{c}` are filled from filler_words(0..2).
std::span<const std::string_view> filler_sentences();
std::span<const std::string_view> filler_words(int list);

}  // namespace buoy
