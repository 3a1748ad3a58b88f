#include "buoy/io/fts_words.h"

#include <iterator>

#include <sqlite3.h>

#include "buoy/base/error.h"

namespace buoy {

struct FtsWords::State {
  sqlite3* memory = nullptr;  // FTS5 gives its tokenizers to a connection
  fts5_tokenizer functions{};
  Fts5Tokenizer* tokenizer = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (tokenizer != nullptr) functions.xDelete(tokenizer);
    sqlite3_close(memory);
  }
};

namespace {

// The documented way to FTS5's functions: a pointer that a query fills in.
fts5_api* find_api(sqlite3* database) {
  fts5_api* api = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

int hand_on(void* take, int /*flags*/, const char* word, int size, int /*begin*/, int /*end*/) {
  const auto& function = *static_cast<const std::function<void(std::string_view)>*>(take);
  if (size == 0) return SQLITE_OK;  // of a mark alone nothing is left
  try {
    function(std::string_view(word, static_cast<std::size_t>(size)));
  } catch (...) {
    return SQLITE_NOMEM;  // C in between lets nothing through
  }
  return SQLITE_OK;
}

}  // namespace

FtsWords::FtsWords() : state_(std::make_unique<State>()) {
  sqlite3_open(":memory:", &state_->memory);
  fts5_api* api = find_api(state_->memory);
  void* context = nullptr;
  if (api == nullptr || api->xFindTokenizer(api, "unicode61", &context, &state_->functions) != SQLITE_OK)
    fail("this SQLite has no FTS5, which collections need");
  // Marks too: words of Indic scripts are not cut at their vowel signs.
  const char* arguments[] = {"remove_diacritics", "2", "categories", "L* M* N* Co"};
  if (state_->functions.xCreate(context, arguments, static_cast<int>(std::size(arguments)),
                                &state_->tokenizer) != SQLITE_OK)
    fail("this SQLite's FTS5 does not take the settings of unicode61");
}

FtsWords::FtsWords(FtsWords&&) noexcept = default;
FtsWords& FtsWords::operator=(FtsWords&&) noexcept = default;
FtsWords::~FtsWords() = default;

void FtsWords::each(std::string_view text, const std::function<void(std::string_view word)>& take) const {
  std::function<void(std::string_view)> function = take;
  const int result =
      state_->functions.xTokenize(state_->tokenizer, static_cast<void*>(&function), FTS5_TOKENIZE_DOCUMENT,
                                  text.data(), static_cast<int>(text.size()), hand_on);
  if (result != SQLITE_OK) fail("a text of {} bytes cannot be parted into words", text.size());
}

}  // namespace buoy
