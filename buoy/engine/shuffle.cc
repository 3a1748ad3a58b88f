#include "buoy/engine/shuffle.h"

#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/io/json.h"
#include "buoy/io/safetensors.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// A directory under a temporary name beside its place, gone unless it was put there.
class NewDirectory {
 public:
  explicit NewDirectory(const fs::path& place)
      : place_(place), temporary_(fmt::format("{}.part-{}", place.string(), ::getpid())) {
    if (fs::exists(fs::symlink_status(place_))) fail("{}: is there already", place_.string());
    std::error_code error;
    fs::create_directories(temporary_, error);
    if (error) fail("{}: cannot be made a directory: {}", temporary_.string(), error.message());
  }
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory() {
    std::error_code error;
    if (!temporary_.empty()) fs::remove_all(temporary_, error);
  }

  const fs::path& path() const { return temporary_; }

  void commit() {
    // rename() would replace an empty directory that came in between; one that is not empty it refuses.
    std::error_code error;
    if (fs::exists(fs::symlink_status(place_))) fail("{}: is there already", place_.string());
    fs::rename(temporary_, place_, error);
    if (error) fail("{}: cannot be written: {}", place_.string(), error.message());
    temporary_.clear();
  }

 private:
  fs::path place_, temporary_;
};

using Tensors = std::map<std::string, TensorView, std::less<>>;

// Tensors one after the other in the order of names; padded so that the data begins at a multiple of 8.
std::string header_of(const Tensors& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  Index begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const Index end = begin + std::ssize(tensor.bytes);
    header[name] = {
        {"dtype", safetensors_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

// Fisher and Yates, each entry drawn by its own place: no order of draws to keep.
void permute(std::vector<std::byte>& bytes, std::size_t size, const DrawKey& key) {
  const auto at = [&](std::size_t i) { return bytes.begin() + static_cast<std::ptrdiff_t>(i * size); };
  for (std::size_t i = bytes.size() / size; i-- > 1;) {
    const auto j = static_cast<std::size_t>(uniform(key, i) * static_cast<double>(i + 1));
    if (j < i) std::swap_ranges(at(i), at(i) + static_cast<std::ptrdiff_t>(size), at(j));
  }
}

void write_weights(const Tensors& tensors, std::uint64_t seed, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const std::string header = header_of(tensors);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  std::uint32_t number = 0;
  for (const auto& [name, tensor] : tensors) {
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    const DrawKey key{.seed = seed, .sample = number++};
    if (tensor.shape.size() > 1) permute(bytes, static_cast<std::size_t>(size_of(tensor.dtype)), key);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  file.close();
  if (!file) fail("{}: cannot be written", path.string());
}

// What stands beside weights in a checkpoint and is not about how they are stored.
bool belongs(const fs::directory_entry& entry) {
  constexpr std::string_view kEndings[] = {".json", ".jinja", ".txt", ".model"};
  const fs::path& path = entry.path();
  return entry.is_regular_file() && path.filename() != "model.safetensors.index.json" &&
         std::ranges::find(kEndings, path.extension().string()) != std::end(kEndings);
}

}  // namespace

void shuffle_model(const fs::path& directory, std::uint64_t seed, const fs::path& output) {
  const Checkpoint checkpoint = Checkpoint::open(directory);
  NewDirectory made(output.has_filename() ? output : output.parent_path());
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (belongs(entry)) fs::copy_file(entry.path(), made.path() / entry.path().filename());
  }
  write_weights(checkpoint.tensors(), seed, made.path() / "model.safetensors");
  made.commit();
}

}  // namespace buoy
