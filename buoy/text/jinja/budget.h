// What rendering one template may use: steps, bytes, depth. A template comes with a checkpoint, so it may be
// meant to do harm; all limits are far above any prompt.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "buoy/base/types.h"

namespace buoy::jinja {

struct Namespace;

inline constexpr Index kMostSteps = 2000000;
inline constexpr Index kItemsPerStep = 16;           // handling a list costs a step for so many items,
inline constexpr Index kBytesPerStep = 256;          // a string for so many bytes,
inline constexpr Index kPairsPerStep = 4096;         // a search for so many pairs of text and pattern
inline constexpr Index kMostBytes = Index{1} << 28;  // of all strings and lists that are ever made
inline constexpr Index kBytesPerItem = 48;           // that an item of a list counts as,
inline constexpr Index kBytesPerText = 80;           // and a string beside its bytes
inline constexpr std::size_t kLongestString = std::size_t{1} << 24;
inline constexpr std::size_t kLongestList = 1000000;
inline constexpr Index kDeepestValue = 100;

struct Budget {
  explicit Budget(Index most = kMostSteps) : most_steps(most) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  // Namespaces can hold one another, in a circle or in a long chain: nothing else would let go of a circle,
  // and a chain would be let go of by recursion.
  ~Budget();

  const Index most_steps;
  Index steps = 0, bytes = 0;
  std::vector<std::shared_ptr<Namespace>> namespaces;  // all that were made
};

// Where in a template something stands, which starts every error message, and what it may use. No budget: the
// template is only being parsed.
struct Site {
  const std::string* place;
  Index line;
  Budget* budget = nullptr;
};

// Throw Error at the site when the budget is used up.
void spend_steps(const Site& site, Index count);
void spend_bytes(const Site& site, std::size_t count);
// Looking for `pattern` bytes in `text` bytes, at its worst.
void spend_search(const Site& site, std::size_t text, std::size_t pattern);

// Throws Error for a string longer than kLongestString.
void check_length(const Site& site, std::size_t length);

}  // namespace buoy::jinja
