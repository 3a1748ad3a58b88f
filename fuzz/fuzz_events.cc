// Any bytes as a stream of events: what is read can be placed and hashed, and every document that is asked
// about came before.
#include <cstdint>
#include <set>

#include "buoy/corpus/event_stream.h"
#include "fuzz/scratch.h"

using namespace buoy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzzing::put("events.jsonl", {reinterpret_cast<const char*>(data), size});
  fuzzing::attempt([&] {
    const std::vector<Event> events = read_events(path);
    const std::vector<StreamQuestion> placed = place_questions(events);
    check(placed.size() == hash_questions(events).size(), "every question has a place and a hash");
    std::set<std::string> came;
    DocumentLedger ledger;
    for (const Event& event : events) {
      ledger.apply(event);
      if (event.kind == EventKind::kAdd) came.insert(event.id);
      for (const std::string& id : event.about) {
        check(came.contains(id), "a question is about documents that came before");
        check(ledger.role_for(event, id, "") == "current", "what a question is about is current");
      }
    }
  });
  return 0;
}
