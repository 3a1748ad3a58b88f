// buoy forward: one pass over a sequence; logits, attentions and hidden states to an npz file.
#include <cstdio>
#include <memory>
#include <numeric>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/prompt.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/finite.h"
#include "buoy/io/npz.h"
#include "buoy/model/capture.h"

namespace buoy {
namespace {

struct ForwardFlags {
  ModelFlags model;
  PromptOptions prompt;
  std::string output;
  CaptureOptions capture;
};

void forward_command(const ForwardFlags& options) {
  const std::vector<TokenId> ids =
      read_prompt(options.prompt, find_model(options.model.model, command_places()).directory).ids;
  const LoadedModel loaded = load(options.model);
  const ModelConfig& c = loaded.config();
  const Index T = std::ssize(ids);
  if (options.capture.attentions && !CaptureTap::fits(c, T)) {
    fail_usage("--attentions: {} heads × {}² exceed the limit of {} numbers a layer; use a shorter sequence",
               c.H, T, kMaxMatrixElements);
  }
  CaptureTap tap(options.capture);
  std::vector<Index> rows(ids.size());
  std::iota(rows.begin(), rows.end(), 0);
  const ForwardSequence sequence{.ids = ids, .read_rows = rows};
  const Tensor logits = loaded.model().forward({&sequence, 1}, &tap);
  std::vector<float> values(static_cast<std::size_t>(T * c.V));
  loaded.backend().download(logits, values);
  if (!all_finite(values)) fail("{}: the logits are not all finite", loaded.name());
  NpzArrays arrays;
  arrays["input_ids"] = NpyArray::of(std::vector<Index>(ids.begin(), ids.end()), {T});
  arrays["logits"] = NpyArray::of(values, {T, c.V});
  if (options.capture.attentions) arrays["attentions"] = NpyArray::of(tap.attentions, {c.L, c.H, T, T});
  if (options.capture.hidden) arrays["hidden"] = NpyArray::of(tap.hidden_states, {c.L + 1, T, c.E});
  if (c.told_family) arrays["family"] = NpyArray::of_text({std::string(c.family->key)}, {});
  write_npz(options.output, arrays);
  for (const auto& [name, array] : arrays) {
    std::fprintf(stderr, "%-12s %s\n", name.c_str(), to_string(array.shape).c_str());
  }
}

}  // namespace

void add_forward(Command& command) {
  auto options = std::make_shared<ForwardFlags>();
  Verb verb = command.verb("forward", "One pass over a sequence: logits, attentions, hidden states");
  options->model.add_to(verb);
  add_prompt_options(verb, options->prompt);
  verb.option("-o,--output", &options->output, "The npz file to write").required();
  verb.flag("--attentions", &options->capture.attentions, "Add attentions [L,H,T,T]");
  verb.flag("--hidden", &options->capture.hidden, "Add hidden [L+1,T,E]; the last one after the final norm");
  verb.footer(
      "The file holds input_ids [T], logits [T,V] and what the flags add (with --family, what it said);\n"
      "numpy.load opens it.\n\n"
      "Examples:\n"
      "  buoy forward --ids 0,17,25,2,2 -o out.npz\n"
      "  buoy forward --prompt \"Question: Where was Ada born?\" --attentions -o out.npz\n"
      "  buoy forward --model models/mini-arm --ids 0,17,25 --attentions --hidden -o out.npz\n");
  verb.runs([options] { forward_command(*options); });
}

}  // namespace buoy
