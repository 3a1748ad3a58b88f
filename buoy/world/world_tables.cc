// The tables themselves. Order matters: seeds pick by position, so appending is safe only for new seeds.
#include "buoy/world/world_tables.h"

#include "buoy/base/error.h"

namespace buoy {
namespace {

using K = EntityKind;
using V = ValueKind;

constexpr Attribute kAttributes[] = {
    {K::kPerson,
     "birthplace",
     V::kTown,
     0,
     0,
     {"{n} was born in {v}.", "{n} came from {v}.", "The birthplace of {n} is {v}."},
     {"Where was {n} born?", "What is the birthplace of {n}?"},
     "place of birth",
     {}},
    {K::kPerson,
     "birthyear",
     V::kYear,
     1700,
     1990,
     {"{n} was born in the year {v}.", "The year of birth of {n} was {v}."},
     {"In which year was {n} born?", "When was {n} born?"},
     "year of birth",
     {}},
    {K::kPerson,
     "profession",
     V::kProfession,
     0,
     0,
     {"{n} worked as a {v}.", "By trade {n} was a {v}.", "{n} was known as a {v}."},
     {"What was the profession of {n}?", "What did {n} work as?"},
     "occupation",
     {}},
    {K::kPerson,
     "employer",
     V::kCompany,
     0,
     0,
     {"{n} was employed by {v}.", "{n} spent many years at {v}.", "The employer of {n} was {v}."},
     {"Who employed {n}?", "Where did {n} work?"},
     "employer",
     {}},

    {K::kTown,
     "region",
     V::kRegion,
     0,
     0,
     {"{n} lies in {v}.", "{n} is a town in {v}.", "The region around {n} is called {v}."},
     {"In which region is {n}?", "Which region does {n} lie in?"},
     "located in region",
     {}},
    {K::kTown,
     "river",
     V::kRiver,
     0,
     0,
     {"{n} stands on the river {v}.", "The river {v} runs through {n}."},
     {"Which river runs through {n}?", "On which river does {n} stand?"},
     "located on river",
     {"Which town stands on the river {v}?", "Through which town does the river {v} run?"}},
    {K::kTown,
     "founded",
     V::kYear,
     1100,
     1900,
     {"{n} was founded in {v}.", "The town of {n} dates from {v}."},
     {"When was {n} founded?", "In which year was {n} founded?"},
     "inception",
     {}},
    {K::kTown,
     "mayor",
     V::kPerson,
     0,
     0,
     {"The mayor of {n} is {v}.", "{v} serves as mayor of {n}."},
     {"Who is the mayor of {n}?", "Who serves as mayor of {n}?"},
     "head of government",
     {"Which town has {v} as its mayor?", "Of which town is {v} the mayor?"}},

    {K::kCompany,
     "headquarters",
     V::kTown,
     0,
     0,
     {"{n} has its headquarters in {v}.", "{n} is based in {v}."},
     {"Where is {n} based?", "Where are the headquarters of {n}?"},
     "headquarters location",
     {}},
    {K::kCompany,
     "founder",
     V::kPerson,
     0,
     0,
     {"{n} was started by {v}.", "The founder of {n} was {v}."},
     {"Who founded {n}?", "Who started {n}?"},
     "founded by",
     {"Which company was founded by {v}?", "Which company did {v} start?"}},
    {K::kCompany,
     "product",
     V::kProduct,
     0,
     0,
     {"{n} makes {v}.", "{n} is famous for its {v}."},
     {"What does {n} make?", "What is {n} famous for?"},
     "product",
     {}},
    {K::kCompany,
     "established",
     V::kYear,
     1750,
     1990,
     {"{n} opened in {v}.", "{n} was established in {v}."},
     {"When did {n} open?", "In which year was {n} established?"},
     "inception",
     {}},

    {K::kBook,
     "author",
     V::kPerson,
     0,
     0,
     {"{n} was written by {v}.", "The author of {n} is {v}."},
     {"Who wrote {n}?", "Who is the author of {n}?"},
     "author",
     {"Which book was written by {v}?", "Which book did {v} write?"}},
    {K::kBook,
     "subject",
     V::kSubject,
     0,
     0,
     {"{n} is a book about {v}.", "The subject of {n} is {v}."},
     {"What is {n} about?", "What is the subject of {n}?"},
     "main subject",
     {}},
    {K::kBook,
     "published",
     V::kYear,
     1750,
     1995,
     {"{n} was published in {v}.", "{n} first appeared in {v}."},
     {"When was {n} published?", "In which year did {n} appear?"},
     "publication year",
     {}},
};

constexpr Hop kHops[] = {
    {K::kPerson,
     "birthplace",
     "region",
     {"In which region was {n} born?", "Which region does the birthplace of {n} lie in?"}},
    {K::kPerson,
     "birthplace",
     "river",
     {"Which river runs through the birthplace of {n}?", "On which river does the birthplace of {n} stand?"}},
    {K::kPerson,
     "employer",
     "product",
     {"What does the employer of {n} make?", "What is the employer of {n} famous for?"}},
    {K::kCompany,
     "headquarters",
     "region",
     {"In which region are the headquarters of {n}?", "In which region is {n} based?"}},
    {K::kCompany,
     "founder",
     "profession",
     {"What was the profession of the founder of {n}?", "What did the founder of {n} work as?"}},
    {K::kBook,
     "author",
     "profession",
     {"What was the profession of the author of {n}?", "What did the author of {n} work as?"}},
    {K::kBook,
     "author",
     "birthplace",
     {"Where was the author of {n} born?", "What is the birthplace of the author of {n}?"}},
};

constexpr std::string_view kFirst[] = {
    "ba",  "be",  "bo",  "bra", "bre", "da",  "del", "do",  "dra", "el",  "fa",  "fen", "ga",
    "gri", "hal", "har", "is",  "ja",  "kal", "ke",  "kor", "la",  "lin", "lo",  "mar", "mel",
    "mi",  "mor", "na",  "nel", "no",  "or",  "pa",  "pel", "qui", "ra",  "rin", "ro",  "sal",
    "sel", "sha", "ta",  "tel", "tor", "ul",  "va",  "vel", "vi",  "wen", "yor", "za",  "zel"};
constexpr std::string_view kLater[] = {
    "bar", "ben", "da", "den", "dor", "dric", "fa", "fer", "gan", "gor", "hart", "ka",  "la",
    "len", "lin", "lo", "mar", "men", "mir",  "na", "nor", "ra",  "ran", "ric",  "rin", "ro",
    "sa",  "sen", "ta", "tan", "ter", "thos", "va", "ver", "vin", "wen", "win",  "xa",  "yan"};
constexpr std::string_view kTownEndings[] = {"bridge", "bury", "dale",  "ford", "gate",  "ham",  "haven",
                                             "hill",   "holm", "mere",  "moor", "mouth", "port", "stead",
                                             "ton",    "vik",  "ville", "wick", "wood"};
constexpr std::string_view kCompanyEndings[] = {"Works",    "Foundry", "Mills", "Trading", "Brothers",
                                                "Shipyard", "Press",   "Labs",  "Motors",  "Glassworks"};
constexpr std::string_view kRiverEndings[] = {"a", "e", "en", "ic", "ine", "is", "o", "on", "or", "ule"};
constexpr std::string_view kBookEndings[] = {"Letters", "Journey", "Papers", "Chronicle",
                                             "Garden",  "Almanac", "Voyage", "Songs"};

constexpr std::string_view kRegions[] = {"Northmark", "Eastfold",   "Westreach", "Southvale",  "Highmoor",
                                         "Lowfen",    "Greyshore",  "Redcliff",  "Silverlund", "Stonegard",
                                         "Ambermere", "Blackheath", "Coldwater", "Dawnland",   "Evenfell",
                                         "Frostholm", "Goldcrest",  "Ironvale",  "Mistral",    "Thornwood"};
constexpr std::string_view kProfessions[] = {
    "weaver",    "botanist",     "surveyor",      "composer",   "glassblower", "carpenter",
    "physician", "cartographer", "blacksmith",    "painter",    "stargazer",   "printer",
    "teacher",   "judge",        "sculptor",      "baker",      "historian",   "chemist",
    "sailor",    "mason",        "violinist",     "translator", "gardener",    "clockmaker",
    "geologist", "poet",         "mathematician", "tailor",     "banker",      "falconer"};
constexpr std::string_view kProducts[] = {"lanterns",    "bicycles",  "telescopes", "porcelain",  "anchors",
                                          "typewriters", "umbrellas", "pianos",     "barometers", "compasses",
                                          "carpets",     "engines",   "paper",      "bells",      "violins",
                                          "saddles",     "cameras",   "locks",      "kettles",    "turbines",
                                          "gliders",     "inks",      "ropes",      "mirrors",    "tractors"};
constexpr std::string_view kSubjects[] = {
    "river trade",  "beekeeping",   "winter travel",   "sea storms",    "the old roads", "night skies",
    "mountain law", "court music",  "wild herbs",      "stone bridges", "lost letters",  "the salt mines",
    "desert wells", "harbour life", "the great frost", "silent forests"};

constexpr std::string_view kFillerSentences[] = {"{a} the {b} was {c}.",
                                                 "Nobody spoke of the {b} {a}.",
                                                 "The {b} stayed {c} {a}.",
                                                 "People said that the {b} was {c}.",
                                                 "It was quiet {a}, and the {b} was {c}.",
                                                 "There was little to see but the {b}.",
                                                 "{a} the light fell on the {b}.",
                                                 "Some called the {b} {c}, others did not."};
constexpr std::string_view kFillerTimes[] = {
    "in spring",     "in summer",      "in autumn",   "in winter",    "at night",    "at noon",
    "every morning", "after the rain", "before dawn", "on some days", "for a while", "year after year"};
constexpr std::string_view kFillerThings[] = {
    "road",  "market", "harbour", "valley",  "sky",  "garden", "wall",     "field",  "forest", "bridge",
    "tower", "wind",   "snow",    "orchard", "lake", "path",   "old mill", "square", "meadow", "shore"};
constexpr std::string_view kFillerStates[] = {"grey",  "bright", "empty", "crowded", "cold",
                                              "green", "silent", "white", "narrow",  "calm",
                                              "muddy", "golden", "dark",  "wide"};

constexpr std::size_t kFirstAttribute[] = {0, 4, 8, 12, 15};
static_assert(std::size(kAttributes) == kFirstAttribute[kEntityKinds]);

}  // namespace

std::span<const Attribute> attributes_of(EntityKind kind) {
  const std::size_t k = static_cast<std::size_t>(kind);
  return std::span(kAttributes).subspan(kFirstAttribute[k], kFirstAttribute[k + 1] - kFirstAttribute[k]);
}

std::span<const Hop> hops() {
  return kHops;
}

std::string_view name_of(EntityKind kind) {
  constexpr std::string_view kNames[] = {"person", "town", "company", "book"};
  return kNames[static_cast<std::size_t>(kind)];
}

Index phrasing_count(const Phrasings& phrasings) {
  Index count = 0;
  while (count < std::ssize(phrasings) && !phrasings[static_cast<std::size_t>(count)].empty()) ++count;
  return count;
}

Index attribute_index(EntityKind kind, std::string_view key) {
  const std::span<const Attribute> attributes = attributes_of(kind);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].key == key) return static_cast<Index>(i);
  }
  check(false, "the attribute is in the table");
  return -1;
}

std::optional<EntityKind> entity_named_by(ValueKind value) {
  switch (value) {
    case V::kPerson:
      return K::kPerson;
    case V::kTown:
      return K::kTown;
    case V::kCompany:
      return K::kCompany;
    default:
      return std::nullopt;
  }
}

std::span<const std::string_view> words_of(ValueKind value) {
  switch (value) {
    case V::kRegion:
      return kRegions;
    case V::kProfession:
      return kProfessions;
    case V::kProduct:
      return kProducts;
    case V::kSubject:
      return kSubjects;
    default:
      return {};
  }
}

std::span<const std::string_view> first_syllables() {
  return kFirst;
}
std::span<const std::string_view> later_syllables() {
  return kLater;
}
std::span<const std::string_view> town_endings() {
  return kTownEndings;
}
std::span<const std::string_view> company_endings() {
  return kCompanyEndings;
}
std::span<const std::string_view> river_endings() {
  return kRiverEndings;
}
std::span<const std::string_view> book_endings() {
  return kBookEndings;
}
std::span<const std::string_view> filler_sentences() {
  return kFillerSentences;
}

std::span<const std::string_view> filler_words(int list) {
  if (list == 0) return kFillerTimes;
  if (list == 1) return kFillerThings;
  return kFillerStates;
}

}  // namespace buoy
