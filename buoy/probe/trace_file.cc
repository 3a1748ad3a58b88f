// Traces as npz: one named array per field, and a JSON header.
#include "buoy/probe/trace_file.h"

#include <algorithm>
#include <limits>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

constexpr const char* kHeader = "header";
constexpr const char* kFormat = "buoy trace";

// The header's "kind" is how text came about. It also says which mask and which rows there were, unless keys
// of their own say otherwise: files of two kinds are older than the other combinations.
struct Implied {
  Mask mask;
  PassRows rows;
};

Implied implied_by(Writing writing) {
  if (writing == Writing::kAppends) return {Mask::kCausal, PassRows::kAddUp};
  return {Mask::kFull, PassRows::kAnew};
}

void write_what_kind_does_not_say(const TraceHeader& h, Json& json) {
  const Implied implied = implied_by(h.writing);
  if (h.mask != implied.mask) json["mask"] = {{"block", h.mask.block()}, {"offset", h.mask.offset()}};
  if (h.rows != implied.rows) json["rows"] = h.rows == PassRows::kAddUp ? "add up" : "anew";
}

// Far beyond any model and any sequence, far below what would make a figure endless or a product overflow.
constexpr Index kMostHeads = 4096, kMostExperts = 1 << 16, kMostLayers = 4096,
                kMostPositions = Index{1} << 28;

Index read_count(const JsonObject& header, std::string_view key, Index low, Index high) {
  const Index count = header.integer(key);
  if (count < low || count > high)
    fail("{}: \"{}\" is {}, expected {} to {}", header.place(), key, count, low, high);
  return count;
}

void read_kind(const JsonObject& header, TraceHeader& h) {
  const std::string kind = header.string("kind");
  if (kind != "causal" && kind != "masked")
    fail("{}: kind is \"{}\", expected causal or masked", header.place(), kind);
  h.writing = kind == "causal" ? Writing::kAppends : Writing::kFillsMasks;
  const Implied implied = implied_by(h.writing);
  h.mask = implied.mask;
  h.rows = implied.rows;
  if (const Json* found = header.find("mask")) {
    const JsonObject mask(*found, header.place() + ": mask");
    const Index block = read_count(mask, "block", 0, kMostPositions);
    const Index offset = read_count(mask, "offset", 0, kMostPositions);
    h.mask = block == 0 ? Mask::kFull : Mask::blocks(block, offset);
  }
  if (header.has("rows")) {
    const std::string rows = header.string("rows");
    if (rows != "anew" && rows != "add up")
      fail("{}: rows is \"{}\", expected anew or add up", header.place(), rows);
    h.rows = rows == "anew" ? PassRows::kAnew : PassRows::kAddUp;
  }
}

Json header_json(const Trace& trace) {
  const TraceHeader& h = trace.header;
  Json json = {{"format", kFormat},
               {"version", kTraceVersion},
               {"buoy", h.buoy_version},
               {"model", h.model},
               {"model_hash", h.model_hash},
               {"tokenizer_hash", h.tokenizer_hash},
               {"kind", h.writing == Writing::kAppends ? "causal" : "masked"},
               {"heads", h.H},
               {"key_heads", h.Hkv},
               {"model_layers", h.model_layers},
               {"prompt_length", trace.prompt_length},
               {"settings", parse_json(h.settings, "settings")},
               {"sample", h.sample},
               {"task", h.task},
               {"question", h.question},
               {"answers", h.answers},
               {"output", h.output}};
  if (h.mask_id) json["mask_id"] = *h.mask_id;
  if (h.correct) json["correct"] = *h.correct;
  if (h.experts > 0) json["experts"] = {{"count", h.experts}, {"active", h.active_experts}};
  for (const MixerKind mixer : h.mixers) json["mixers"].push_back(name_of(mixer));
  write_what_kind_does_not_say(h, json);
  return json;
}

std::vector<MixerKind> read_mixers(const JsonObject& object) {
  std::vector<MixerKind> mixers;
  const Json* list = object.find("mixers");
  if (list == nullptr) return mixers;
  if (!list->is_array()) fail("{}: \"mixers\" is {}, expected a list", object.place(), kind_of(*list));
  for (const Json& name : *list) {
    const std::string text = name.is_string() ? name.get<std::string>() : std::string();
    const MixerKind mixer = text == name_of(MixerKind::kSsd) ? MixerKind::kSsd : MixerKind::kAttention;
    if (text != name_of(mixer)) {
      fail("{}: \"mixers\" holds {}, expected \"attention\" or \"ssd\"", object.place(), name.dump());
    }
    mixers.push_back(mixer);
  }
  return mixers;
}

void read_header(const Json& json, const std::string& place, Trace& trace) {
  const JsonObject object(json, place);
  if (object.string_or("format", "") != kFormat)
    fail("{}: is not a trace: the header's format is not \"{}\"", place, kFormat);
  if (const Index version = object.integer("version"); version != kTraceVersion) {
    fail("{}: is a trace of version {}, expected {}; record it again", place, version, kTraceVersion);
  }
  TraceHeader& h = trace.header;
  h.buoy_version = object.string("buoy");
  h.model = object.string("model");
  h.model_hash = object.string("model_hash");
  h.tokenizer_hash = object.string("tokenizer_hash");
  read_kind(object, h);
  h.H = read_count(object, "heads", 1, kMostHeads);
  h.Hkv = read_count(object, "key_heads", 1, kMostHeads);
  h.model_layers = read_count(object, "model_layers", 1, kMostLayers);
  h.mixers = read_mixers(object);
  if (!h.mixers.empty() && std::ssize(h.mixers) != h.model_layers)
    fail("{}: \"mixers\" has {} names, expected {}", place, h.mixers.size(), h.model_layers);
  trace.prompt_length = read_count(object, "prompt_length", 0, kMostPositions);
  if (const Json* settings = object.find("settings")) h.settings = settings->dump();
  h.sample = object.string("sample");
  h.task = object.string("task");
  h.question = object.string("question");
  h.output = object.string("output");
  const Json* answers = object.find("answers");
  if (answers == nullptr || !answers->is_array()) fail("{}: \"answers\" is missing, expected a list", place);
  for (const Json& answer : *answers) {
    if (!answer.is_string()) fail("{}: \"answers\" holds {}, expected strings", place, kind_of(answer));
    h.answers.push_back(answer.get<std::string>());
  }
  if (object.find("mask_id") != nullptr)
    h.mask_id = static_cast<TokenId>(read_count(object, "mask_id", 0, std::numeric_limits<TokenId>::max()));
  if (const Json* found = object.find("experts")) {
    const JsonObject experts(*found, place + ": experts");
    h.experts = read_count(experts, "count", 1, kMostExperts);
    h.active_experts = read_count(experts, "active", 1, h.experts);
  }
  if (object.find("correct") != nullptr) h.correct = object.boolean("correct");
}

// A trailing NUL is padding to numpy; a label that ends with one shows it.
std::vector<std::string> labels_for_numpy(std::vector<std::string> labels) {
  for (std::string& label : labels) {
    for (std::size_t nul; (nul = label.find('\0')) != label.npos;) label.replace(nul, 1, "<0x00>");
  }
  return labels;
}

template <typename T>
NpyArray array_of(const std::vector<T>& values, Shape shape) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return NpyArray::of(std::vector<std::int32_t>(values.begin(), values.end()), std::move(shape));
  } else {
    return NpyArray::of(std::span<const T>(values), std::move(shape));
  }
}

void write_regions(const RegionMap& map, NpzArrays& arrays) {
  std::vector<std::string> names, kinds;
  std::vector<Index> documents, gold, spans;
  for (const Region& region : map.regions) {
    names.push_back(region.name());
    kinds.emplace_back(name_of(region.kind));
    documents.push_back(region.document);
    gold.push_back(region.gold ? 1 : 0);
  }
  for (const RegionSpan& span : map.spans()) spans.insert(spans.end(), {span.begin, span.end, span.region});
  const Index R = map.count();
  arrays["region_names"] = NpyArray::of_text(std::move(names), {R});
  arrays["region_kinds"] = NpyArray::of_text(std::move(kinds), {R});
  arrays["region_documents"] = NpyArray::of(documents, {R});
  arrays["region_gold"] = NpyArray::of(gold, {R});
  arrays["region_spans"] = NpyArray::of(spans, {std::ssize(spans) / 3, 3});
}

// Arrays of a file by name, with errors that name the file and the array.
class Arrays {
 public:
  Arrays(NpzArrays arrays, std::string place) : arrays_(std::move(arrays)), place_(std::move(place)) {}

  const NpyArray& get(const char* name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) fail("{}: has no array \"{}\"", place_, name);
    return found->second;
  }

  std::vector<Index> integers(const char* name) const { return get(name).as_integers(); }

  // Throws Error for an array that no trace has: what is not checked is not let through.
  void refuse_others() const {
    for (const auto& [name, array] : arrays_) {
      const bool known = std::ranges::find(trace_arrays(), name, &TraceArray::name) != trace_arrays().end() ||
                         std::ranges::find(frame_arrays(), name) != frame_arrays().end();
      if (!known) fail("{}: has an array {}, which no trace has", place_, quote(name));
    }
  }

  std::vector<std::string> texts(const char* name) const {
    const NpyArray& array = get(name);
    if (!array.is_text) fail("{}: \"{}\" holds numbers, expected text", place_, name);
    return array.text;
  }

  // Absent: stays empty (what was not asked for is not written).
  template <typename T>
  void read(const char* name, std::vector<T>& to, const Shape& shape) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return;
    if (found->second.shape != shape) {
      fail("{}: \"{}\" is {}, expected {}", place_, name, to_string(found->second.shape), to_string(shape));
    }
    if constexpr (std::is_same_v<T, float>) {
      to = found->second.as_floats();
    } else if constexpr (std::is_same_v<T, double>) {
      to = found->second.as_doubles();
    } else {
      for (const Index value : found->second.as_integers()) {
        if (!std::in_range<T>(value)) fail("{}: \"{}\" holds {}, which is out of range", place_, name, value);
        to.push_back(static_cast<T>(value));
      }
    }
  }

 private:
  NpzArrays arrays_;
  std::string place_;
};

template <typename Enum>
Enum parse_name(const std::string& name, Index count, const std::string& place) {
  for (Index i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  fail("{}: holds the unknown name {}", place, quote(name));
}

RegionMap read_regions(const Arrays& arrays, Index N, const std::string& place) {
  const std::vector<std::string> kinds = arrays.texts("region_kinds");
  std::vector<Index> documents, gold, flat;
  const Index R = std::ssize(kinds);
  arrays.read("region_documents", documents, {R});
  arrays.read("region_gold", gold, {R});
  flat = arrays.integers("region_spans");
  if (std::ssize(documents) != R || std::ssize(gold) != R || flat.size() % 3 != 0) {
    fail("{}: the region arrays do not fit each other", place);
  }
  std::vector<Region> regions;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    regions.push_back({.kind = parse_name<RegionKind>(kinds[i], kRegionKindCount, place + ": region_kinds"),
                       .document = documents[i],
                       .gold = gold[i] != 0});
  }
  std::vector<RegionSpan> spans;
  for (std::size_t i = 0; i < flat.size(); i += 3) spans.push_back({flat[i], flat[i + 1], flat[i + 2]});
  return RegionMap::from_spans(std::move(regions), spans, N, place);
}

}  // namespace

void write_trace(const std::filesystem::path& path, const Trace& trace) {
  check_trace(trace, path.string());
  NpzArrays arrays;
  arrays[kHeader] = NpyArray::of_text({header_json(trace).dump()}, {});
  arrays["tokens"] = NpyArray::of(trace.tokens, {trace.N()});
  arrays["token_texts"] = NpyArray::of_text(labels_for_numpy(trace.token_texts), {trace.N()});
  std::vector<std::string> classes;
  for (const TokenClass c : trace.classes) classes.emplace_back(name_of(c));
  arrays["token_classes"] = NpyArray::of_text(std::move(classes), {trace.N()});
  arrays["layers"] = NpyArray::of(trace.layers, {trace.L()});
  arrays["steps"] = NpyArray::of(trace.steps.steps, {trace.S()});
  write_regions(trace.regions, arrays);
  for (const TraceArray& array : trace_arrays()) {
    const Shape shape = array.shape_in(trace);
    if (shape.back() == 0 && array.presence == Presence::kIfAsked) continue;  // of experts that there are not
    array.visit(trace, [&](const auto& values) {
      if (std::ssize(values) == element_count(shape))
        arrays[std::string(array.name)] = array_of(values, shape);
    });
  }
  write_npz(path, arrays);
}

Trace read_trace(const std::filesystem::path& path) {
  return trace_of_arrays(read_npz(path), path.string());
}

Trace trace_of_arrays(NpzArrays all, const std::string& place) {
  const Arrays arrays(std::move(all), place);
  arrays.refuse_others();
  const NpyArray& header = arrays.get(kHeader);
  if (!header.is_text || header.text.size() != 1)
    fail("{}: is not a trace: \"header\" is not one text", place);
  Trace trace;
  read_header(parse_json(header.text[0], place + ": header"), place, trace);
  arrays.read("tokens", trace.tokens, arrays.get("tokens").shape);
  trace.token_texts = arrays.texts("token_texts");
  for (const std::string& name : arrays.texts("token_classes")) {
    trace.classes.push_back(parse_name<TokenClass>(name, kTokenClassCount, place + ": token_classes"));
  }
  trace.layers = arrays.integers("layers");
  trace.steps.steps = arrays.integers("steps");
  trace.regions = read_regions(arrays, trace.N(), place);
  if (trace.G() < 0) fail("{}: the prompt has {} tokens of {}", place, trace.prompt_length, trace.N());
  for (const TraceArray& array : trace_arrays()) {
    array.visit(trace, [&](auto& values) { arrays.read(array.name.data(), values, array.shape_in(trace)); });
  }
  check_trace(trace, place);
  return trace;
}

}  // namespace buoy
