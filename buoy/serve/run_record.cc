#include "buoy/serve/run_record.h"

#include <algorithm>
#include <array>

#include "buoy/base/at.h"
#include "buoy/text/utf8.h"

namespace buoy {

std::string_view name_of(RunState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"waiting", "running", "stopped", "done",
                                                             "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

Index RunRecord::length(Index t) const {
  return t < S() ? trace.steps.lengths[at(t)] : N();
}

std::vector<TokenId> RunRecord::tokens(Index t) const {
  if (t >= S()) return trace.tokens;
  const auto begin = trace.steps.tokens.begin() + t * N();
  return {begin, begin + length(t)};
}

Index RunRecord::pass(Index t) const {
  if (t < S()) return trace.steps.steps[at(t)];
  return S() == 0 ? 0 : trace.steps.steps.back() + 1;
}

ChangeInForce RunRecord::change_at(Index pass) const {
  ChangeInForce change = in_force(changes, pass);
  const auto found = std::ranges::find(pinned, pass, &PassBias::pass);
  if (found != pinned.end()) change.pinned = found->layers;
  return change;
}

std::string title_of(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  std::string line;
  for (const char c : repair_utf8(text).text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  if (line.size() <= kLongest) return line;
  std::size_t end = kLongest;  // not inside a character
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end) + "…";
}

}  // namespace buoy
