#include "buoy/run/share_out.h"

#include <deque>
#include <map>
#include <set>

#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"

namespace buoy {
namespace {

// An empty message asks for work, any other brings a result; an empty answer says that there is no more.
class HandOut {
 public:
  HandOut(Ranks& ranks, std::span<const std::string> pieces) : ranks_(ranks), pieces_(pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) open_.push_back(i);
  }

  void run(const std::function<void(const std::string& result)>& take) {
    while (idle_.size() < ranks_.others().size()) {
      try {
        const RankMessage message = ranks_.receive();
        busy_.erase(message.from);
        idle_.insert(message.from);
        if (!message.text.empty()) take(message.text);
        give();
      } catch (const RankLost& lost) {
        do_without(lost);
      }
    }
    // All together: a rank that went ahead would ask for the next work while this is not done.
    for (const int rank : idle_) ranks_.send(rank, "");
  }

 private:
  // Whoever waits gets a piece, as long as there are some.
  void give() {
    while (!open_.empty() && !idle_.empty()) {
      const int rank = *idle_.begin();
      busy_[rank] = open_.front();
      open_.pop_front();
      idle_.erase(rank);
      ranks_.send(rank, pieces_[busy_[rank]]);
    }
  }

  void do_without(const RankLost& lost) {
    if (ranks_.others().size() == 1) throw lost;
    ranks_.give_up(lost.rank());
    idle_.erase(lost.rank());
    if (const auto had = busy_.find(lost.rank()); had != busy_.end()) {
      open_.push_front(had->second);
      busy_.erase(had);
    }
    give();
  }

  Ranks& ranks_;
  std::span<const std::string> pieces_;
  std::deque<std::size_t> open_;
  std::map<int, std::size_t> busy_;  // rank → piece
  std::set<int> idle_;
};

}  // namespace

void agree(Ranks& ranks, const Json& own) {
  if (ranks.count() == 1) return;
  if (!ranks.leads()) {
    ranks.send(0, own.dump());
    ranks.receive();  // or it would ask for work while others still say what they have
    return;
  }
  std::set<int> silent;
  for (const int other : ranks.others()) silent.insert(other);
  while (!silent.empty()) {
    const RankMessage message = ranks.receive();
    silent.erase(message.from);
    const Json theirs = parse_json(message.text, "message of a rank");
    if (const std::string differences = settings_difference(own, theirs); !differences.empty()) {
      fail("rank {} has other inputs than rank 0: {} on rank {}", message.from, differences, message.from);
    }
  }
  for (const int other : ranks.others()) ranks.send(other, "");
}

Json share(Ranks& ranks, const Json& from_lead) {
  if (ranks.count() == 1) return from_lead;
  if (!ranks.leads()) return parse_json(ranks.receive().text, "message of rank 0");
  for (const int other : ranks.others()) ranks.send(other, from_lead.dump());
  return from_lead;
}

void hand_out(Ranks& ranks, std::span<const std::string> pieces,
              const std::function<void(const std::string& result)>& take) {
  HandOut(ranks, pieces).run(take);
}

void take_work(Ranks& ranks, const std::function<std::string(const std::string& piece)>& work) {
  ranks.send(0, "");
  while (true) {
    const std::string piece = ranks.receive().text;
    if (piece.empty()) return;
    ranks.send(0, work(piece));
  }
}

}  // namespace buoy
