// Text as words the way SQLite's FTS5 parts and folds it: unicode61, Latin diacritics removed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace buoy {

// One per thread. A word is a run of letters, marks and digits; case and Latin diacritics are folded away.
class FtsWords {
 public:
  // Throws Error where SQLite was built without FTS5.
  FtsWords();
  FtsWords(FtsWords&&) noexcept;
  FtsWords& operator=(FtsWords&&) noexcept;
  ~FtsWords();

  // Every word of the text, in order, folded. `text` is valid UTF-8. Throws Error.
  void each(std::string_view text, const std::function<void(std::string_view word)>& take) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
