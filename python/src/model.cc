// The class Model of the module: load, forward, generate, run, text.
#include "python/src/model.h"

#include <numeric>

#include <pybind11/stl.h>

#include "apps/cli/environment.h"
#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/base/finite.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/settings.h"
#include "python/src/watch.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

struct LoadOptions {
  std::string model, device, dtype, family;
  int threads;
};

std::shared_ptr<Engine> load_engine(const LoadOptions& options, py::object warn) {
  const ModelSettings settings{.model = options.model,
                               .device = {.device = parse_device(options.device),
                                          .dtype = parse_compute_type(options.dtype),
                                          .threads = options.threads},
                               .places = command_places(),
                               .family = options.family};
  if (options.threads < 0 || options.threads > 1024)
    fail_usage("threads is {}, expected 1 to 1024, or 0 for all", options.threads);
  std::vector<std::string> warnings;
  auto engine = std::make_shared<Engine>();
  {
    const WithoutGil no_gil;
    check_process();
    engine->loaded = std::make_shared<const LoadedModel>(
        settings, [&](const std::string& line) { warnings.push_back(line); });
  }
  for (const std::string& line : warnings) warn(line);
  return engine;
}

py::dict describe_config(const Engine& engine) {
  const ModelConfig& c = engine.loaded->config();
  py::dict made;
  made["family"] = std::string(c.family->name);
  made["family_key"] = std::string(c.family->key);
  made["writing"] = std::string(name_of(c.family->writing));
  made["sampler"] = std::string(name_of(c.family->sampler));
  made["mask"] = name_of(c.mask);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Index>>{{"layers", c.L},
                                                            {"width", c.E},
                                                            {"heads", c.H},
                                                            {"key_heads", c.Hkv},
                                                            {"head_size", c.D},
                                                            {"mlp_width", c.F},
                                                            {"vocabulary", c.V},
                                                            {"context", c.context}})
    made[name] = value;
  made["mask_id"] = c.mask_id;
  made["eos_ids"] = c.eos_ids;
  return made;
}

// Logits [T, V], and what else was asked for.
py::dict forward(Engine& engine, py::handle given, const CaptureOptions& capture) {
  const std::vector<TokenId> ids = ids_from(given, "ids");
  if (ids.empty()) fail_usage("ids is empty, expected at least one token");
  const ModelConfig& c = engine.loaded->config();
  const Index T = std::ssize(ids);
  if (capture.attentions && (!CaptureTap::fits(c, T) || c.L * c.H * T * T > kMaxMatrixElements)) {
    fail_usage(
        "attentions: {} layers × {} heads × {}² exceed the limit of {} numbers; model.run() records "
        "chosen layers and heads",
        c.L, c.H, T, kMaxMatrixElements);
  }
  CaptureTap tap(capture);
  std::vector<float> values(at(T * c.V));
  {
    const WithoutGil no_gil;
    const InUse in_use(engine);
    std::vector<Index> rows(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    const ForwardSequence sequence{.ids = ids, .read_rows = rows};
    const bool watched = capture.attentions || capture.hidden;
    const Tensor logits = engine.loaded->model().forward({&sequence, 1}, watched ? &tap : nullptr);
    engine.loaded->backend().download(logits, values);
    if (!all_finite(values)) fail("{}: the logits are not all finite", engine.loaded->name());
  }
  py::dict made;
  made["logits"] = to_array(std::move(values), {T, c.V});
  if (capture.attentions) made["attentions"] = to_array(std::move(tap.attentions), {c.L, c.H, T, T});
  if (capture.hidden) made["hidden"] = to_array(std::move(tap.hidden_states), {c.L + 1, T, c.E});
  return made;
}

py::dict to_dict(const Generation& made) {
  const auto array = [](auto values) {
    const Index size = std::ssize(values);
    return to_array(std::move(values), {size});
  };
  py::dict dict;
  dict["tokens"] = array(made.tokens);
  dict["prompt_length"] = made.prompt_length;
  dict["steps"] = made.steps;
  dict["commit_step"] = array(made.commit_step);
  dict["confidence"] = array(made.confidence);
  return dict;
}

std::vector<std::vector<TokenId>> prompts_from(const py::list& given, const ModelConfig& c) {
  std::vector<std::vector<TokenId>> prompts;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string what = given.size() == 1 ? "prompt" : fmt::format("prompt {}", i);
    prompts.push_back(ids_from(given[i], what));
    if (prompts.back().empty()) fail_usage("{} is empty", what);
    for (const TokenId id : prompts.back()) {
      if (id >= c.V) fail_usage("{}: holds {}, outside the vocabulary of {}", what, id, c.V);
    }
  }
  if (prompts.empty()) fail_usage("no prompt was given");
  return prompts;
}

py::list generate_batch(Engine& engine, const py::list& given, const py::dict& settings) {
  const ModelConfig& c = engine.loaded->config();
  const SamplerSettings sampler = sampler_from(settings, c);
  const auto prompts = prompts_from(given, c);
  std::vector<Generation> generations;
  {
    const WithoutGil no_gil;
    const InUse in_use(engine);
    StoppableObserver observer(nullptr);
    generations = generate(engine.loaded->model(), prompts, sampler, &observer);
  }
  py::list made;
  for (const Generation& one : generations) made.append(to_dict(one));
  return made;
}

WatchSettings watch_from(const py::dict& given, const ModelConfig& c) {
  WatchSettings made;
  const auto list = [&](const char* name) {
    return given.contains(name) ? given[name].cast<std::vector<Index>>() : std::vector<Index>();
  };
  const auto flag = [&](const char* name) { return given.contains(name) && given[name].cast<bool>(); };
  made.layers = list("layers");
  made.column_sums = flag("column_sums");
  made.rows = flag("rows");
  if (given.contains("masses")) made.masses = given["masses"].cast<std::vector<std::vector<Index>>>();
  made.row_means = flag("row_means");
  made.norms = flag("norms");
  made.qk_means = flag("qk_means");
  made.pattern_layers = list("pattern_layers");
  made.pattern_heads = list("pattern_heads");
  made.state_layers = list("state_layers");
  made.logits = flag("logits");
  made.residual_depths = list("residual_depths");
  for (const auto& group : made.masses) {
    for (const Index position : group) {
      if (position >= c.context)
        fail_usage("masses: holds {}, the model has {} positions", position, c.context);
    }
  }
  return made;
}

// Looks at all that a run is told, before it begins. Returns its prompt as it will be read: later changes of
// what was given make no difference.
py::array check_run(Engine& engine, py::handle prompt, const py::dict& settings, const py::dict& watch,
                    bool changes) {
  const ModelConfig& c = engine.loaded->config();
  if (sampler_from(settings, c).cfg_scale > 0 && changes)
    fail_usage("cfg_scale: callbacks would see half of every pass only; leave it at 0");
  Watcher(engine, watch_from(watch, c), {py::none(), py::none(), py::none()}, nullptr);
  py::list one;
  one.append(prompt);
  std::vector<TokenId> ids = std::move(prompts_from(one, c)[0]);
  const Index size = std::ssize(ids);
  return to_array(std::move(ids), {size});
}

// One prompt, watched; `stop` ends it before its next pass.
py::dict run_watched(Engine& engine, const py::list& given, const py::dict& settings, const py::dict& watch,
                     const WatchCallbacks& callbacks, std::shared_ptr<Stop> stop) {
  const ModelConfig& c = engine.loaded->config();
  const SamplerSettings sampler = sampler_from(settings, c);
  const auto prompts = prompts_from(given, c);
  Watcher watcher(engine, watch_from(watch, c), callbacks, std::move(stop));
  std::vector<Generation> generations;
  {
    const WithoutGil no_gil;
    const InUse in_use(engine);
    generations = generate(watcher, prompts, sampler, &watcher);
  }
  return to_dict(generations[0]);
}

// Runs what needs nothing of Python, so that other threads go on.
auto without_gil(const auto& body) {
  const WithoutGil no_gil;
  return body();
}

std::string render_chat(const Engine& engine, const std::string& messages, bool add_generation_prompt,
                        const std::optional<std::string>& date) {
  const WithoutGil no_gil;
  const auto found = chat_of(engine, Chat::kOn, date);
  return found->render(Json::parse(messages),
                       add_generation_prompt ? GenerationPrompt::kAdd : GenerationPrompt::kOmit);
}

py::array encode_text(const Engine& engine, const std::string& text, bool special) {
  std::vector<TokenId> ids = without_gil([&] {
    return engine.loaded->tokenizer().encode(text, special ? SpecialTokens::kAdd : SpecialTokens::kNone);
  });
  const Index size = std::ssize(ids);
  return to_array(std::move(ids), {size});
}

// As the command's --prompt: in the chat template where the model has one, unless told otherwise.
py::array encode_as_prompt(const Engine& engine, const std::string& text, std::optional<bool> chat,
                           const std::optional<std::string>& date) {
  const Chat wanted = !chat ? Chat::kAuto : *chat ? Chat::kOn : Chat::kOff;
  std::vector<TokenId> ids = without_gil(
      [&] { return encode_prompt(engine.loaded->tokenizer(), chat_of(engine, wanted, date), text); });
  const Index size = std::ssize(ids);
  return to_array(std::move(ids), {size});
}

void add_text(py::class_<Engine, std::shared_ptr<Engine>>& model) {
  model.def("has_tokenizer", [](const Engine& e) { return e.loaded->find_tokenizer().has_value(); })
      .def("has_chat_template",
           [](const Engine& e) {
             return choose_chat_template(e.loaded->directory(), Chat::kAuto).has_value();
           })
      .def("encode", encode_text, py::arg("text"), py::arg("special"))
      .def("encode_prompt", encode_as_prompt, py::arg("text"), py::arg("chat"), py::arg("date"))
      .def("render_chat", render_chat, py::arg("messages"), py::arg("add_generation_prompt"), py::arg("date"))
      .def(
          "decode",
          [](const Engine& e, py::handle ids, bool skip) {
            const std::vector<TokenId> given = ids_from(ids, "ids");
            const WithoutGil no_gil;
            return e.loaded->tokenizer().decode(given, skip ? SkipSpecial::kSkip : SkipSpecial::kKeep);
          },
          py::arg("ids"), py::arg("skip_special"))
      .def(
          "answer_text",
          [](const Engine& e, py::handle ids) {
            const std::vector<TokenId> given = ids_from(ids, "ids");
            const WithoutGil no_gil;
            return e.loaded->decode(given);
          },
          py::arg("ids"))
      .def(
          "token_texts",
          [](const Engine& e, py::handle given) {
            const std::vector<TokenId> ids = ids_from(given, "ids");
            const WithoutGil no_gil;
            std::vector<std::string> texts;
            const Tokenizer& tokenizer = e.loaded->tokenizer();
            for (const TokenId id : ids)
              texts.push_back(tokenizer.contains(id) ? tokenizer.token_text(id) : "\xEF\xBF\xBD");
            return texts;
          },
          py::arg("ids"))
      .def("vocab_size", [](const Engine& e) { return e.loaded->tokenizer().vocab_size(); })
      .def("special_ids", [](const Engine& e) {
        const Tokenizer& t = e.loaded->tokenizer();
        py::dict made;
        made["bos_id"] = t.bos_id();
        made["eos_id"] = t.eos_id();
        made["mask_id"] = t.mask_id();
        made["pad_id"] = t.pad_id();
        return made;
      });
}

}  // namespace

void add_model(py::module_& module) {
  py::class_<Stop, std::shared_ptr<Stop>> stops(module, "Stop");
  stops.def("ask", [](Stop& self) { self.wanted = true; });
  forbid_new(stops);
  module.def("make_stop", [] { return std::make_shared<Stop>(); });
  py::class_<Engine, std::shared_ptr<Engine>> model(module, "Model");
  forbid_new(model);
  module.def(
      "load",
      [](std::string name, std::string device, std::string dtype, int threads, std::string family,
         py::object warn) {
        return load_engine({std::move(name), std::move(device), std::move(dtype), std::move(family), threads},
                           std::move(warn));
      },
      py::arg("model"), py::arg("device"), py::arg("dtype"), py::arg("threads"), py::arg("family"),
      py::arg("warn"));
  model.def("name", [](const Engine& e) { return e.loaded->name(); })
      .def("directory", [](const Engine& e) { return e.loaded->directory().string(); })
      .def("device", [](const Engine& e) { return e.loaded->device(); })
      .def("config", describe_config)
      .def("computes_here", [](const Engine& e) { return e.turn.is_here(); })
      .def("holder", [](const Engine& e) { return e.turn.holder(); })
      .def(
          "forward",
          [](Engine& e, py::handle ids, bool attentions, bool hidden) {
            return forward(e, ids, {.attentions = attentions, .hidden = hidden});
          },
          py::arg("ids"), py::arg("attentions"), py::arg("hidden"))
      .def("check_run", check_run, py::arg("prompt"), py::arg("settings"), py::arg("watch"),
           py::arg("changes"))
      .def("generate", generate_batch, py::arg("prompts"), py::arg("settings"))
      .def(
          "run",
          [](Engine& e, const py::list& prompts, const py::dict& settings, const py::dict& watch,
             py::object before_layer, py::object after_layer, py::object after_step,
             std::shared_ptr<Stop> stop) {
            return run_watched(e, prompts, settings, watch,
                               {std::move(before_layer), std::move(after_layer), std::move(after_step)},
                               std::move(stop));
          },
          py::arg("prompts"), py::arg("settings"), py::arg("watch"), py::arg("before_layer"),
          py::arg("after_layer"), py::arg("after_step"), py::arg("stop"));
  add_text(model);
  module.def("bundled_models", [] { return bundled_models(command_places()); });
  module.def("sampler_settings", [] {
    const auto names = sampler_setting_names();
    return std::vector<std::string>(names.begin(), names.end());
  });
}

}  // namespace buoy::python
