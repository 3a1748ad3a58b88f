// A whole checkpoint directory: whatever its files hold, it is loaded or refused, and what is loaded fits
// together.
#include <cstdint>

#include "buoy/io/safetensors.h"
#include "buoy/model/config.h"
#include "buoy/model/memory.h"
#include "buoy/model/weights.h"
#include "fuzz/scratch.h"

namespace {

using namespace buoy;

std::string with_length(std::string_view header, std::string_view tensors) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(tensors);
}

void put_or_remove(const char* name, std::string_view bytes) {
  if (bytes.empty()) {
    std::filesystem::remove(fuzzing::scratch() / name);
  } else {
    fuzzing::put(name, bytes);
  }
}

}  // namespace

// The input, cut at bytes 0xFE: config.json, generation_config.json, the index of the shards, the header of
// the tensors' file, the tensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size), parts[5];
  for (std::string_view& part : parts) {
    const std::size_t end = &part == &parts[4] ? rest.npos : rest.find('\xFE');
    part = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  const bool sharded = !parts[2].empty();
  const std::string tensors = with_length(parts[3], parts[4]);
  fuzzing::put("config.json", parts[0]);
  put_or_remove("generation_config.json", parts[1]);
  put_or_remove("model.safetensors.index.json", parts[2]);
  put_or_remove("model.safetensors", sharded ? "" : tensors);
  fuzzing::put("a.safetensors", tensors);
  fuzzing::attempt([] {
    const ModelConfig config = read_model_config(fuzzing::scratch());
    check(config.H % config.Hkv == 0 && config.D % 2 == 0 && config.V > 0 && config.rms_epsilon > 0,
          "a config fits together");
    const Checkpoint checkpoint = Checkpoint::open(fuzzing::scratch());
    const WeightReport report = inspect_weights(config, checkpoint);
    static_cast<void>(estimate_memory(config, report, config.context));
    verify_weights(config, checkpoint, "fuzz", {});
  });
  return 0;
}
