// What distinguishes the model families, as data: key names, tensor names, switches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/compute/mask.h"
#include "buoy/compute/routing.h"

namespace buoy {

// How text comes about: masks anywhere are filled, step by step, or tokens are appended to the end.
enum class Writing { kFillsMasks, kAppends };

// "masked diffusion", "autoregressive".
std::string_view name_of(Writing writing);

// What a pass leaves for the next: nothing; the keys and values of all positions so far, to which the next
// pass adds its own; or those of the blocks that are finished, which no later pass would change.
enum class Cache { kNone, kAppend, kBlocks };

// How the rows of attention that are recorded relate from pass to pass: each pass computes all of them anew,
// or its rows stand and the next pass adds more.
enum class PassRows { kAnew, kAddUp };

// How tokens are chosen; each family has its own published sampler.
enum class SamplerKind {
  kLlada,
  kA2d,
  kDream,
  kAutoregressive,
  kBd3lm,
  kSdar,
  kLlada2,
  kStableDiffcoder,
  kFastDllm
};

// "LLaDA", "A2D (MDLM)", "Dream", …
std::string_view name_of(SamplerKind sampler);

// What a layer is made of. Each kind is a part: its weights in weights.cc, its loading in transformer.cc, its
// work in compute/layer.h.
enum class NormKind { kRms };                      // before the mixer, before the feed-forward and at the end
enum class MixerKind { kAttention, kSsd };         // how rows of a sequence come to know each other
enum class PositionKind { kRotary, kNone };        // how the mixer knows where they stand
enum class FeedForwardKind { kSwiglu, kExperts };  // what every row goes through by itself
struct LayerShape {
  NormKind norm;
  MixerKind mixer;
  PositionKind positions;
  FeedForwardKind feed_forward;
};

// "attention", "ssd": as config.json and a trace spell it.
std::string_view name_of(MixerKind mixer);

// A setting of config.json that this engine can only honour at one value. Absent or null means that value.
struct RequiredSetting {
  std::string_view key;
  std::string_view value;  // as JSON text
};

// What a family's own code takes where config.json is silent (not where it says null), and this engine would
// take something else.
struct SilentSetting {
  std::string_view key;
  std::string_view value;  // as JSON text
};

// Where config.json keeps each size. Those that are empty are not read.
struct ConfigKeys {
  std::string_view width, layers, heads, key_heads, mlp, context, tied;
  std::string_view head_size = "head_dim";  // absent: width ÷ heads
  std::string_view embedding_rows = {};     // may exceed vocab_size; empty: vocab_size it is
  std::string_view qkv_bias = {};           // empty: Family::qkv_bias, always
  std::string_view output_bias = {};        // of attention's output; empty: none
  std::string_view qk_norm = {};            // empty: Family::qk_norm, always
  std::string_view rotary_share = {};       // which part of a head is rotated; empty: all of it
  std::string_view clip_qkv = {};           // bound of queries, keys and values; empty: none
  std::string_view block = {};              // positions a block; empty: Family::block
};

// Where config.json keeps the sizes of experts, and which router they have.
struct ExpertKeys {
  RouterKind router;
  std::string_view count, active, mlp;
  std::string_view groups = {}, kept_groups = {};  // empty: one group
  std::string_view scale = {};                     // of the weights; empty: 1
  std::string_view shared_mlp = {};                // width of the shared expert, or
  std::string_view shared_count = {};              // how many of an expert's width it has; empty: none
  std::string_view bias = {};                      // whether there is one; empty: a sigmoid router has
  std::string_view first = {};                     // number of dense layers before the first with experts, or
  std::string_view layers = {};                    // list: 0 where a layer is dense, or
  std::string_view every = {};                     // only every so many have experts,
  std::string_view dense = {};                     // and those listed here do not
  std::string_view normalize = {};  // whether softmax weights are divided by their sum; empty: not
};

// Where config.json keeps the sizes of state space mixers, and which layers have them. Such a family is
// strict: tensors of a mixer that its layer does not have are refused.
struct SsdKeys {
  std::string_view state, kernel, mlp;
  std::string_view layers;               // list of "ssd" and "attention", one for each layer
  std::string_view mixer_parts[2] = {};  // what names of a mixer's tensors have in them
};

// Names of the weights; "{}" stands for the layer number, a second one for the expert's. Those that are empty
// are not there.
struct WeightNames {
  std::string_view embedding, attention_norm;
  std::string_view q, k, v;  // or, with `qkv`, one below the other in one
  std::string_view o, mlp_norm, gate, up, down, final_norm, head;
  std::string_view qkv = {};
  std::string_view q_norm = {}, k_norm = {};
  std::string_view router = {}, router_bias = {}, expert_gate = {}, expert_up = {}, expert_down = {};
  std::string_view shared_gate = {}, shared_up = {}, shared_down = {};
  std::string_view ssd_in = {}, ssd_conv = {}, ssd_dt_bias = {}, ssd_a_log = {}, ssd_fc_d = {}, ssd_d = {},
                   ssd_norm = {}, ssd_out = {};
};

// Where blocks begin: with the sequence, or so that the first generated token begins one.
enum class BlockStart { kSequence, kAnswer };

struct Family {
  std::string_view name;
  std::string_view key;                             // as --family spells it
  std::span<const std::string_view> architectures;  // as config.json spells them; none: by --family alone
  std::string_view model_type;                      // where there are no architectures; empty: none
  Writing writing;
  Mask mask;        // of families without blocks; ask ModelConfig::mask
  Index block = 0;  // positions a block, when config.json is silent; 0: no blocks
  BlockStart block_start = BlockStart::kSequence;
  Cache cache;
  PassRows rows;
  LayerShape layer;  // of dense layers; ask ModelConfig::layer()
  SamplerKind sampler;
  Index logit_shift;  // row p − shift predicts position p; what is appended follows its row
  ConfigKeys keys;
  const ExpertKeys* experts = nullptr;  // null: none
  const SsdKeys* ssd = nullptr;         // null: every layer has attention
  bool qkv_bias, qk_norm = false;
  double rms_epsilon, rope_theta;      // when config.json is silent, as the public code has it
  std::string_view mask_token = {};    // where config.json has no mask_token_id; empty: the tokenizer's own
  std::optional<TokenId> mask_id;      // where neither says
  std::optional<TokenId> end_of_turn;  // beside EOS; used where the vocabulary reaches that far
  WeightNames weights;
  std::span<const RequiredSetting> required;
  std::span<const SilentSetting> silent = {};
};

std::span<const Family> families();

// The family of a config.json's model_type, of one of its architectures, of a --family; nullptr when unknown.
const Family* find_family(std::string_view model_type);
const Family* find_architecture(std::string_view architecture);
const Family* find_family_key(std::string_view key);

// What --family takes.
std::vector<std::string> family_keys();

}  // namespace buoy
