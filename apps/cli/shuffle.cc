// buoy shuffle: a checkpoint's twin with the entries of every matrix permuted.
#include "buoy/engine/shuffle.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "apps/cli/environment.h"
#include "apps/cli/verb.h"
#include "buoy/engine/places.h"

namespace buoy {
namespace {

struct ShuffleOptions {
  std::string model = "mini-mdm", output;
  Index seed = 1;
};

void shuffle_command(const ShuffleOptions& options) {
  const FoundModel found = find_model(options.model, command_places());
  const std::string output =
      options.output.empty() ? fmt::format("{}-shuffled-{}", found.name, options.seed) : options.output;
  shuffle_model(found.directory, static_cast<std::uint64_t>(options.seed), output);
  std::printf("%s\n", output.c_str());
}

}  // namespace

void add_shuffle(Command& command) {
  auto options = std::make_shared<ShuffleOptions>();
  Verb verb = command.verb("shuffle", "Write a model's twin with shuffled weights, to test findings on");
  verb.option("-m,--model", &options->model, "Directory, bundled model, or Hub name in the local cache");
  verb.option("--seed", &options->seed, "Which permutation").at_least(0);
  verb.option("-o,--output", &options->output,
              "The directory to write, which must not be there; default: MODEL-shuffled-SEED here");
  verb.footer(
      "The entries of every matrix are permuted within it; norms, tokenizer and config stay. What the twin "
      "shows\n"
      "as well was not learned.\n\n"
      "Examples:\n"
      "  buoy shuffle --model mini-mdm --seed 1 -o mini-mdm-shuffled-1\n"
      "  buoy shuffle --model mini-arm --seed 1 -o mini-arm-shuffled-1\n"
      "  buoy study -m mini-mdm-shuffled-1 -m mini-arm-shuffled-1 --limit 20 -o noise\n");
  verb.runs([options] { shuffle_command(*options); });
}

}  // namespace buoy
