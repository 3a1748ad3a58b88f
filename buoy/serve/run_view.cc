#include "buoy/serve/run_view.h"

#include <algorithm>

#include "buoy/analysis/received.h"
#include "buoy/base/at.h"
#include "buoy/io/json.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/http.h"

namespace buoy {
namespace {

std::string mask_name(const Mask& mask) {
  return mask == Mask::kFull ? "full" : mask == Mask::kCausal ? "causal" : "blocks";
}

Json or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

Json or_null(const std::optional<Index>& number) {
  return number ? Json(*number) : Json();
}

void add_regions(const RegionMap& regions, Json& json) {
  for (const char* name : {"regions", "region_names", "region_kinds", "region_gold"})
    json[name] = Json::array();
  for (const Index region : regions.of) json["regions"].push_back(regions.regions[at(region)].name());
  for (const Region& region : regions.regions) {
    json["region_names"].push_back(region.name());
    json["region_kinds"].push_back(name_of(region.kind));
    json["region_gold"].push_back(region.gold);
  }
}

Json settings_of(const Trace& trace) {
  Json settings = parse_json(trace.header.settings, "settings");
  return settings.is_object() && settings.contains("sampler") ? settings["sampler"] : Json::object();
}

const TraceArray* find_array(const std::string& name) {
  const auto found = std::ranges::find(trace_arrays(), name, &TraceArray::name);
  return found == trace_arrays().end() ? nullptr : &*found;
}

bool is_there(const TraceArray& array, const Trace& trace) {
  bool there = false;
  array.visit(trace, [&](const auto& values) {
    there = !values.empty() && std::ssize(values) == element_count(array.shape_in(trace));
  });
  return there;
}

// Row `index` of dimension `axis`, the only one left of it.
template <typename T>
std::vector<T> slice_of(const std::vector<T>& values, Shape& shape, std::size_t axis, Index index) {
  Index outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<T> made;
  made.reserve(at(outer * inner));
  for (Index o = 0; o < outer; ++o) {
    const auto begin = values.begin() + (o * shape[axis] + index) * inner;
    made.insert(made.end(), begin, begin + inner);
  }
  shape[axis] = 1;
  return made;
}

template <typename T>
NpyArray to_npy(const std::vector<T>& values, const Shape& shape) {
  if constexpr (std::is_floating_point_v<T>) {
    const std::vector<float> floats(values.begin(), values.end());
    return NpyArray::of(floats, shape);
  } else {
    std::vector<std::int32_t> integers;
    integers.reserve(values.size());
    for (const T value : values) integers.push_back(static_cast<std::int32_t>(value));
    return NpyArray::of(integers, shape);
  }
}

struct AnchorPlace {
  Index t, l;
};

void add_anchors(const RunRecord& run, const Received& received, const AnchorOptions& options,
                 const AnchorPlace& place, Json& list) {
  const Trace& trace = run.trace;
  for (const Index j : received.anchors(options)) {
    const bool finished = place.t >= run.S();
    const TokenClass kind = finished ? trace.classes[at(j)] : trace.class_at(place.t, j);
    list.push_back(
        {{"step", place.t},
         {"layer", trace.layers[at(place.l)]},
         {"position", j},
         {"token", finished ? trace.tokens[at(j)] : trace.steps.tokens[at(place.t * trace.N() + j)]},
         {"received", received.share[at(j)]},
         {"lift", received.share[at(j)] / received.null[at(j)]},
         {"class", name_of(kind)},
         {"region", trace.regions.regions[at(trace.regions.of[at(j)])].name()}});
  }
}

}  // namespace

Json run_line(const RunRecord& run) {
  return {{"id", run.id},
          {"model", run.trace.header.model},
          {"title", run.title},
          {"state", name_of(run.state)},
          {"steps", run.S()},
          {"sample", run.trace.header.sample},
          {"mask", mask_name(run.trace.header.mask)},
          {"parent", or_null(run.parent)},
          {"fork_step", or_null(run.fork_step)},
          {"ask", or_null(run.ask)}};
}

Json run_json(const RunRecord& run, bool can_recompute) {
  const Trace& trace = run.trace;
  Json json = run_line(run);
  json["family"] = run.family;
  if (!run.error.empty()) json["error"] = run.error;
  json["prompt_length"] = trace.prompt_length;
  json["tokens"] = trace.tokens;
  json["pieces"] = trace.token_texts;
  add_regions(trace.regions, json);
  json["classes"] = Json::array();
  for (const TokenClass kind : trace.classes) json["classes"].push_back(name_of(kind));
  json["evidence"] = trace.evidence;
  json["mask_id"] = trace.header.mask_id ? Json(*trace.header.mask_id) : Json();
  json["step_numbers"] = trace.steps.steps;
  json["step_lengths"] = trace.steps.lengths;
  json["layers"] = trace.layers;
  json["mixers"] = Json::array();
  for (Index l = 0; l < trace.L(); ++l) json["mixers"].push_back(name_of(trace.mixer(l)));
  json["model_layers"] = trace.header.model_layers;
  json["heads"] = trace.H();
  json["mask_block"] = trace.header.mask.block();
  json["mask_offset"] = trace.header.mask.offset();
  json["rows"] = trace.header.rows == PassRows::kAddUp ? "add up" : "anew";
  json["commit_step"] = trace.commit_step;
  json["confidence"] = trace.confidence;
  json["step_tokens_url"] = fmt::format("/api/v1/runs/{}/steps/tokens", run.id);
  json["sampler"] = settings_of(trace);
  json["arrays"] = array_list(run);
  json["question"] = trace.header.question;
  json["answer"] = trace.header.output;
  json["gold"] = trace.header.answers.empty() ? Json() : Json(trace.header.answers);
  json["correct"] = trace.header.correct ? Json(*trace.header.correct) : Json();
  json["changes"] = Json::array();
  for (const RunChange& change : run.changes) json["changes"].push_back(to_json(change));
  json["pins"] = Json::array();
  for (const HeldLayer& held : run.held) {
    json["pins"].push_back({{"layer", held.layer},
                            {"step", held.step},
                            {"positions", held.positions},
                            {"pressed", held.pressed},
                            {"unsettled", held.unsettled}});
  }
  json["can_recompute"] = can_recompute;
  return json;
}

std::set<TokenId> ids_of(const RunRecord& run) {
  std::set<TokenId> ids(run.trace.tokens.begin(), run.trace.tokens.end());
  ids.insert(run.trace.steps.tokens.begin(), run.trace.steps.tokens.end());
  ids.insert(run.trace.steps.guesses.begin(), run.trace.steps.guesses.end());
  ids.erase(-1);
  return ids;
}

NpyArray step_tokens(const RunRecord& run) {
  std::vector<std::int32_t> all(run.trace.steps.tokens.begin(), run.trace.steps.tokens.end());
  all.insert(all.end(), run.trace.tokens.begin(), run.trace.tokens.end());
  return NpyArray::of(all, {run.S() + 1, run.N()});
}

NpyArray run_array(const RunRecord& run, const std::string& name, const ArraySlice& slice) {
  const TraceArray* array = find_array(name);
  if (array == nullptr || !is_there(*array, run.trace))
    fail_http(404, "array {} was not recorded", quote(name));
  NpyArray made;
  array->visit(run.trace, [&](const auto& values) {
    Shape shape = array->shape_in(run.trace);
    auto kept = values;
    const auto cut = [&](const std::optional<Index>& index, char letter, const char* what) {
      if (!index) return;
      const std::size_t axis = array->shape.find(letter);
      if (axis == array->shape.npos) fail_http(400, "array {} has no {}s", name, what);
      if (*index < 0 || *index >= shape[axis])
        fail_http(400, "{} is {}, expected 0 to {}", what, *index, shape[axis] - 1);
      kept = slice_of(kept, shape, axis, *index);
    };
    cut(slice.step, 'S', "step");
    cut(slice.layer, 'L', "layer");
    made = to_npy(kept, shape);
  });
  return made;
}

Json array_list(const RunRecord& run) {
  Json list = Json::array();
  for (const TraceArray& array : trace_arrays()) {
    if (!is_there(array, run.trace)) continue;
    bool floats = false;
    array.visit(run.trace, [&](const auto& values) {
      floats = std::is_floating_point_v<typename std::remove_cvref_t<decltype(values)>::value_type>;
    });
    list.push_back({{"name", array.name},
                    {"shape", array.shape_in(run.trace)},
                    {"dtype", floats ? "float32" : "int32"},
                    {"what", array.shape}});
  }
  return list;
}

NpyArray null_received(const RunRecord& run, Rows rows, Index t) {
  const std::vector<double> null = uniform_received(run.trace.header.mask, rows, run.length(t));
  std::vector<float> made(null.begin(), null.end());
  made.resize(at(run.N()), 0.0f);
  return NpyArray::of(made, {run.N()});
}

Json anchors_json(const RunRecord& run, Rows rows, const AnchorOptions& options) {
  Json list = Json::array();
  const Trace& trace = run.trace;
  for (Index t = 0; has_steps(trace) && t < run.S(); ++t) {
    for (Index l = 0; l < trace.L(); ++l)
      add_anchors(run, step_received(trace, t, l, rows), options, {t, l}, list);
  }
  for (Index l = 0; rows == Rows::kAll && !trace.finished.received.empty() && l < trace.L(); ++l)
    add_anchors(run, finished_received(trace, l), options, {run.S(), l}, list);
  return list;
}

Json flow_json(const RunRecord& run, Index t, Index layer) {
  const Trace& trace = run.trace;
  const Index R = trace.R();
  const std::vector<float>& from = t < run.S() ? trace.steps.flow : trace.finished.flow;
  const Index begin = ((t < run.S() ? t * trace.L() : 0) + layer) * R * R;
  if (std::ssize(from) < begin + R * R) fail_http(404, "flow was not recorded");
  Json matrix = Json::array(), names = Json::array();
  for (Index a = 0; a < R; ++a) {
    const auto row = from.begin() + begin + a * R;
    matrix.push_back(std::vector<float>(row, row + R));
    names.push_back(trace.regions.regions[at(a)].name());
  }
  return {{"regions", names}, {"matrix", matrix}};
}

}  // namespace buoy
