// A stream of events: documents that come, change and go, and questions that are asked meanwhile.
// docs/replay.md is the format.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

enum class EventKind { kAdd, kChange, kRemove, kAsk };
// "add", "change", "remove", "ask".
std::string_view name_of(EventKind kind);

// What a document is to the one that it is of: a copy of one of its versions, a false report of it, or of
// something with nearly its name.
enum class DocumentKind { kPlain, kCopy, kRumour, kNearMiss };
// "document", "copy", "rumour", "near-miss".
std::string_view name_of(DocumentKind kind);

struct Event {
  EventKind kind = EventKind::kAsk;
  Index line = 0;  // of the file, from 1
  std::string id;  // of the document or the question
  std::optional<double> time;
  // Of kAdd and kChange: the document as it is from here on.
  std::string title, text;
  Index version = 0;  // from 1; also of kRemove: the one that goes
  DocumentKind document = DocumentKind::kPlain;
  std::string of;        // the document that a copy, rumour or near miss is of; empty for kPlain
  Index of_version = 0;  // which version a copy holds
  // Of kAsk.
  std::string question;
  std::vector<std::string> answers;   // right by the documents as they are; empty: not scored
  std::vector<std::string> outdated;  // right by an earlier version, wrong now
  std::vector<std::string> rumoured;  // that rumours state
  std::vector<std::string> about;     // documents that hold the answer
};

// Reads a stream, plain or compressed with gzip; at most so many questions, with what comes before the last
// of them. Throws Error "FILE: line N: got, expected" for a line that is no event, a field that is unknown,
// missing or of another kind, an id that is taken, a document that is not there, an answer that is both right
// and outdated or rumoured, a time that runs backwards, and a last line that is cut off; and for a stream in
// which nothing is asked.
std::vector<Event> read_events(const std::filesystem::path& path, std::optional<Index> questions = {});

// The documents that are there, event by event.
class DocumentLedger {
 public:
  struct Standing {
    Index version = 0;
    DocumentKind kind = DocumentKind::kPlain;
    std::string of;
    Index of_version = 0;
  };

  void apply(const Event& event);  // questions change nothing
  // nullptr where the document is not there.
  const Standing* find(const std::string& id) const;
  Index count() const { return std::ssize(there_); }

  // What the document is to a question: "current" (it holds the answer), "outdated" (a copy of an earlier
  // version of what holds it), "rumour" or "near-miss" of what holds it, "unrelated". Where the question does
  // not say what it is about, by the words of `text`: "current" where a right answer stands in it, else
  // "outdated" or "rumour" where such an answer does. Empty where neither is known.
  std::string role_for(const Event& question, const std::string& id, std::string_view text) const;

 private:
  std::map<std::string, Standing> there_;
};

// One hash for each question, over everything before it and itself: equal hashes, equal prompts.
std::vector<std::string> hash_questions(std::span<const Event> events);

// A question before or after a change of the document it is about. Only questions of the same words are
// counted, and only where it was asked on both sides: -1 is the last before the change, 1 the first after it.
struct ChangeOffset {
  enum class Answer { kChanged, kKept } answer = Answer::kChanged;  // whether the right answers are others
  Index offset = 0;
};

// A question of a stream with what the stream around it says.
struct StreamQuestion {
  Index event = 0;      // place in the stream, from 0
  Index documents = 0;  // there when it was asked
  Index current = 0;    // of those it is about, copies of their last version included
  // To the change before it and to the one after it, where there are such.
  std::vector<ChangeOffset> offsets;
};

// In order. Events as read_events() gives them.
std::vector<StreamQuestion> place_questions(std::span<const Event> events);

}  // namespace buoy
