// Work shared out over ranks that are threads here, some of which stop answering.
#include "buoy/run/share_out.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "buoy/io/json.h"

namespace buoy {
namespace {

// The post office of one job.
struct Office {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::deque<RankMessage>> mail;
  std::set<int> hanging;  // ranks that will send nothing more
};

// Rank 0 learns of a loss as soon as it would have to wait: no clock decides.
class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Office& office, int rank, int count) : office_(office), rank_(rank), count_(count) {
    for (int other = 0; other < count; ++other) {
      if (other != rank && (rank == 0 || other == 0)) others_.push_back(other);
    }
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int local_rank() const override { return 0; }
  std::vector<int> others() const override { return others_; }

  void send(int to, std::string_view text) override {
    const std::lock_guard lock(office_.mutex);
    office_.mail[to].push_back({rank_, std::string(text)});
    office_.changed.notify_all();
  }

  RankMessage receive() override {
    std::unique_lock lock(office_.mutex);
    while (true) {
      std::deque<RankMessage>& mine = office_.mail[rank_];
      if (!mine.empty()) {
        RankMessage message = std::move(mine.front());
        mine.pop_front();
        return message;
      }
      for (const int other : others_) {
        if (office_.hanging.contains(other)) throw RankLost(other, 1);
      }
      office_.changed.wait(lock);
    }
  }

  void sign() override {}
  void give_up(int rank) override {
    std::erase(others_, rank);
    given_up.push_back(rank);
  }
  bool gave_up() const override { return !given_up.empty(); }
  [[noreturn]] void end(int code) override { std::exit(code); }

  void hang() {
    const std::lock_guard lock(office_.mutex);
    office_.hanging.insert(rank_);
    office_.changed.notify_all();
  }

  std::vector<int> given_up;

 private:
  Office& office_;
  int rank_, count_;
  std::vector<int> others_;
};

struct Hang {};

// Three workers; each of `hanging` stops when it is given its second piece.
std::vector<std::string> shared_out(const std::vector<std::string>& pieces, const std::set<int>& hanging,
                                    std::vector<int>& given_up) {
  constexpr int kRanks = 4;
  Office office;
  std::vector<std::thread> workers;
  for (int rank = 1; rank < kRanks; ++rank) {
    workers.emplace_back([&, rank] {
      ThreadRanks ranks(office, rank, kRanks);
      int done = 0;
      try {
        take_work(ranks, [&](const std::string& piece) {
          if (hanging.contains(rank) && ++done == 2) throw Hang();
          return "did " + piece;
        });
      } catch (const Hang&) {
        ranks.hang();
      }
    });
  }
  ThreadRanks lead(office, 0, kRanks);
  std::vector<std::string> results;
  std::string lost;
  try {
    hand_out(lead, pieces, [&](const std::string& result) { results.push_back(result); });
  } catch (const RankLost& e) {
    lost = e.what();
  }
  for (std::thread& worker : workers) worker.join();
  given_up = lead.given_up;
  if (!lost.empty()) results.push_back(lost);
  return results;
}

std::vector<std::string> numbered(int count) {
  std::vector<std::string> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back(fmt::format("{}", i));
  return pieces;
}

TEST(SharingOut, EveryPieceIsDoneOnceWhoeverHangs) {
  for (const std::set<int>& hanging : {std::set<int>{}, {2}, {1, 3}}) {
    std::vector<int> given_up;
    const std::vector<std::string> results = shared_out(numbered(50), hanging, given_up);
    EXPECT_EQ(results.size(), 50u);
    EXPECT_EQ(std::set<std::string>(results.begin(), results.end()).size(), 50u);
    EXPECT_LE(given_up.size(), hanging.size());
    for (const int rank : given_up) EXPECT_TRUE(hanging.contains(rank));
  }
}

TEST(SharingOut, EndsWhereNobodyIsLeft) {
  std::vector<int> given_up;
  const std::vector<std::string> results = shared_out(numbered(50), {1, 2, 3}, given_up);
  ASSERT_EQ(results.size(), 4u) << "each did one piece";
  EXPECT_NE(results.back().find("gave no sign of life for 1 s"), std::string::npos) << results.back();
}

TEST(SharingOut, WithoutPiecesEndsAtOnce) {
  std::vector<int> given_up;
  EXPECT_TRUE(shared_out({}, {}, given_up).empty());
}

// What rank 0 says when ranks 1 and 2 would work on these; "" when it finds nothing wrong. The first goes on
// to its work.
std::string agreement(const Json& lead_has, const Json& one_has, const Json& two_has) {
  Office office;
  ThreadRanks lead(office, 0, 3);
  const auto worker = [&office](int rank, const Json& own) {
    return std::thread([&office, rank, own] {
      ThreadRanks ranks(office, rank, 3);
      try {
        agree(ranks, own);
        take_work(ranks, [](const std::string& piece) { return piece; });
      } catch (const RankLost&) {
      }
    });
  };
  std::thread one = worker(1, one_has);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time to ask for work too early
  std::thread two = worker(2, two_has);
  std::string problem;
  try {
    agree(lead, lead_has);
    hand_out(lead, numbered(3), [](const std::string&) {});
  } catch (const Error& e) {
    problem = e.what();
    lead.hang();
  }
  one.join();
  two.join();
  return problem;
}

TEST(SharingOut, RanksThatWouldWorkOnSomethingElseAreNamed) {
  const Json same = {{"data", {{"nq", "a1"}}}}, other = {{"data", {{"nq", "b2"}}}};
  EXPECT_EQ(agreement(same, same, other),
            "rank 2 has other inputs than rank 0: /data/nq was \"a1\", now \"b2\" on rank 2");
}

TEST(SharingOut, ARankThatIsAheadWaitsUntilAllHaveAgreed) {
  const Json same = {{"data", {{"nq", "a1"}}}};
  EXPECT_EQ(agreement(same, same, same), "");
}

}  // namespace
}  // namespace buoy
