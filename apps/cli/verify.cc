// buoy verify: proves the engine on a checkpoint against another implementation's results.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/decode/golden.h"

namespace buoy {
namespace {

struct VerifyFlags {
  ModelFlags model;
  std::string golden;
};

void verify_command(const VerifyFlags& options) {
  const NpzArrays golden = read_npz(options.golden);
  const LoadedModel loaded = load(options.model);
  const bool bf16 = loaded.backend().name().find("bf16") != std::string_view::npos;
  const std::vector<GoldenCheck> checks =
      check_golden(loaded.model(), golden, options.golden, bf16 ? kBf16GoldenTolerance : GoldenTolerance{});
  for (const GoldenCheck& check : checks) {
    std::printf("%-4s  %-28s %s\n",
                !check.compared ? "-"
                : check.passed  ? "ok"
                                : "FAIL",
                check.array.c_str(), check.measured.c_str());
  }
  const auto compared = std::ranges::count(checks, true, &GoldenCheck::compared);
  const auto failed = std::ranges::count(checks, false, &GoldenCheck::passed);
  std::printf("%s on %s: %d checks, %d failed\n", for_output(loaded.name()).c_str(),
              std::string(loaded.backend().name()).c_str(), static_cast<int>(compared),
              static_cast<int>(failed));
  if (failed > 0) fail("{}: {} of {} checks failed", options.golden, failed, compared);
}

}  // namespace

void add_verify(Command& command) {
  auto options = std::make_shared<VerifyFlags>();
  Verb verb = command.verb("verify", "Compare a model with results of another implementation");
  options->model.add_to(verb);
  verb.option("--golden", &options->golden, "The npz file with the results to meet").required();
  verb.footer(
      "tools/dump_golden.py makes such a file from any checkpoint with your own PyTorch and transformers;\n"
      "docs/verify.md lists its arrays. Limits: logits 1e-4 of the largest, attentions 1e-4, tokens "
      "equal.\n\n"
      "Examples:\n"
      "  buoy verify --model tests/goldens/llada --golden tests/goldens/llada/golden.npz\n"
      "  python3 tools/dump_golden.py --model /models/Llama-3.1-8B -o llama.npz\n"
      "  buoy verify --model /models/Llama-3.1-8B --golden llama.npz\n");
  verb.runs([options] { verify_command(*options); });
}

}  // namespace buoy
