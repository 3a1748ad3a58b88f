// Question-answering items from dataset files of several formats, one at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/log.h"
#include "buoy/text/text_span.h"

namespace buoy {

struct QaPassage {
  std::string title, text;  // valid UTF-8
  bool gold = false;
  std::vector<TextSpan> evidence;    // code points of `text`; empty where the dataset marks none
  std::string id = {};               // of the document; empty where nothing names it
  std::optional<double> score = {};  // of the retriever that found it
};

struct QaItem {
  std::string id, task;  // the id is unique in its file
  std::string question;
  // That count as right: at least one, none twice, none empty; but where the right answer is to give none it
  // is a single empty one.
  std::vector<std::string> answers;
  std::vector<QaPassage> passages;  // in prompt order
};

// docs/datasets.md describes each.
enum class DatasetFormat {
  kBuoy,
  kKilt,
  kLostInTheMiddle,
  kSquad,
  kHotpotqa,
  kTriviaqa,
  kMsMarco,
  kNaturalQuestions,
  kPopqa,
  kDpr,
  kMusique
};
inline constexpr Index kDatasetFormatCount = 11;

// "buoy", "kilt", "lost-in-the-middle", "squad", "hotpotqa", "triviaqa", "ms-marco", "nq", "popqa", "dpr",
// "musique".
std::string_view name_of(DatasetFormat format);
// Throws UsageError listing the names.
DatasetFormat dataset_format_named(std::string_view name);

struct DatasetOptions {
  std::optional<DatasetFormat> format;  // absent: told from the first record
  std::optional<Index> limit;           // at most this many items
  // Told now and then which share of the file has been read, from 0 to 1; of large files only. May be empty.
  std::function<void(double share)> progress = {};
};

// A record that gave no item.
struct BadRecord {
  Index number = 0;   // of the line; of the record where one JSON value holds them all; from 1
  std::string cause;  // begins with the place in the file
};

struct DatasetCounts {
  Index read = 0;  // records, bad ones included
  Index bad = 0;
  std::vector<BadRecord> first_bad;          // at most 10
  Index without_passages = 0;                // items
  std::map<std::string, Index> unread = {};  // of those: fields with long texts that are not read
};

// A file being read. Lines are read as they are asked for, so memory does not grow with the file but for a
// fingerprint of each id; a file that is one JSON value is held whole. One thread at a time. Movable.
class Dataset {
 public:
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  // The next item; nothing at the end of the file or at the limit. A record that does not fit is counted and
  // passed over, as is one whose id came before. Throws Error with the first cause when more than 1 % of the
  // records read so far are bad (looked at from 1000 records on, and at the end); Error when reading fails.
  std::optional<QaItem> next();

  DatasetFormat format() const;
  // Of what has been read from the file, which may be one item ahead of next().
  const DatasetCounts& counts() const;

 private:
  struct State;
  friend Dataset open_dataset(const std::filesystem::path& path, const DatasetOptions& options);
  explicit Dataset(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Opens a plain or gzip-compressed file and reads up to its first item. Throws Error when it cannot be read,
// when its format cannot be told, when it holds no items, and as next() does.
Dataset open_dataset(const std::filesystem::path& path, const DatasetOptions& options = {});

// All items at once. Throws as above. One warning names bad records, another one texts that are not read
// though no item has passages.
std::vector<QaItem> read_dataset(const std::filesystem::path& path, const DatasetOptions& options = {},
                                 const WarningSink& warnings = {});

}  // namespace buoy
