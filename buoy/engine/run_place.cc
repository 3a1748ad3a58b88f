#include "buoy/engine/run_place.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMade = "made.json";
constexpr int kMostBeside = 1000;

fs::path beside(const fs::path& folder, int number) {
  if (number == 1) return folder;
  fs::path plain = folder;
  if (!plain.has_filename()) plain = plain.parent_path();  // "out/"
  return fmt::format("{}-{}", plain.string(), number);
}

// What of ours is in a folder that no record speaks of; empty: nothing.
std::string unknown_results(const fs::path& folder) {
  for (const char* name : {"report.html", "run.db"}) {
    if (fs::exists(folder / name)) return name;
  }
  return "";
}

// Why a run cannot be in this folder; empty: it can.
std::string run_clash(const fs::path& folder, const RunIdentity& identity) {
  if (fs::exists(folder / kMade)) {
    const Json made = read_json_file(folder / kMade);
    const auto verb = made.is_object() ? made.find("verb") : made.end();
    const bool named = made.is_object() && verb != made.end() && verb->is_string();
    return fmt::format("{}: holds what buoy {} made", folder.string(),
                       named ? verb->get<std::string>() : "once");
  }
  if (!fs::exists(folder / "run.db")) {
    const std::string other = unknown_results(folder);
    return other.empty() ? "" : fmt::format("{}: holds {} of another run", folder.string(), other);
  }
  if (!has_begun(folder / "run.db")) return "";
  const std::string difference = RunReader(folder).difference(identity);
  return difference.empty() ? "" : fmt::format("{}: was begun with {}", folder.string(), difference);
}

// Why made.json of the folder is not about the same; empty: it is, or there is none.
std::string made_clash(const fs::path& folder, const Json& making) {
  if (!fs::exists(folder / kMade)) {
    const std::string other = unknown_results(folder);
    return other.empty() ? "" : fmt::format("holds {} of another run", other);
  }
  const Json made = read_json_file(folder / kMade);
  if (!made.is_object() || !made.contains("verb") || !made.contains("inputs"))
    return "holds another made.json";
  const std::string difference =
      settings_difference({{"verb", made["verb"]}, {"inputs", made["inputs"]}}, making);
  return difference.empty() ? "" : fmt::format("holds results of something else: {}", difference);
}

// Whether a file that a record names lies in the folder, whatever links are on the way: the record may be a
// stranger's, and what it names is removed.
bool lies_in(const fs::path& folder, const fs::path& name) {
  if (name.is_absolute() || name.empty() || *name.begin() == "..") return false;
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return false;
  const fs::path parent = fs::canonical((folder / name).parent_path(), error);
  return !error && std::ranges::mismatch(real, parent).in1 == real.end();
}

// A record is JSON, which a name of any bytes cannot stand in.
std::string name_in_record(const fs::path& file) {
  return repair_utf8(file.string()).text;
}

std::vector<std::string> names_in(const Json& made, const char* key) {
  std::vector<std::string> names;
  if (!made.is_object() || !made.contains(key)) return names;
  for (const Json& name : made[key]) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

std::set<fs::path> files_below(const fs::path& folder) {
  std::set<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored)) files.insert(entry.path().lexically_relative(folder));
  }
  return files;
}

// What work that was broken off left in these folders of its own: it never said what it made.
std::set<fs::path> left_in(const fs::path& folder, const Json& made, const std::vector<std::string>& own) {
  std::set<fs::path> left;
  if (!made.is_object() || made.contains("files")) return left;
  for (const fs::path& file : files_below(folder)) {
    if (std::ranges::find(own, file.begin()->string()) != own.end()) left.insert(file);
  }
  for (const std::string& name : names_in(made, "before")) left.erase(name);
  return left;
}

// The files that made.json speaks of, if they are inside; where it speaks of none, what was left in `own`.
void remove_made(const fs::path& folder, const Json& verb, const std::vector<std::string>& own) {
  if (!fs::exists(folder / kMade)) return;
  const Json made = read_json_file(folder / kMade);
  if (!made.is_object()) return;
  if (made.value("verb", Json()) == verb) {
    std::error_code ignored;
    for (const fs::path& file : left_in(folder, made, own)) {
      for (fs::path up = file; !up.empty(); up = up.parent_path()) {  // and folders that are empty then
        if (!fs::remove(folder / up, ignored)) break;
      }
    }
  }
  for (const std::string& file : names_in(made, "files")) {
    const fs::path name = fs::path(file).lexically_normal();
    if (!lies_in(folder, name)) continue;
    std::error_code ignored;
    fs::remove(folder / name, ignored);
  }
}

}  // namespace

fs::path place_of_run(const RunSettings& settings, const RunIdentity& identity, RunObserver& observer) {
  for (int number = 1; number <= kMostBeside; ++number) {
    const fs::path folder = beside(settings.output, number);
    const std::string clash = run_clash(folder, identity);
    if (clash.empty()) {
      if (number > 1) observer.note(fmt::format("this run is kept in {}", folder.string()));
      return folder;
    }
    if (settings.clash == Clash::kRefuse) fail("{}; --new begins another run beside it", clash);
  }
  fail("{}: {} runs lie beside it already", settings.output.string(), kMostBeside);
}

OutputFolder::OutputFolder(fs::path folder, const std::string& verb, const Json& inputs, Other other) {
  const Json making = {{"verb", verb}, {"inputs", inputs}};
  made_ = making.dump();
  for (int number = 1;; ++number) {
    path_ = beside(folder, number);
    const std::string clash = made_clash(path_, making);
    if (clash.empty()) break;
    if (other == Other::kReplace) {
      replaces_ = true;
      break;
    }
    if (other == Other::kRefuse || number == kMostBeside) {
      fail("{}: {}; --overwrite replaces it, --new writes beside it", path_.string(), clash);
    }
  }
}

void OutputFolder::begin(const std::vector<std::string>& own) {
  if (replaces_) remove_made(path_, parse_json(made_, kMade)["verb"], own);
  before_ = files_below(path_);
  before_.erase(kMade);
  if (fs::exists(path_ / kMade)) {  // what is about to be made again counts as not there
    const Json made = read_json_file(path_ / kMade);
    for (const std::string& file : names_in(made, "files")) before_.erase(file);
    for (const fs::path& file : left_in(path_, made, own)) before_.erase(file);
  }
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) fail("{}: cannot be made a directory: {}", path_.string(), error.message());
  // At once, so that a broken one is known for what it is.
  Json made = parse_json(made_, kMade);
  made["before"] = Json::array();
  for (const fs::path& file : before_) made["before"].push_back(name_in_record(file));
  write_file_atomically(path_ / kMade, made.dump(1) + "\n");
}

void OutputFolder::finish() const {
  Json made = parse_json(made_, kMade);
  made["buoy"] = version();
  made["commit"] = commit();
  made["files"] = Json::array();
  // A file that was there and is newer than the beginning was made again: work that was broken off had made
  // it.
  const auto begun = fs::last_write_time(path_ / kMade);
  for (const fs::path& file : files_below(path_)) {
    const bool kept = before_.contains(file) && fs::last_write_time(path_ / file) <= begun;
    if (!kept && file != kMade) made["files"].push_back(name_in_record(file));
  }
  write_file_atomically(path_ / kMade, made.dump(1) + "\n");
}

}  // namespace buoy
