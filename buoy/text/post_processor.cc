#include "buoy/text/post_processor.h"

#include <limits>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

// The ids behind the name of a special token, from the template's own table.
std::vector<TokenId> ids_of(const JsonObject& object, const std::string& name) {
  const Json* table = object.find("special_tokens");
  if (table == nullptr || !table->is_object() || !table->contains(name)) {
    fail("{}: \"special_tokens\" lacks {}", object.place(), quote(name));
  }
  const JsonObject entry(table->at(name), fmt::format("{}.special_tokens[{}]", object.place(), quote(name)));
  const Json* ids = entry.find("ids");
  if (ids == nullptr || !ids->is_array()) fail("{}: \"ids\" is missing or not an array", entry.place());
  std::vector<TokenId> result;
  for (const Json& id : *ids) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      fail("{}: \"ids\" holds {}, expected a token id", entry.place(), id.dump());
    }
    result.push_back(id.get<TokenId>());
  }
  return result;
}

PostProcessor parse_template(const JsonObject& object) {
  const Json* single = object.find("single");
  if (single == nullptr || !single->is_array())
    fail("{}: \"single\" is missing or not an array", object.place());
  PostProcessor result;
  bool seen_text = false;
  for (const Json& piece : *single) {
    const JsonObject item(piece, object.place() + ".single");
    if (const Json* special = item.find("SpecialToken")) {
      const std::vector<TokenId> ids = ids_of(object, JsonObject(*special, item.place()).string("id"));
      std::vector<TokenId>& side = seen_text ? result.after : result.before;
      side.insert(side.end(), ids.begin(), ids.end());
    } else if (const Json* sequence = item.find("Sequence")) {
      const std::string id = JsonObject(*sequence, item.place()).string("id");
      if (id != "A" || seen_text)
        fail("{}: expected one Sequence \"A\", got another {}", item.place(), quote(id));
      seen_text = true;
    } else {
      fail("{}: got {}, expected a SpecialToken or a Sequence", item.place(), piece.dump());
    }
  }
  if (!seen_text) fail("{}.single: has no Sequence \"A\"", object.place());
  return result;
}

}  // namespace

PostProcessor parse_post_processor(const Json* value, const std::string& place) {
  if (value == nullptr) return {};
  const JsonObject object(*value, place);
  const std::string type = object.string("type");
  if (type == "TemplateProcessing") return parse_template(object);
  if (type == "ByteLevel") return {};  // only trims offsets, which Buoy never does
  if (type != "Sequence") {
    fail("{}: type {} is not known (known: TemplateProcessing, ByteLevel, Sequence)", place, quote(type));
  }
  const Json* steps = object.find("processors");
  if (steps == nullptr || !steps->is_array()) fail("{}: \"processors\" is missing or not an array", place);
  PostProcessor result;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const PostProcessor step = parse_post_processor(&(*steps)[i], fmt::format("{}.processors[{}]", place, i));
    result.before.insert(result.before.begin(), step.before.begin(), step.before.end());
    result.after.insert(result.after.end(), step.after.begin(), step.after.end());
  }
  return result;
}

}  // namespace buoy
