// What a language model is to everyone outside this room: token ids in, logits of the rows that are read out,
// one seam (tap.h) for watching and changing what goes on inside.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/base/log.h"
#include "buoy/compute/backend.h"
#include "buoy/model/config.h"
#include "buoy/model/tap.h"

namespace buoy {

// Keys and values of the positions that earlier passes have seen. One per sequence; grows up to its capacity.
// A caller may take the length back: what lies behind it is computed again. Where passes name their positions
// the caller sets the length, that of the whole sequence, and no pass changes it.
struct KvCache {
  Index length = 0;
  std::vector<Tensor> keys, values;  // per layer [capacity, Hkv·D], rotated
};

// One sequence of a batch.
struct ForwardSequence {
  std::span<const TokenId> ids;      // the new tokens; with a cache they follow what it holds
  std::span<const Index> read_rows;  // indices into ids whose logits are wanted, in this order
  KvCache* cache = nullptr;          // extended by the call; under a full mask only with positions
  std::optional<Mask> mask = {};     // what the rows see; none: ModelConfig::mask
  // Where each id stands in a sequence under a full mask, ascending; needs a cache. The rows that are not
  // among them are not computed: they take part with the keys and values that the cache holds, so that the
  // first pass names all. What is computed replaces what was held.
  std::span<const Index> positions = {};
};

// Const after loading and shared by all who generate; the backend is used by one caller at a time.
class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual Backend& backend() const = 0;

  // Logits [Σ|read_rows|, V] of a batch of sequences, one pass. Throws Error for ids outside the vocabulary
  // and for sequences longer than the context. A sequence's result does not depend on the others.
  virtual Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const = 0;

  virtual KvCache make_cache(Index capacity) const = 0;
};

// Opens, checks and loads a checkpoint directory. Throws Error listing every problem at once. The backend
// must outlive the model. `family` as for read_model_config().
std::unique_ptr<Model> load_model(const std::filesystem::path& directory, Backend& backend,
                                  const WarningSink& warnings, std::string_view family = {});

}  // namespace buoy
