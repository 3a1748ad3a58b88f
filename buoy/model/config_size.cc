#include "buoy/model/config_size.h"

#include "buoy/base/error.h"

namespace buoy {
namespace {

// Tables are made for every layer and every position before there is a weight to compare them with.
constexpr Index kMostLayers = 4096, kLongestContext = Index{1} << 22;

Index largest(std::string_view key) {
  if (key == "n_layers" || key == "num_hidden_layers") return kMostLayers;
  if (key == "max_position_embeddings" || key == "max_sequence_length") return kLongestContext;
  return kLargestSize;
}

}  // namespace

Index read_size(const JsonObject& config, std::string_view key, std::optional<Index> fallback) {
  const Index size = fallback ? config.integer_or(key, *fallback) : config.integer(key);
  if (size < 1 || size > largest(key)) {
    fail("{}: \"{}\" is {}, expected 1 to {}", config.place(), key, size, largest(key));
  }
  return size;
}

}  // namespace buoy
