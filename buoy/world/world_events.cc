#include "buoy/world/world_events.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

// Streams of draws; world_item.cc and world_json.cc have the ones below.
enum : std::uint32_t { kPlaceWorldStream = 8, kWordsStream = 9, kEventStream = 10, kSubjectStream = 11 };

constexpr int kMostTries = 200;  // for a value that fits; word lists are short

struct Changing {
  EntityKind kind;
  std::string_view attribute;
};
// What does change of people, towns and companies.
constexpr Changing kChangingFacts[] = {{EntityKind::kPerson, "employer"},
                                       {EntityKind::kTown, "mayor"},
                                       {EntityKind::kCompany, "headquarters"},
                                       {EntityKind::kPerson, "profession"},
                                       {EntityKind::kCompany, "product"}};

struct Rumour {
  std::string id, value;
};

struct Subject {
  Index number = 0;  // names its draws
  Index entity = -1, attribute = -1;
  std::string question;
  std::string id;  // of its document; empty: it has none
  Index version = 0, wording = 0;
  std::string value, text;        // stated now
  std::vector<std::string> past;  // stated before, in order, each once
  std::vector<Rumour> rumours;    // that are there
  std::vector<std::string> copies;
  std::string twin_value;  // of the near miss
};

bool overlaps(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && (a.find(b) != a.npos || b.find(a) != b.npos);
}

// "Halka Norwen" → "Halka Tordric", "Halford" → "Halwick": another last part.
std::string similar_name(const World& world, const Entity& entity, Draws& draws) {
  const std::size_t space = entity.name.rfind(' ');
  if (entity.kind == EntityKind::kTown) {
    for (const std::string_view ending : town_endings()) {
      if (entity.name.ends_with(ending))
        return entity.name.substr(0, entity.name.size() - ending.size()).append(draws.pick(town_endings()));
    }
  }
  if (entity.kind == EntityKind::kCompany)
    return entity.name.substr(0, space + 1).append(draws.pick(company_endings()));
  const std::string& other = world[world.begin(entity.kind) + draws.below(world.count(entity.kind))].name;
  return entity.name.substr(0, space) + other.substr(other.rfind(' '));
}

class Stream {
 public:
  Stream(const EventSettings& settings, const TextSink& sink) : settings_(settings), sink_(sink) {
    if (settings.world == WorldKind::kKnown) {
      world_ = make_known_world();
    } else {
      const Index n = std::max<Index>(12, 2 * settings.subjects);
      world_ = make_world(Draws({.seed = settings.seed, .step = kPlaceWorldStream}), {n, n, n, n});
    }
    for (const Entity& entity : world_.entities) names_.insert(entity.name);
    choose_subjects();
  }

  EventCounts write() {
    for (Index i = 0; i < settings_.subjects; ++i) open(subjects_[static_cast<std::size_t>(i)]);
    opened_ = settings_.subjects;
    while (counts_.events < settings_.events) {
      Draws draws({.seed = settings_.seed, .sample = next_++, .step = kEventStream});
      if (draws.unit() < settings_.questions || !tell(draws)) ask(draws);
    }
    return counts_;
  }

 private:
  Draws words(const Subject& subject, Index position) const {
    return Draws({.seed = settings_.seed,
                  .sample = static_cast<std::uint32_t>(subject.number),
                  .step = kWordsStream,
                  .position = static_cast<std::uint32_t>(position)});
  }

  const Attribute& attribute_of(const Subject& subject) const {
    return attributes_of(world_[subject.entity].kind)[static_cast<std::size_t>(subject.attribute)];
  }

  // Twice as many as open the stream: the others may come later.
  void choose_subjects() {
    std::set<Index> taken;
    for (Index i = 0; i < 2 * settings_.subjects; ++i) {
      const Changing& changing = kChangingFacts[static_cast<std::size_t>(i) % std::size(kChangingFacts)];
      Draws draws({.seed = settings_.seed, .sample = static_cast<std::uint32_t>(i), .step = kSubjectStream});
      Subject subject{.number = i, .attribute = attribute_index(changing.kind, changing.attribute)};
      do {
        subject.entity = world_.begin(changing.kind) + draws.below(world_.count(changing.kind));
      } while (!taken.insert(subject.entity).second);
      subject.value = world_[subject.entity].values[static_cast<std::size_t>(subject.attribute)];
      subject.question = fill(pick(attribute_of(subject).questions, draws), world_[subject.entity].name, "");
      subjects_.push_back(std::move(subject));
    }
  }

  void emit(const Json& event) {
    if (counts_.events >= settings_.events) return;
    ++counts_.events;
    const std::string& kind = event["event"].get_ref<const std::string&>();
    if (kind == "ask") ++counts_.questions;
    if (kind == "change") ++counts_.changes;
    sink_(event.dump() + "\n");
  }

  // Ids are drawn, so that their order says nothing: equal scores of a search stand in order of ids.
  std::string fresh_id(Draws& draws) {
    for (;;) {
      std::string id = fmt::format("doc-{:06x}", draws.below(1 << 24));
      if (ids_.insert(id).second) return id;
    }
  }

  std::string passage(const Subject& subject, const std::string& value, Draws draws) const {
    return write_passage(world_,
                         {.entity = subject.entity,
                          .must = subject.attribute,
                          .never = {},
                          .wording = Wording::kAny,
                          .instead = value},
                         draws)
        .text;
  }

  void open(Subject& subject) {
    Draws draws({.seed = settings_.seed, .sample = next_++, .step = kEventStream});
    subject.id = fresh_id(draws);
    subject.version = 1;
    subject.text = passage(subject, subject.value, words(subject, 0));
    emit({{"event", "add"},
          {"id", subject.id},
          {"title", world_[subject.entity].name},
          {"text", subject.text},
          {"version", 1}});
    if (draws.unit() < settings_.near_misses) add_near_miss(subject, draws);
  }

  void add_near_miss(Subject& subject, Draws& draws) {
    Entity twin = world_[subject.entity];
    do {
      twin.name = similar_name(world_, world_[subject.entity], draws);
    } while (!names_.insert(twin.name).second);
    const auto attributes = attributes_of(twin.kind);
    for (std::size_t a = 0; a < attributes.size(); ++a)
      twin.values[a] = other_value(world_, attributes[a], twin.values[a], draws);
    const auto value = false_value(subject, draws);
    if (!value) return;
    subject.twin_value = twin.values[static_cast<std::size_t>(subject.attribute)] = *value;
    World beside;  // of the twin alone
    beside.entities.push_back(std::move(twin));
    emit({{"event", "add"},
          {"id", fresh_id(draws)},
          {"title", beside[0].name},
          {"text", write_passage(beside, {.entity = 0, .must = subject.attribute}, draws).text},
          {"version", 1},
          {"kind", "near-miss"},
          {"of", subject.id}});
  }

  // A value that is not stated of the subject and cannot be mistaken for one that is.
  std::optional<std::string> new_value(const Subject& subject, Draws& draws) const {
    for (int i = 0; i < kMostTries; ++i) {
      std::string value = other_value(world_, attribute_of(subject), subject.value, draws);
      const auto clashes = [&](const std::string& other) { return value != other && overlaps(value, other); };
      const auto states = [&](const Rumour& rumour) { return overlaps(value, rumour.value); };
      if (overlaps(value, subject.value) || overlaps(value, subject.twin_value) ||
          std::ranges::any_of(subject.rumours, states) || std::ranges::any_of(subject.past, clashes)) {
        continue;
      }
      return value;
    }
    return std::nullopt;
  }

  // The same, and never true before.
  std::optional<std::string> false_value(const Subject& subject, Draws& draws) const {
    for (int i = 0; i < kMostTries; ++i) {
      auto value = new_value(subject, draws);
      if (!value || std::ranges::find(subject.past, *value) == subject.past.end()) return value;
    }
    return std::nullopt;
  }

  Subject* pick_subject(Draws& draws) {
    std::vector<Subject*> there;
    for (Subject& subject : subjects_) {
      if (!subject.id.empty()) there.push_back(&subject);
    }
    return there[static_cast<std::size_t>(draws.below(std::ssize(there)))];
  }

  // An event that is no question; false where the one drawn cannot be.
  bool tell(Draws& draws) {
    double u = draws.unit();
    if (u < settings_.rumours) return spread(*pick_subject(draws), draws);
    u -= settings_.rumours;
    if (u < settings_.removals) return remove(draws);
    u -= settings_.removals;
    if (u < settings_.additions && opened_ < std::ssize(subjects_)) {
      open(subjects_[static_cast<std::size_t>(opened_++)]);
      return true;
    }
    return change(*pick_subject(draws), draws);
  }

  bool spread(Subject& subject, Draws& draws) {
    const auto value = false_value(subject, draws);
    if (!value) return false;
    subject.rumours.push_back({fresh_id(draws), *value});
    emit({{"event", "add"},
          {"id", subject.rumours.back().id},
          {"title", world_[subject.entity].name},
          {"text", passage(subject, *value, draws)},
          {"version", 1},
          {"kind", "rumour"},
          {"of", subject.id}});
    return true;
  }

  bool change(Subject& subject, Draws& draws) {
    const bool rewords = draws.unit() < settings_.rewordings;
    if (rewords) {
      const std::string before = subject.text;
      for (int i = 0; i < kMostTries && subject.text == before; ++i)
        subject.text = passage(subject, subject.value, words(subject, ++subject.wording));
      if (subject.text == before) return false;
    } else {
      const auto value = new_value(subject, draws);
      if (!value) return false;
      if (draws.unit() < settings_.copies) copy(subject, draws);
      subject.past.push_back(subject.value);
      std::erase(subject.past, *value);
      subject.value = *value;
      subject.text = passage(subject, subject.value, words(subject, subject.wording));
    }
    emit({{"event", "change"},
          {"id", subject.id},
          {"title", world_[subject.entity].name},
          {"text", subject.text},
          {"version", ++subject.version}});
    return true;
  }

  void copy(Subject& subject, Draws& draws) {
    subject.copies.push_back(fresh_id(draws));
    emit({{"event", "add"},
          {"id", subject.copies.back()},
          {"title", world_[subject.entity].name},
          {"text", subject.text},
          {"version", 1},
          {"kind", "copy"},
          {"of", subject.id},
          {"of_version", subject.version}});
  }

  // Copies and rumours go one by one; a subject goes with its document, and is asked about no more.
  bool remove(Draws& draws) {
    Subject& subject = *pick_subject(draws);
    const Index loose = std::ssize(subject.copies) + std::ssize(subject.rumours);
    const auto at = static_cast<std::size_t>(draws.below(loose + 1));
    const auto there = std::ranges::count_if(subjects_, [](const Subject& s) { return !s.id.empty(); });
    std::string gone;
    if (at < subject.copies.size()) {
      gone = subject.copies[at];
      subject.copies.erase(subject.copies.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (at < static_cast<std::size_t>(loose)) {
      const auto rumour = subject.rumours.begin() + static_cast<std::ptrdiff_t>(at - subject.copies.size());
      gone = rumour->id;
      subject.rumours.erase(rumour);
    } else if (2 * there > settings_.subjects) {
      gone = std::exchange(subject.id, "");
    } else {
      return false;
    }
    emit({{"event", "remove"}, {"id", gone}});
    return true;
  }

  void ask(Draws& draws) {
    const Subject& subject = *pick_subject(draws);
    Json event = {{"event", "ask"},
                  {"id", fmt::format("q-{}-{:05}", settings_.seed, counts_.questions)},
                  {"question", subject.question},
                  {"answers", {subject.value}}};
    if (!subject.past.empty()) event["outdated"] = subject.past;
    for (const Rumour& rumour : subject.rumours) {
      if (!event.contains("rumoured")) event["rumoured"] = Json::array();
      event["rumoured"].push_back(rumour.value);
    }
    event["about"] = {subject.id};
    emit(event);
  }

  const EventSettings& settings_;
  const TextSink& sink_;
  World world_;
  std::vector<Subject> subjects_;
  std::set<std::string> names_, ids_;
  Index opened_ = 0;
  std::uint32_t next_ = 0;  // names the draws of an event
  EventCounts counts_;
};

}  // namespace

void check_settings(const EventSettings& settings) {
  const struct {
    const char* name;
    double value;
  } shares[] = {{"near-misses", settings.near_misses},
                {"questions", settings.questions},
                {"rumours", settings.rumours},
                {"removals", settings.removals},
                {"additions", settings.additions},
                {"rewordings", settings.rewordings},
                {"copies", settings.copies}};
  for (const auto& share : shares) {
    if (!(share.value >= 0 && share.value <= 1))
      fail_usage("{}: got {}, expected a share from 0 to 1", share.name, share.value);
  }
  const double others = settings.rumours + settings.removals + settings.additions;
  if (others > 1) fail_usage("rumours, removals and additions: got {} together, expected at most 1", others);
  if (settings.subjects < 1 || settings.subjects > 50)
    fail_usage("subjects: got {}, expected 1 to 50", settings.subjects);
  if (settings.events > Index{1} << 30 || settings.events <= 2 * settings.subjects) {
    fail_usage("events: got {}, expected more than {}: two for each of {} subjects that open the stream",
               settings.events, 2 * settings.subjects, settings.subjects);
  }
}

EventCounts write_events(const EventSettings& settings, const TextSink& sink) {
  check_settings(settings);
  return Stream(settings, sink).write();
}

}  // namespace buoy
