#include "buoy/engine/places.h"

#include <algorithm>

#include <dlfcn.h>
#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/plain_file.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHubPrefix = "models--", kHubSeparator = "--";

// The folder of the program or shared library that holds this function.
fs::path folder_of_this_code() {
  Dl_info info{};
  std::error_code error;
  // Of a program that was found on PATH this is its bare name, which may be that of something else here.
  if (dladdr(reinterpret_cast<const void*>(&places_beside_program), &info) != 0 &&
      info.dli_fname != nullptr && std::string_view(info.dli_fname).find('/') != std::string_view::npos) {
    const fs::path path = fs::canonical(info.dli_fname, error);
    if (!error) return path.parent_path();
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// "models--GSAI-ML--LLaDA-8B-Instruct" of "GSAI-ML/LLaDA-8B-Instruct".
std::string hub_folder(const std::string& model) {
  std::string folder(kHubPrefix);
  for (const char c : model) c == '/' ? folder.append(kHubSeparator) : folder.append(1, c);
  return folder;
}

// "LLaDA-8B-Instruct" for a directory that is a snapshot of the Hub's cache, else its own name.
std::string name_of_directory(const fs::path& directory) {
  const fs::path whole = fs::weakly_canonical(directory);
  const fs::path folder = whole.parent_path().parent_path();
  const std::string hub = folder.filename().string();
  if (whole.parent_path().filename() == "snapshots" && hub.starts_with(kHubPrefix)) {
    return repair_utf8(hub.substr(hub.rfind(kHubSeparator) + kHubSeparator.size())).text;
  }
  return repair_utf8(whole.filename().string()).text;  // it goes into JSON
}

// The snapshot to use of a model in the cache.
fs::path choose_snapshot(const fs::path& folder) {
  const fs::path ref = folder / "refs" / "main", snapshots = folder / "snapshots";
  std::error_code ignored;
  if (fs::is_regular_file(ref, ignored)) {
    std::string commit = read_plain_file(ref);
    commit.erase(std::ranges::find_if(commit, [](char c) { return c == '\n' || c == '\r'; }), commit.end());
    const bool plain = !commit.empty() && commit.find('/') == commit.npos && commit != "." && commit != "..";
    if (plain && is_folder(snapshots / commit)) return snapshots / commit;
  }
  std::vector<fs::path> there;
  for (const fs::directory_entry& entry : fs::directory_iterator(snapshots, ignored)) {
    if (entry.is_directory(ignored)) there.push_back(entry.path());
  }
  if (there.size() == 1) return there.front();
  fail("{}: holds {} snapshots and refs/main names none of them; give the directory of one", folder.string(),
       there.size());
}

}  // namespace

Places places_beside_program() {
  fs::path folder = folder_of_this_code();
  for (int up = 0; up < 4 && !folder.empty(); ++up) {
    if (is_folder(folder / "share" / "buoy" / "models")) return {folder / "share" / "buoy", {}};
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return {};
}

FoundModel find_model(const std::string& model, const Places& places) {
  if (is_folder(model)) return {model, name_of_directory(model)};
  const auto slashes = std::ranges::count(model, '/');
  if (slashes == 0 && !model.empty() && model != "." && model != "..") {
    const fs::path bundled = places.share / "models" / model;
    if (!places.share.empty() && is_folder(bundled)) return {bundled, model};
  }
  if (slashes <= 1 && !places.hub_cache.empty() && !model.empty()) {
    const fs::path folder = places.hub_cache / hub_folder(model);
    if (is_folder(folder)) return {choose_snapshot(folder), model.substr(model.rfind('/') + 1)};
  }
  std::error_code ignored;
  if (fs::exists(model, ignored)) fail("{}: is no directory, expected that of a model", model);
  const std::vector<std::string> bundled = bundled_models(places);
  fail("{}: no such model directory, {}, and not in the Hugging Face cache{}", model,
       bundled.empty() ? "no bundled models beside this program"
                       : fmt::format("no bundled model of that name ({})", fmt::join(bundled, ", ")),
       places.hub_cache.empty() ? "" : fmt::format(" {}", places.hub_cache.string()));
}

std::vector<std::string> bundled_models(const Places& places) {
  std::vector<std::string> names;
  std::error_code ignored;
  if (places.share.empty()) return names;
  for (const fs::directory_entry& entry : fs::directory_iterator(places.share / "models", ignored)) {
    if (entry.is_directory(ignored)) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path bundled_data(const Places& places, const std::string& name) {
  const fs::path path = places.share / "data" / name;
  if (places.share.empty() || !fs::exists(path)) {
    fail("the bundled {} is not there (share/buoy/data beside the program); name a dataset", name);
  }
  return path;
}

}  // namespace buoy
