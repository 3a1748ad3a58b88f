#include "buoy/corpus/dataset.h"

#include <unordered_set>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/corpus/dataset_lines.h"
#include "buoy/corpus/dataset_record.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr std::size_t kBadRecordsKept = 10;
constexpr Index kJudgedFrom = 1000;  // records; a smaller share of fewer says little before the end

bool is_json_name(std::filesystem::path path) {
  if (path.extension() == ".gz") path.replace_extension();
  return path.extension() == ".json";
}

}  // namespace

struct Dataset::State {
  State(const std::filesystem::path& file, const DatasetOptions& with)
      : path(file.string()), options(with), format(with.format), lines(file) {}

  void start();
  std::optional<QaItem> read_item();

  std::string path;
  DatasetOptions options;
  std::optional<DatasetFormat> format;
  LineReader lines;
  std::optional<std::string> first_line;  // read to look at, not yet used

  // Of a file that is one JSON value.
  std::optional<Json> document;
  std::vector<DatasetRecord> records;  // views of `document`
  std::size_t next_record = 0;

  DatasetCounts counts;
  Index given = 0;
  std::unordered_set<std::size_t> ids;  // hashes: in a million ids two differ and share one with 3e-8
  std::optional<QaItem> ahead;

 private:
  struct Entry {
    Index number = 0;
    std::optional<std::string> line;  // to be parsed; absent where the record is already there
    DatasetRecord record;
  };
  std::optional<Entry> next_entry();
  std::optional<QaItem> item_of(Entry& entry);
  void note_bad(Index number, const std::string& cause);
  void tell_progress() const;
  void judge() const;

  // What `make` returns; a bad record is counted here instead of ending the run.
  template <typename Make>
  auto attempt(const Entry& entry, Make make) -> std::optional<decltype(make())> {
    try {
      return make();
    } catch (const Error& error) {
      note_bad(entry.number, error.what());
      return std::nullopt;
    }
  }
};

// Tells a file of lines from a file that is one JSON value.
void Dataset::State::start() {
  first_line = lines.next();
  if (!first_line) return;
  const bool is_list = (*first_line)[first_line->find_first_not_of(" \t\r")] == '[';
  bool is_whole = is_list;
  if (!is_whole) {
    const Json value = Json::parse(*first_line, nullptr, false);
    is_whole =
        value.is_discarded() ? is_json_name(path) || format == DatasetFormat::kSquad : holds_records(value);
  }
  if (!is_whole) return;
  document = with_rows(parse_json(*std::exchange(first_line, {}) + '\n' + lines.rest(), path));
  records = records_of(*document, path);
  if (!document->is_array() && !format) format = detect_format(*document);
}

std::optional<Dataset::State::Entry> Dataset::State::next_entry() {
  if (document) {
    if (next_record == records.size()) return std::nullopt;
    Entry entry{.record = records[next_record++]};
    entry.number = static_cast<Index>(next_record);
    return entry;
  }
  std::optional<std::string> line = first_line ? std::exchange(first_line, {}) : lines.next();
  if (!line) return std::nullopt;
  return Entry{.number = lines.number(),
               .line = std::move(line),
               .record = {.place = fmt::format("line {}", lines.number())}};
}

std::optional<QaItem> Dataset::State::item_of(Entry& entry) {
  std::optional<Json> parsed;
  if (entry.line) {
    parsed = attempt(entry, [&] { return parse_json(*entry.line, entry.record.place); });
    if (!parsed) return std::nullopt;
    entry.record.value = &*parsed;
  }
  if (!format && entry.record.value->is_object()) {
    format = detect_format(*entry.record.value);
    if (!format) fail("{}: {}: has the fields of no known format; name it", path, entry.record.place);
  }
  return attempt(entry, [&] {
    // Before an object has been seen any format says what is wrong with what is none.
    QaItem item = parse_record(format.value_or(DatasetFormat::kBuoy), entry.record);
    if (item.id.empty()) item.id = fmt::format("{}-{}", entry.line ? "line" : "record", entry.number);
    if (!ids.insert(std::hash<std::string>()(item.id)).second) {
      fail("{}: the id {} occurs twice", entry.record.place, quote(item.id));
    }
    if (item.passages.empty()) {
      ++counts.without_passages;
      for (const std::string& field : unread_texts(*entry.record.value)) ++counts.unread[field];
    }
    return item;
  });
}

std::optional<QaItem> Dataset::State::read_item() {
  while (!options.limit || given < *options.limit) {
    std::optional<Entry> entry = next_entry();
    if (!entry) break;
    ++counts.read;
    tell_progress();
    if (std::optional<QaItem> item = item_of(*entry)) {
      ++given;
      return item;
    }
    if (counts.read >= kJudgedFrom) judge();
  }
  judge();
  return std::nullopt;
}

void Dataset::State::note_bad(Index number, const std::string& cause) {
  ++counts.bad;
  if (counts.first_bad.size() == kBadRecordsKept) return;
  counts.first_bad.push_back({number, repair_utf8(cause).text});  // a cause may quote what is broken
}

// Of files that take seconds.
void Dataset::State::tell_progress() const {
  constexpr Index kLarge = Index{32} << 20, kEvery = 1000;
  if (options.progress && counts.read % kEvery == 0 && lines.size() > kLarge) {
    options.progress(document ? static_cast<double>(next_record) / static_cast<double>(records.size())
                              : lines.share());
  }
}

void Dataset::State::judge() const {
  if (counts.bad * 100 > counts.read) {
    fail("{}: {} of the {} records read cannot be used, more than 1 %; the first: {}", path, counts.bad,
         counts.read, counts.first_bad.front().cause);
  }
}

Dataset::Dataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

std::optional<QaItem> Dataset::next() {
  return state_->ahead ? std::exchange(state_->ahead, {}) : state_->read_item();
}

DatasetFormat Dataset::format() const {
  return *state_->format;
}

const DatasetCounts& Dataset::counts() const {
  return state_->counts;
}

Dataset open_dataset(const std::filesystem::path& path, const DatasetOptions& options) {
  if (options.limit && *options.limit < 1) {
    fail_usage("the limit of a dataset is {}, expected 1 or more", *options.limit);
  }
  auto state = std::make_unique<Dataset::State>(path, options);
  state->start();
  state->ahead = state->read_item();
  if (!state->ahead) fail("{}: holds no items", path.string());
  return Dataset(std::move(state));
}

std::vector<QaItem> read_dataset(const std::filesystem::path& path, const DatasetOptions& options,
                                 const WarningSink& warnings) {
  Dataset dataset = open_dataset(path, options);
  std::vector<QaItem> items;
  while (std::optional<QaItem> item = dataset.next()) items.push_back(std::move(*item));
  if (const DatasetCounts& counts = dataset.counts(); counts.bad > 0) {
    warn(warnings, fmt::format("{}: {} of {} records passed over; the first: {}", path.string(), counts.bad,
                               counts.read, counts.first_bad.front().cause));
  }
  const DatasetCounts& counts = dataset.counts();
  if (counts.without_passages == std::ssize(items) && !counts.unread.empty()) {
    std::string fields;
    for (const auto& [field, count] : counts.unread) {
      fields += fmt::format("{}{} ({} items)", fields.empty() ? "" : ", ", quote(field), count);
    }
    warn(warnings, fmt::format("{}: read as {}, and no item has passages; texts that are not read: {}. "
                               "docs/datasets.md says where each format has its passages",
                               path.string(), name_of(dataset.format()), fields));
  }
  return items;
}

}  // namespace buoy
