#include "apps/cli/data_flags.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr Index kAnyLayer = Index{1} << 20;  // the model's own number is checked when it is known

}  // namespace

void RecordFlags::add_to(Verb& verb) {
  const std::string group = "Recording";
  verb.option("--record", &statistics,
              "What of every step: received, flow, answer, qk, keys, experts, or none")
      .split_at(',')
      .choices({"received", "flow", "answer", "qk", "keys", "experts", "none"})

      .group(group);
  verb.option("--record-steps", &steps, "all, every:4, or a list such as 0,3,7")

      .group(group);
  verb.option("--layers", &layers, "all, or a list such as 0,4-7").group(group);
  verb.flag("--per-head", &per_head, "Keep the received attention of every head at every step").group(group);
  verb.option("--implicit", &implicit, "What stands for attention in state space layers (docs/ssd.md)")
      .choices({"energy", "magnitude"})
      .group(group);
}

RecordSettings RecordFlags::settings() const {
  const auto wants = [&](const char* name) {
    return std::ranges::find(statistics, name) != statistics.end();
  };
  if (wants("none") && statistics.size() > 1) fail_usage("--record none stands alone");
  if (per_head && !wants("received")) fail_usage("--per-head has no effect without --record received");
  return {.steps = parse_steps(steps),
          .layers = parse_layers(layers, kAnyLayer),
          .heads = per_head ? HeadDetail::kPerHead : HeadDetail::kAveraged,
          .received = wants("received"),
          .flow = wants("flow"),
          .answer_rows = wants("answer"),
          .qk = wants("qk"),
          .keys = wants("keys"),
          .experts = wants("experts"),
          .implicit = parse_implicit(implicit)};
}

void DataFlags::add_to(Verb& verb, const std::string& format_names) {
  std::string names;
  for (const BundledTemplate& b : bundled_templates()) names += fmt::format("{}, ", b.name);
  verb.option(
      "--template", &prompt_template,
      fmt::format("Prompt template: {}or a file; auto: what the checkpoint says, else unified", names));
  if (!format_names.empty()) {
    std::string formats;
    for (Index f = 0; f < kDatasetFormatCount; ++f)
      formats += fmt::format("{}, ", name_of(static_cast<DatasetFormat>(f)));
    verb.option(format_names, &format,
                fmt::format("Format of the datasets: {}or auto: told from each file", formats));
  }
  chat.add_to(verb);
  verb.option("--limit", &limit, "At most this many items of a dataset; 0: all").at_least(0);
  verb.option("--batch-size", &batch_size, "Examples that run together; no result depends on it")
      .between(1, 4096);
}

DataSettings DataFlags::data(const std::vector<std::string>& files) const {
  return {.files = {files.begin(), files.end()},
          .format = format == "auto" ? std::nullopt : std::optional(dataset_format_named(format)),
          .limit = limit > 0 ? std::optional(limit) : std::nullopt};
}

PromptSettings DataFlags::prompt() const {
  return {.prompt_template = prompt_template, .chat = chat.chat(), .date = chat.date()};
}

}  // namespace buoy
