#include "buoy/engine/recipe.h"

#include <algorithm>
#include <initializer_list>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// A misspelt field would change a table in silence.
void check_fields(const JsonObject& object, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.value().items()) {
    if (std::ranges::find(known, std::string_view(name)) == known.end()) {
      fail("{}: {} is no field of it", object.place(), quote(name));
    }
  }
}

const Json& recipe_list(const JsonObject& object, std::string_view name) {
  const Json* found = object.find(name);
  if (found == nullptr || !found->is_array() || found->empty()) {
    fail("{}: \"{}\" is {}, expected a list", object.place(), name,
         found == nullptr ? "missing" : "empty or no list");
  }
  return *found;
}

std::vector<std::string> strings_of(const JsonObject& object, std::string_view name) {
  std::vector<std::string> strings;
  if (!object.has(name)) return strings;
  for (const Json& value : recipe_list(object, name)) {
    if (!value.is_string()) fail("{}: \"{}\" holds {}, expected text", object.place(), name, kind_of(value));
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

SamplerSettings sampler_of_recipe(const JsonObject& object) {
  check_fields(object, {"gen_length", "temperature", "seed", "steps", "block_length", "remasking",
                        "confidence", "cfg_scale", "threshold", "cache", "cache_refresh", "alg", "alg_temp",
                        "eps", "top_p", "top_k", "ignore_eos"});
  SamplerSettings made;
  made.gen_length = object.integer_or("gen_length", 32);
  made.temperature = object.number_or("temperature", made.temperature);
  const Index seed = object.integer_or("seed", 0);
  if (seed < 0) fail("{}: \"seed\" is {}, expected 0 or more", object.place(), seed);
  made.seed = static_cast<std::uint64_t>(seed);
  if (object.has("steps")) made.steps = object.integer("steps");
  if (object.has("block_length")) made.block_length = object.integer("block_length");
  made.remasking = parse_remasking(object.string_or("remasking", std::string(name_of(made.remasking))));
  made.confidence =
      parse_confidence_type(object.string_or("confidence", std::string(name_of(made.confidence))));
  made.cfg_scale = object.number_or("cfg_scale", made.cfg_scale);
  if (object.has("threshold")) made.threshold = object.number("threshold");
  made.cache = parse_cache_kind(object.string_or("cache", std::string(name_of(made.cache))));
  if (object.has("cache_refresh")) made.cache_refresh = object.integer("cache_refresh");
  made.alg = parse_dream_algorithm(object.string_or("alg", std::string(name_of(made.alg))));
  made.alg_temp = object.number_or("alg_temp", made.alg_temp);
  made.eps = object.number_or("eps", made.eps);
  made.top_p = object.number_or("top_p", made.top_p);
  made.top_k = object.integer_or("top_k", made.top_k);
  made.ignore_eos = object.boolean_or("ignore_eos", made.ignore_eos);
  return made;
}

OwnSettings model_of_recipe(const JsonObject& object) {
  check_fields(object, {"model", "template", "chat_template", "answer_end", "sampler"});
  OwnSettings made{.model = object.string("model"), .prompt = {}, .sampler = {}};
  made.prompt.prompt_template = object.string_or("template", "auto");
  if (object.has("chat_template")) {
    made.prompt.chat = object.boolean("chat_template") ? Chat::kOn : Chat::kOff;
  }
  made.prompt.answer_end = parse_answer_end(object.string_or("answer_end", "eos"));
  const Json* sampler = object.find("sampler");
  static const Json kDefault = Json::object();
  made.sampler = sampler_of_recipe(
      JsonObject(sampler != nullptr ? *sampler : kDefault, object.place() + ": \"sampler\""));
  return made;
}

}  // namespace

Recipe read_recipe(const fs::path& path) {
  const Json json = parse_json(read_file(path), path.string());
  const JsonObject object(json, path.string());
  check_fields(object, {"about", "models", "data", "passages", "scores"});
  Recipe recipe;
  for (const Json& model : recipe_list(object, "models")) {
    const std::string place = fmt::format("{}: model {}", path.string(), recipe.models.size() + 1);
    recipe.own.push_back(model_of_recipe(JsonObject(model, place)));
    recipe.models.push_back(recipe.own.back().model);
  }
  for (const Json& json_data : recipe_list(object, "data")) {
    const JsonObject data(json_data, fmt::format("{}: dataset {}", path.string(), recipe.data.size() + 1));
    check_fields(data, {"name", "file"});
    const fs::path file = data.string("file"), beside = path.parent_path() / file;
    recipe.data.emplace_back(data.string("name") + "=" + (fs::exists(beside) ? beside : file).string());
  }
  recipe.passages = strings_of(object, "passages");
  if (recipe.passages.empty()) recipe.passages = {"none", "given"};
  recipe.scores = strings_of(object, "scores");
  for (const std::string& score : recipe.scores) {
    if (std::ranges::find(kScoreNames, score) == std::end(kScoreNames)) {
      fail("{}: \"scores\" holds {}, expected em, substring and f1", path.string(), quote(score));
    }
  }
  return recipe;
}

void replace_data(Recipe& recipe, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string name = file.substr(0, file.find('='));
    const auto found = std::ranges::find_if(
        recipe.data, [&](const fs::path& data) { return data.string().starts_with(name + "="); });
    if (file.find('=') == file.npos || found == recipe.data.end()) {
      fail_usage("data {}: beside a recipe expected NAME=FILE with the name of one of its datasets",
                 quote(file));
    }
    *found = file;
  }
}

}  // namespace buoy
