// Opens a checkpoint directory: finds its safetensors files, maps them, and checks them against the index.
#include <algorithm>
#include <set>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/plain_file.h"
#include "buoy/io/safetensors.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxListed = 8;

using WeightMap = std::map<std::string, std::string>;  // tensor → shard

// "a, b, c and 12 more": a message stays one readable line however much is wrong.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text;
}

// What lies in `directory` that someone may have taken for a checkpoint, sorted.
std::vector<std::string> lookalikes(const fs::path& directory, std::string_view prefix,
                                    std::string_view suffix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix)) names.push_back(quote(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void fail_no_weights(const fs::path& directory) {
  std::string hint;
  if (const auto others = lookalikes(directory, "", ".safetensors"); !others.empty()) {
    hint = fmt::format("; it holds {}, but no index that says what they are", listed(others));
  } else if (const auto bins = lookalikes(directory, "pytorch_model", ".bin"); !bins.empty()) {
    hint = fmt::format("; it holds {}, but only safetensors are read", listed(bins));
  }
  fail("{}: neither {} nor {} is there{}", directory.string(), kSingle, kIndex, hint);
}

// A shard must lie inside the checkpoint directory, whatever an index from elsewhere says.
void check_shard_name(const std::string& shard, const std::string& tensor, const std::string& place) {
  const fs::path path(shard);
  const bool inside = !shard.empty() && path.is_relative() && path.has_filename() &&
                      shard.find('\0') == std::string::npos &&
                      std::find(path.begin(), path.end(), fs::path("..")) == path.end();
  if (!inside) {
    fail("{}: {} is placed in {}, expected a file inside the checkpoint directory", place, quote(tensor),
         quote(shard));
  }
}

WeightMap read_weight_map(const fs::path& index) {
  const std::string place = index.string();
  const Json json = parse_json_unique(read_plain_file(index), place);
  const Json* map = JsonObject(json, place).find("weight_map");
  if (map == nullptr) fail("{}: \"weight_map\" is missing", place);
  const JsonObject object(*map, place + ": \"weight_map\"");
  if (map->empty()) fail("{}: is empty", object.place());
  WeightMap weights;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      fail("{}: {} is {}, expected a file name", object.place(), quote(tensor), kind_of(shard));
    }
    check_shard_name(shard.get_ref<const std::string&>(), tensor, place);
    weights.emplace(tensor, shard.get<std::string>());
  }
  return weights;
}

std::vector<fs::path> shard_files(const WeightMap& weights, const fs::path& directory,
                                  const fs::path& index) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weights) shards.insert(shard);
  std::vector<fs::path> files;
  std::vector<std::string> missing;
  for (const std::string& shard : shards) {
    files.push_back(directory / shard);
    std::error_code error;
    if (!fs::exists(files.back(), error)) missing.push_back(quote(shard));
  }
  if (!missing.empty()) {
    fail("{}: {} of {} shards missing: {}", index.string(), missing.size(), shards.size(), listed(missing));
  }
  return files;
}

// Compares where the index places each tensor with where it is.
class IndexCheck {
 public:
  IndexCheck(const WeightMap& weights, const fs::path& directory, const fs::path& index)
      : weights_(weights), directory_(directory), index_(index) {}

  void add(const fs::path& file, const std::map<std::string, TensorView>& tensors) {
    for (const auto& [name, view] : tensors) {
      const auto placed = weights_.find(name);
      if (placed != weights_.end() && directory_ / placed->second == file) {
        found_.insert(name);
      } else {
        unnamed_.push_back(fmt::format("{} in {}", quote(name), file.filename().string()));
      }
    }
  }

  void finish() const {
    std::vector<std::string> lacking;
    for (const auto& [name, shard] : weights_) {
      if (!found_.contains(name)) lacking.push_back(fmt::format("{} in {}", quote(name), quote(shard)));
    }
    std::string trouble;
    if (!lacking.empty()) {
      trouble = fmt::format("{} tensors are not where it places them: {}", lacking.size(), listed(lacking));
    }
    if (!unnamed_.empty()) {
      trouble += fmt::format("{}{} tensors are in shards it does not place them in: {}",
                             trouble.empty() ? "" : "; ", unnamed_.size(), listed(unnamed_));
    }
    if (!trouble.empty()) fail("{}: {}", index_.string(), trouble);
  }

 private:
  const WeightMap& weights_;
  const fs::path& directory_;
  const fs::path& index_;
  std::set<std::string> found_;
  std::vector<std::string> unnamed_;
};

}  // namespace

Checkpoint Checkpoint::open(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) fail("{}: no such checkpoint directory", directory.string());
  if (!fs::is_directory(status)) fail("{}: is not a directory, expected a checkpoint", directory.string());
  const fs::path single = directory / kSingle;
  const fs::path index = directory / kIndex;
  const bool sharded = !fs::exists(single, error);
  if (sharded && !fs::exists(index, error)) fail_no_weights(directory);

  Checkpoint checkpoint;
  const WeightMap weights = sharded ? read_weight_map(index) : WeightMap{};
  checkpoint.files_ = sharded ? shard_files(weights, directory, index) : std::vector<fs::path>{single};
  IndexCheck check_index(weights, directory, index);
  for (const fs::path& file : checkpoint.files_) {
    checkpoint.maps_.emplace_back(file);
    auto tensors = parse_safetensors(checkpoint.maps_.back().bytes(), file.string());
    if (sharded) check_index.add(file, tensors);
    for (auto& [name, view] : tensors) checkpoint.tensors_.emplace(name, std::move(view));
  }
  if (sharded) check_index.finish();
  if (checkpoint.tensors_.empty()) fail("{}: holds no tensor", single.string());
  return checkpoint;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

Index Checkpoint::total_bytes() const {
  Index total = 0;
  for (const auto& [name, view] : tensors_) total += static_cast<Index>(view.bytes.size());
  return total;
}

}  // namespace buoy
