#include "buoy/corpus/event_stream.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/dataset_fields.h"
#include "buoy/corpus/dataset_lines.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr std::array<std::string_view, 4> kEventNames = {"add", "change", "remove", "ask"};
constexpr std::array<std::string_view, 4> kDocumentNames = {"document", "copy", "rumour", "near-miss"};

// The fields that an event of each kind may have.
constexpr std::array<std::string_view, 9> kDocumentFields = {"event", "id",   "title", "text",      "version",
                                                             "time",  "kind", "of",    "of_version"};
constexpr std::array<std::string_view, 3> kRemoveFields = {"event", "id", "time"};
constexpr std::array<std::string_view, 8> kAskFields = {"event",    "id",       "question", "answers",
                                                        "outdated", "rumoured", "about",    "time"};

std::span<const std::string_view> fields_of(EventKind kind) {
  if (kind == EventKind::kAsk) return kAskFields;
  if (kind == EventKind::kRemove) return kRemoveFields;
  return kDocumentFields;
}

template <typename Kind>
Kind parse_kind(const std::string& name, std::span<const std::string_view> names, const JsonObject& object,
                std::string_view field) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    fail("{}: \"{}\" is {}, expected {}", object.place(), field, quote(name), fmt::join(names, ", "));
  }
  return static_cast<Kind>(found - names.begin());
}

std::vector<std::string> texts_in(const JsonObject& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& value : list_or_empty(object, key)) {
    const std::string& text = string_in(value, object, key);
    if (text.empty()) fail("{}: \"{}\" holds an empty text", object.place(), key);
    if (std::ranges::find(texts, text) != texts.end())
      fail("{}: \"{}\" holds {} twice", object.place(), key, quote(text));
    texts.push_back(text);
  }
  return texts;
}

std::string filled(const JsonObject& object, std::string_view key) {
  std::string text = object.string(key);
  if (text.empty()) fail("{}: \"{}\" is empty", object.place(), key);
  return text;
}

// Reads one event after the other and knows what came before.
class EventReader {
 public:
  Event read(const Json& json, const std::string& place, Index line) {
    const JsonObject object(json, place);
    Event event{.kind = parse_kind<EventKind>(object.string("event"), kEventNames, object, "event"),
                .line = line,
                .id = filled(object, "id"),
                .time = {}};
    const auto allowed = fields_of(event.kind);
    for (const auto& [name, value] : json.items()) {
      if (std::ranges::find(allowed, name) != allowed.end()) continue;
      fail("{}: \"{}\" has the field {}, expected {}", place, name_of(event.kind), quote(name),
           fmt::join(allowed, ", "));
    }
    read_time(event, object);
    if (event.kind == EventKind::kAsk) {
      read_question(event, object);
    } else {
      read_document(event, object);
      ledger_.apply(event);
    }
    return event;
  }

 private:
  void read_time(Event& event, const JsonObject& object) {
    if (!object.has("time")) return;
    event.time = object.number("time");
    if (time_ && *event.time < *time_)
      fail("{}: \"time\" is {}, expected {} or later, as the event before has it", object.place(),
           *event.time, *time_);
    time_ = event.time;
  }

  void read_document(Event& event, const JsonObject& object) {
    const DocumentLedger::Standing* there = ledger_.find(event.id);
    if (event.kind == EventKind::kAdd && there != nullptr) {
      fail("{}: adds {}, which is there already; expected \"change\" or another id", object.place(),
           quote(event.id));
    }
    if (event.kind != EventKind::kAdd && there == nullptr) {
      fail("{}: {}s {}, which is not there; expected a document that was added and not removed",
           object.place(), name_of(event.kind), quote(event.id));
    }
    if (event.kind == EventKind::kRemove) {
      event.version = there->version;
      return;
    }
    event.text = filled(object, "text");
    event.title = object.string_or("title", there != nullptr ? titles_[event.id] : "");
    titles_[event.id] = event.title;
    Index& last = versions_[event.id];
    event.version = object.integer_or("version", last + 1);
    if (event.version <= last) {
      fail("{}: \"version\" of {} is {}, expected {} or more", object.place(), quote(event.id), event.version,
           last + 1);
    }
    last = event.version;
    read_kind(event, object, there);
  }

  // What a document is stays with it when it changes.
  void read_kind(Event& event, const JsonObject& object, const DocumentLedger::Standing* there) {
    if (there != nullptr) {
      for (const char* field : {"kind", "of"}) {
        if (object.has(field))
          fail("{}: \"change\" has the field \"{}\", expected it in \"add\" only", object.place(), field);
      }
      event.document = there->kind;
      event.of = there->of;
    } else {
      event.document =
          parse_kind<DocumentKind>(object.string_or("kind", "document"), kDocumentNames, object, "kind");
      event.of = object.string_or("of", "");
      if (event.of.empty() != (event.document == DocumentKind::kPlain))
        fail("{}: a {} {} \"of\", expected {}", object.place(), name_of(event.document),
             event.of.empty() ? "has no" : "has", event.of.empty() ? "the document it is of" : "none");
      if (!event.of.empty() && !versions_.contains(event.of))
        fail("{}: \"of\" is {}, expected a document that came before", object.place(), quote(event.of));
    }
    if (event.document != DocumentKind::kCopy) {
      if (object.has("of_version"))
        fail("{}: a {} has \"of_version\", expected it of copies only", object.place(),
             name_of(event.document));
      return;
    }
    const Index newest = versions_[event.of];
    event.of_version = object.integer_or("of_version", newest);
    if (event.of_version < 1 || event.of_version > newest) {
      fail("{}: \"of_version\" is {}, expected 1 to {}, the newest version of {}", object.place(),
           event.of_version, newest, quote(event.of));
    }
  }

  void read_question(Event& event, const JsonObject& object) {
    if (!questions_.insert(event.id).second)
      fail("{}: asks {} again, expected an id of its own", object.place(), quote(event.id));
    event.question = filled(object, "question");
    event.answers = texts_in(object, "answers");
    event.outdated = texts_in(object, "outdated");
    event.rumoured = texts_in(object, "rumoured");
    event.about = texts_in(object, "about");
    for (const std::string& id : event.about) {
      if (!versions_.contains(id))
        fail("{}: \"about\" holds {}, expected documents that came before", object.place(), quote(id));
    }
    std::set<std::string> right;
    for (const std::string& answer : event.answers) right.insert(normalise_answer(answer));
    for (const auto* wrong : {&event.outdated, &event.rumoured}) {
      for (const std::string& answer : *wrong) {
        if (right.contains(normalise_answer(answer)))
          fail("{}: {} is both in \"answers\" and in \"{}\"", object.place(), quote(answer),
               wrong == &event.outdated ? "outdated" : "rumoured");
      }
    }
  }

  DocumentLedger ledger_;
  std::map<std::string, std::string> titles_;
  std::map<std::string, Index> versions_;  // the newest of every document that ever was there
  std::set<std::string> questions_;
  std::optional<double> time_;
};

// A stream that is still written may end in the middle of a line.
Json parse_event_line(const std::string& text, const std::string& place, LineReader& lines) {
  try {
    return parse_json_unique(text, place);
  } catch (const Error& error) {
    if (lines.next()) throw;
    fail("{}; this is the last line: it may be cut off", error.what());
  }
}

}  // namespace

std::string_view name_of(EventKind kind) {
  return kEventNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(DocumentKind kind) {
  return kDocumentNames[static_cast<std::size_t>(kind)];
}

std::vector<Event> read_events(const std::filesystem::path& path, std::optional<Index> questions) {
  std::vector<Event> events;
  EventReader reader;
  LineReader lines(path);
  Index asked = 0;
  while (!questions || asked < *questions) {
    const auto line = lines.next();
    if (!line) break;
    const Index number = lines.number();
    const std::string place = fmt::format("{}: line {}", path.string(), number);
    events.push_back(reader.read(parse_event_line(*line, place, lines), place, number));
    if (events.back().kind == EventKind::kAsk) ++asked;
  }
  if (asked == 0)
    fail("{}: {} events and no question, expected at least one \"ask\"", path.string(), events.size());
  return events;
}

void DocumentLedger::apply(const Event& event) {
  if (event.kind == EventKind::kAsk) return;
  if (event.kind == EventKind::kRemove) {
    there_.erase(event.id);
    return;
  }
  there_[event.id] = {
      .version = event.version, .kind = event.document, .of = event.of, .of_version = event.of_version};
}

const DocumentLedger::Standing* DocumentLedger::find(const std::string& id) const {
  const auto found = there_.find(id);
  return found == there_.end() ? nullptr : &found->second;
}

std::string DocumentLedger::role_for(const Event& question, const std::string& id,
                                     std::string_view text) const {
  if (question.about.empty()) {
    const std::string words = normalise_answer(text);
    const auto states = [&](const std::vector<std::string>& answers) {
      return score_answer(words, answers).substring > 0;
    };
    if (states(question.answers)) return "current";
    if (states(question.outdated)) return "outdated";
    if (states(question.rumoured)) return "rumour";
    return question.answers.empty() ? "" : "unrelated";
  }
  const auto is_asked = [&](const std::string& document) {
    return std::ranges::find(question.about, document) != question.about.end();
  };
  if (is_asked(id)) return "current";
  const Standing* standing = find(id);
  if (standing == nullptr || !is_asked(standing->of)) return "unrelated";
  if (standing->kind != DocumentKind::kCopy) return std::string(name_of(standing->kind));
  const Standing* original = find(standing->of);
  return original != nullptr && original->version == standing->of_version ? "current" : "outdated";
}

std::vector<std::string> hash_questions(std::span<const Event> events) {
  std::vector<std::string> hashes;
  std::string before;
  for (const Event& event : events) {
    Hasher hasher;
    hasher.add(before);
    for (const std::string_view text :
         {name_of(event.kind), std::string_view(event.id), std::string_view(event.title),
          std::string_view(event.text), name_of(event.document), std::string_view(event.of),
          std::string_view(event.question)}) {
      hasher.add(text);
    }
    hasher.add(fmt::format("{} {}", event.version, event.of_version));
    for (const auto* list : {&event.answers, &event.outdated, &event.rumoured, &event.about}) {
      hasher.add(fmt::to_string(list->size()));
      for (const std::string& text : *list) hasher.add(text);
    }
    before = hasher.hex();
    if (event.kind == EventKind::kAsk) hashes.push_back(before);
  }
  return hashes;
}

}  // namespace buoy
