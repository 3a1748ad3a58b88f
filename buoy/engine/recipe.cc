#include "buoy/engine/recipe.h"

#include <algorithm>
#include <initializer_list>

#include "buoy/base/error.h"
#include "buoy/decode/sampler_json.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr Index kRecipeLength = 32;  // as the scripts of the paper's table have it

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

OwnSettings model_of_recipe(const JsonObject& object) {
  check_fields(object, {"model", "template", "chat_template", "answer_end", "sampler"});
  OwnSettings made{.model = object.string("model"), .prompt = {}, .sampler = {}, .given = {}};
  made.prompt.prompt_template = object.string_or("template", "auto");
  if (object.has("chat_template")) {
    made.prompt.chat = object.boolean("chat_template") ? Chat::kOn : Chat::kOff;
  }
  made.prompt.answer_end = parse_answer_end(object.string_or("answer_end", "eos"));
  const Json* sampler = object.find("sampler");
  static const Json kDefault = Json::object();
  NamedSettings named = named_settings(sampler != nullptr ? *sampler : kDefault,
                                       object.place() + ": \"sampler\"", {.gen_length = kRecipeLength});
  made.sampler = std::move(named.settings);
  made.given = std::move(named.given);
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
    OwnSettings own = model_of_recipe(JsonObject(model, place));
    if (std::ranges::find(recipe.models, own.model) != recipe.models.end()) {
      fail("{}: {} stands there already; a run asks a model in one way, buoy table puts runs together", place,
           quote(own.model));
    }
    recipe.models.push_back(own.model);
    recipe.own.push_back(std::move(own));
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
