#include "buoy/model/fingerprint.h"

#include "buoy/io/hash.h"
#include "buoy/io/mapped_file.h"
#include "buoy/io/plain_file.h"

namespace buoy {
namespace {

constexpr std::size_t kWhole = std::size_t{1} << 20, kBlocks = 16, kBlock = kWhole / kBlocks;

void add_contents(Hasher& hasher, std::span<const std::byte> bytes) {
  if (bytes.size() <= kWhole) return hasher.add(bytes);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    hasher.add(bytes.subspan((bytes.size() - kBlock) / (kBlocks - 1) * b, kBlock));
  }
}

}  // namespace

std::string fingerprint_model(const std::filesystem::path& directory, const Checkpoint& checkpoint) {
  Hasher hasher;
  hasher.add(read_plain_file(directory / "config.json"));
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    hasher.add(name);
    hasher.add(name_of(tensor.dtype));
    hasher.add(to_string(tensor.shape));
    add_contents(hasher, tensor.bytes);
  }
  return hasher.hex();
}

std::string fingerprint_file(const std::filesystem::path& path) {
  Hasher hasher;
  hasher.add(MappedFile(path).bytes());
  return hasher.hex();
}

std::string fingerprint_tokenizer(const std::filesystem::path& directory) {
  Hasher hasher;
  bool any = false;
  for (const char* name :
       {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer_config.json", "chat_template.jinja"}) {
    if (!std::filesystem::exists(directory / name)) continue;
    any = true;
    hasher.add(name);
    hasher.add(read_plain_file(directory / name));
  }
  return any ? hasher.hex() : "";
}

}  // namespace buoy
