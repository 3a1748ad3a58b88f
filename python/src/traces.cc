// Traces for Python: the arrays without a copy, nulls, analyses, and the figure of where attention went.
#include "python/src/traces.h"

#include <optional>

#include <pybind11/stl.h>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/draw/figure.h"
#include "buoy/engine/trace_source.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/json.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/report/study_figures.h"
#include "buoy/run/collect.h"
#include "buoy/serve/standalone_page.h"
#include "python/src/arrays.h"
#include "python/src/engine.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/settings.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

using SharedTrace = std::shared_ptr<Trace>;

SharedTrace share(Trace&& trace) {
  return std::make_shared<Trace>(std::move(trace));
}

SharedTrace share(std::optional<Trace>&& trace) {
  return trace ? share(std::move(*trace)) : nullptr;
}

py::dict describe_header(const Trace& trace) {
  const TraceHeader& h = trace.header;
  py::dict made;
  made["buoy"] = h.buoy_version;
  made["model"] = h.model;
  made["model_hash"] = h.model_hash;
  made["tokenizer_hash"] = h.tokenizer_hash;
  made["writing"] = std::string(name_of(h.writing));
  made["mask"] = name_of(h.mask);
  made["heads"] = h.H;
  made["key_heads"] = h.Hkv;
  made["model_layers"] = h.model_layers;
  made["mask_id"] = h.mask_id;
  made["settings"] = from_json_text(h.settings);
  made["sample"] = h.sample;
  made["task"] = h.task;
  made["question"] = h.question;
  made["answers"] = h.answers;
  made["output"] = h.output;
  made["correct"] = h.correct;
  return made;
}

// All that the file holds; numbers are views.
py::dict describe_arrays(const py::object& self) {
  const Trace& trace = self.cast<const Trace&>();
  py::dict made;
  made["tokens"] = view_array(std::span<const TokenId>(trace.tokens), {trace.N()}, self);
  made["layers"] = view_array(std::span<const Index>(trace.layers), {trace.L()}, self);
  made["steps"] = view_array(std::span<const Index>(trace.steps.steps), {trace.S()}, self);
  made["region_of"] = view_array(std::span<const Index>(trace.regions.of), {trace.N()}, self);
  for (const TraceArray& array : trace_arrays()) {
    array.visit(trace, [&](const auto& values) {
      if (values.empty()) return;
      using T = typename std::decay_t<decltype(values)>::value_type;
      made[std::string(array.name).c_str()] =
          view_array(std::span<const T>(values), array.shape_in(trace), self);
    });
  }
  return made;
}

py::dict describe_tokens(const Trace& trace) {
  py::dict made;
  std::vector<std::string> classes, regions;
  for (const TokenClass one : trace.classes) classes.emplace_back(name_of(one));
  for (const Region& region : trace.regions.regions) regions.push_back(region.name());
  made["texts"] = trace.token_texts;
  made["classes"] = classes;
  made["regions"] = regions;
  made["prompt_length"] = trace.prompt_length;
  return made;
}

AnchorOptions anchors_from(const std::string& rule, double epsilon, double min_lift, Index k) {
  const std::optional<AnchorRule> found = parse_anchor_rule(rule);
  if (!found) fail_usage("anchors is \"{}\", expected excess, sigma, offset or topk", rule);
  return {.rule = *found, .epsilon = epsilon, .min_lift = min_lift, .k = k};
}

std::vector<const Analysis*> analyses_from(const std::vector<std::string>& only) {
  std::vector<const Analysis*> chosen;
  for (const std::string& name : only) {
    chosen.push_back(find_analysis(name));
    if (chosen.back() == nullptr) {
      std::string known;
      for (const Analysis& one : analyses()) known.append(known.empty() ? "" : ", ").append(one.name);
      fail_usage("only holds \"{}\", expected some of {}", name, known);
    }
  }
  if (only.empty()) {
    for (const Analysis& one : analyses()) chosen.push_back(&one);
  }
  return chosen;
}

// Columns of all measurements of one trace.
py::dict measure_trace(const Trace& trace, const std::vector<std::string>& only,
                       const AnchorOptions& anchors) {
  const std::vector<const Analysis*> chosen = analyses_from(only);
  std::vector<std::string> names, quantities, parts;
  std::vector<Index> layers, heads;
  std::vector<double> values, nulls;
  {
    const WithoutGil no_gil;
    const TraceWithNull both(trace);
    for (const Analysis* analysis : chosen) {
      for (const Measurement& one : measure(*analysis, both, {.anchors = anchors})) {
        names.emplace_back(analysis->name);
        quantities.push_back(one.quantity);
        parts.push_back(one.part);
        layers.push_back(one.layer);
        heads.push_back(one.head);
        values.push_back(one.value / one.weight);
        nulls.push_back(one.null.value_or(std::numeric_limits<double>::quiet_NaN()));
      }
    }
  }
  const Index rows = std::ssize(values);
  py::dict made;
  made["analysis"] = names;
  made["quantity"] = quantities;
  made["layer"] = to_array(std::move(layers), {rows});
  made["head"] = to_array(std::move(heads), {rows});
  made["part"] = parts;
  made["value"] = to_array(std::move(values), {rows});
  made["null"] = to_array(std::move(nulls), {rows});
  return made;
}

struct DrawnFigure {
  Figure figure;
  std::string csv, caption, alt, name;
};

// The figures that a study draws of one analysis, of this trace alone.
std::vector<DrawnFigure> draw_trace(const Trace& trace, const std::string& analysis,
                                    const AnchorOptions& anchors) {
  const WithoutGil no_gil;
  StudyResult result;
  result.options.analysis.anchors = anchors;
  result.options.analyses = analyses_from({analysis});
  collect(result, trace, "trace");
  finish_collecting(result);
  const StudyView view(result);
  const struct {
    std::string_view name;
    std::vector<StudyFigure> (*draw)(const StudyView&);
  } kDrawers[] = {{"drift", drift_figures},
                  {"salience", salience_figures},
                  {"keys", key_figures},
                  {"absorption", absorption_figures},
                  {"concentration", concentration_figures},
                  {"qk", qk_figures},
                  {"heads", head_figures},
                  {"dormant", dormant_figures},
                  {"flow", flow_figures},
                  {"classes", class_figures},
                  {"tasks", task_figures},
                  {"experts", expert_figures}};
  std::vector<DrawnFigure> drawn;
  for (const auto& one : kDrawers) {
    if (one.name != analysis) continue;
    for (StudyFigure& figure : one.draw(view)) {
      drawn.push_back({std::move(figure.figure), std::move(figure.csv), std::move(figure.caption),
                       std::move(figure.alt), std::move(figure.name)});
    }
  }
  return drawn;
}

py::bytes render(const DrawnFigure& drawn, const std::string& format) {
  const std::optional<FigureFormat> found = parse_figure_format(format);
  if (!found) fail_usage("format is \"{}\", expected svg, png or pdf", format);
  std::string bytes;
  {
    const WithoutGil no_gil;
    bytes = render_figure(drawn.figure, *found);
  }
  return py::bytes(bytes);
}

SharedTrace trace_prompt(Engine& engine, const std::string& text, std::optional<bool> chat,
                         const std::optional<std::string>& date, const py::dict& settings,
                         const py::dict& record) {
  const LoadedModel& model = *engine.loaded;
  if (text.empty()) fail_usage("prompt is empty");
  const SamplerSettings sampler = sampler_from(settings, model.config());
  const RecordSettings wanted = record_from(record, model.config().L);
  check_record(wanted, sampler, model.config(), model.name());
  const Chat mode = !chat ? Chat::kAuto : *chat ? Chat::kOn : Chat::kOff;
  const WithoutGil no_gil;
  const InUse in_use(engine);
  const QuestionPrompt prompt = choose_prompt({.chat = Chat::kOff}, model.directory());
  TraceSource source = make_trace_source(model, sampler, wanted, prompt);
  source.cancelled = [] {
    raise_signals();
    return false;
  };
  const TraceExample example = plain_example(model.tokenizer(), text, chat_of(engine, mode, date));
  return share(std::move(trace_batch(source, {&example, 1}, 0)[0].trace));
}

void add_figures(py::module_& module) {
  py::class_<DrawnFigure> figure(module, "DrawnFigure");
  forbid_new(figure);
  figure.def("render", render, py::arg("format"))
      .def_readonly("csv", &DrawnFigure::csv)
      .def_readonly("caption", &DrawnFigure::caption)
      .def_readonly("alt", &DrawnFigure::alt)
      .def_readonly("name", &DrawnFigure::name);
}

}  // namespace

void add_traces(py::module_& module) {
  add_figures(module);
  py::class_<Trace, SharedTrace> recorded(module, "Trace");
  forbid_new(recorded);
  recorded.def("header", describe_header)
      .def("arrays", describe_arrays)
      .def("sequence", describe_tokens)
      .def(
          "write",
          [](const Trace& trace, const std::string& path) {
            const WithoutGil no_gil;
            write_trace(path, trace);
          },
          py::arg("path"))
      .def("page",
           [](const Trace& trace) {
             const WithoutGil no_gil;
             ExplorerSettings settings;
             settings.recorded.emplace_back(trace.header.model + "-" + trace.header.sample, trace);
             return standalone_page(settings);
           })
      .def(
          "uniform", [](const Trace& trace) { return share(null_trace(trace)); },
          py::call_guard<WithoutGil>())
      .def(
          "frozen", [](const Trace& trace) { return share(frozen_trace(trace)); },
          py::call_guard<WithoutGil>())
      .def(
          "recency", [](const Trace& trace) { return share(recency_trace(trace)); },
          py::call_guard<WithoutGil>())
      .def(
          "measure",
          [](const Trace& trace, const std::vector<std::string>& only, const std::string& rule,
             double epsilon, double min_lift,
             Index k) { return measure_trace(trace, only, anchors_from(rule, epsilon, min_lift, k)); },
          py::arg("only"), py::arg("anchors"), py::arg("epsilon"), py::arg("min_lift"),
          py::arg("top_anchors"))
      .def(
          "draw",
          [](const Trace& trace, const std::string& analysis, const std::string& rule, double epsilon,
             double min_lift,
             Index k) { return draw_trace(trace, analysis, anchors_from(rule, epsilon, min_lift, k)); },
          py::arg("analysis"), py::arg("anchors"), py::arg("epsilon"), py::arg("min_lift"),
          py::arg("top_anchors"));
  module.def(
      "read_trace",
      [](const std::string& path) {
        const WithoutGil no_gil;
        return share(read_trace(path));
      },
      py::arg("path"));
  module.def("trace_prompt", trace_prompt, py::arg("model"), py::arg("prompt"), py::arg("chat"),
             py::arg("date"), py::arg("settings"), py::arg("record"));
  module.def("analyses", [] {
    py::dict made;
    for (const Analysis& one : analyses()) made[std::string(one.name).c_str()] = std::string(one.explanation);
    return made;
  });
}

}  // namespace buoy::python
