// The tests of templates: `x is defined` and its kin.
#include <algorithm>
#include <array>

#include "buoy/io/json.h"
#include "buoy/text/jinja/builtins.h"

namespace buoy::jinja {
namespace {

using Test = bool (*)(const Value& operand, const Arguments& arguments);

struct NamedTest {
  std::string_view name;
  std::size_t argument_count;
  Test apply;
};

bool is_integer(const Value& value) {
  return value.get<std::int64_t>() != nullptr;
}

std::int64_t remainder(const Value& value, std::int64_t divisor, const Arguments& arguments) {
  const auto* whole = value.get<std::int64_t>();
  if (whole == nullptr)
    fail_at(arguments.site(), "{} of {} is not supported", arguments.callee(), value.kind());
  return *apply_operator("%", value, divisor, arguments.site()).get<std::int64_t>();
}

bool compare(std::string_view name, const Value& operand, const Arguments& arguments) {
  return apply_operator(name, operand, arguments.require(0, "other"), arguments.site()).truthy();
}

constexpr std::array<NamedTest, 27> kTests = {{
    {"defined", 0, [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", 0, [](const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"none", 0, [](const Value& v, const Arguments&) { return v.is_none(); }},
    {"string", 0, [](const Value& v, const Arguments&) { return v.string() != nullptr; }},
    {"boolean", 0, [](const Value& v, const Arguments&) { return v.get<bool>() != nullptr; }},
    {"true", 0, [](const Value& v, const Arguments&) { return v.get<bool>() != nullptr && *v.get<bool>(); }},
    {"false", 0,
     [](const Value& v, const Arguments&) { return v.get<bool>() != nullptr && !*v.get<bool>(); }},
    {"integer", 0, [](const Value& v, const Arguments&) { return is_integer(v); }},
    {"float", 0, [](const Value& v, const Arguments&) { return v.get<double>() != nullptr; }},
    {"number", 0,
     [](const Value& v, const Arguments&) {
       // Python counts booleans as numbers.
       return is_integer(v) || v.get<double>() != nullptr || v.get<bool>() != nullptr;
     }},
    {"mapping", 0, [](const Value& v, const Arguments&) { return v.fields() != nullptr; }},
    {"sequence", 0,
     [](const Value& v, const Arguments&) {
       return v.string() != nullptr || v.items() != nullptr || v.fields() != nullptr || v.is_undefined();
     }},
    {"iterable", 0,
     [](const Value& v, const Arguments&) {
       return v.string() != nullptr || v.items() != nullptr || v.fields() != nullptr || v.is_undefined();
     }},
    {"callable", 0, [](const Value& v, const Arguments&) { return v.get<Function>() != nullptr; }},
    {"odd", 0, [](const Value& v, const Arguments& a) { return remainder(v, 2, a) == 1; }},
    {"even", 0, [](const Value& v, const Arguments& a) { return remainder(v, 2, a) == 0; }},
    {"divisibleby", 1,
     [](const Value& v, const Arguments& a) { return remainder(v, a.integer_or(0, "num", 1), a) == 0; }},
    {"eq", 1, [](const Value& v, const Arguments& a) { return compare("==", v, a); }},
    {"equalto", 1, [](const Value& v, const Arguments& a) { return compare("==", v, a); }},
    {"ne", 1, [](const Value& v, const Arguments& a) { return compare("!=", v, a); }},
    {"lt", 1, [](const Value& v, const Arguments& a) { return compare("<", v, a); }},
    {"lessthan", 1, [](const Value& v, const Arguments& a) { return compare("<", v, a); }},
    {"le", 1, [](const Value& v, const Arguments& a) { return compare("<=", v, a); }},
    {"gt", 1, [](const Value& v, const Arguments& a) { return compare(">", v, a); }},
    {"greaterthan", 1, [](const Value& v, const Arguments& a) { return compare(">", v, a); }},
    {"ge", 1, [](const Value& v, const Arguments& a) { return compare(">=", v, a); }},
    {"in", 1, [](const Value& v, const Arguments& a) { return compare("in", v, a); }},
}};

}  // namespace

bool apply_test(std::string_view name, const Value& operand, const Arguments& arguments) {
  const auto it =
      std::find_if(kTests.begin(), kTests.end(), [&](const NamedTest& t) { return t.name == name; });
  if (it == kTests.end()) fail_at(arguments.site(), "the test {} is not supported", quote(name));
  arguments.allow(it->argument_count);
  if (arguments.positional().size() < it->argument_count) {
    fail_at(arguments.site(), "the test {} lacks its argument", name);
  }
  return it->apply(operand, arguments);
}

}  // namespace buoy::jinja
