// Reads safetensors checkpoints, single file or sharded, without copying a weight.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/io/mapped_file.h"
#include "buoy/io/tensor_view.h"

namespace buoy {

// As the format spells it: "BF16".
std::string_view safetensors_name(DType dtype);

// Parses the header of one safetensors file held in `bytes` and returns its tensors as views into them.
// Checked: header length against the file, JSON shape, known dtypes, offsets within the data, size = shape ×
// dtype, no overlap, no gap, no duplicate name. Throws Error starting with `place`.
std::map<std::string, TensorView> parse_safetensors(std::span<const std::byte> bytes, std::string_view place);

// All tensors of a checkpoint directory: `model.safetensors` if there is one (as transformers prefers it),
// else the shards that `model.safetensors.index.json` names. Const and safe to share between threads once
// open; views live as long as the object.
class Checkpoint {
 public:
  // Throws Error naming every missing shard, every tensor the index places in a shard that lacks it, and
  // every tensor in a shard that the index does not name.
  static Checkpoint open(const std::filesystem::path& directory);

  // nullptr when there is no such tensor.
  const TensorView* find(std::string_view name) const;
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  Index total_bytes() const;  // of tensor data

 private:
  std::vector<MappedFile> maps_;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace buoy
