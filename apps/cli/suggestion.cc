#include "apps/cli/suggestion.h"

#include <algorithm>
#include <vector>

namespace buoy {

Index edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table for the first i−2, i−1 and i letters of a.
  std::vector<Index> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) now[j] = static_cast<Index>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, now);
    now[0] = static_cast<Index>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
  }
  return now[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto letters = [](std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return c != '-'; });
  };
  const std::string* best = nullptr;
  Index least = std::max<Index>(1, letters(word) / 3) + 1;
  Index beginning = 0;
  const std::string* begins = nullptr;
  for (const std::string& candidate : candidates) {
    const Index distance = edit_distance(word, candidate);
    if (distance < least && distance < letters(candidate)) {
      least = distance;
      best = &candidate;
    }
    if (letters(word) >= 3 && candidate.starts_with(word)) {
      ++beginning;
      begins = &candidate;
    }
  }
  if (best != nullptr) return *best;
  return beginning == 1 ? std::optional(*begins) : std::nullopt;
}

}  // namespace buoy
