#include "buoy/text/jinja/template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/test_support.h"

namespace buoy::jinja {
namespace {

std::string render(std::string_view source, const Json& variables = Json::object()) {
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 26;
  return Template::parse(source, "t").render(variables, now);
}

std::string refusal(std::string_view source, const Json& variables = Json::object()) {
  return error_of([&] { render(source, variables); });
}

// Expectations below were read off Jinja2 3.1 (trim_blocks, lstrip_blocks); tests/text compares many more
// with it.
TEST(Jinja, WhiteSpaceControl) {
  EXPECT_EQ(render("a  \n {%- if true -%} \n b \n {%- endif -%} \n c"), "abc");
  EXPECT_EQ(render("  {% if true %}\n    text\n  {% endif %}\nx {% if true %} y{% endif %}"),
            "    text\nx  y");
  EXPECT_EQ(render("  {%+ if true %}x{% endif +%}\ny"), "  x\ny");
  EXPECT_EQ(render("a{# gone #}b\n{# alone #}\nc\n"), "ab\nc");
}

TEST(Jinja, LoopsAndScopes) {
  EXPECT_EQ(render("{% for i in [1, 2] %}[{{ x }}]{% set x = i %}{% endfor %}"), "[][]");
  EXPECT_EQ(render("{% set n = namespace(c=0) %}{% for i in l if i > 1 %}{% set n.c = n.c + i %}{{ "
                   "loop.index }}{% endfor %}={{ n.c }}",
                   {{"l", {1, 2, 3}}}),
            "12=5");
  EXPECT_EQ(render("{% for x in [] %}a{% else %}b{% endfor %}"), "b");
}

TEST(Jinja, FollowsPythonInArithmetic) {
  EXPECT_EQ(render("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 1.0 }} {{ 1 + 2 * 3 }}"), "-4 2 3.5 1.0 7");
}

TEST(Jinja, FollowsPythonInStrings) {
  EXPECT_EQ(render("{{ s[1] }}{{ s[::-1] }}{{ s | length }}", {{"s", "a😀b"}}), "😀b😀a3");
  EXPECT_EQ(
      render("{{ 'xay'.strip('xy') }}{{ 'hELLO' | capitalize }}{{ 'a,b,c'.split(',', 1) | join('|') }}"),
      "aHelloa|b,c");
}

TEST(Jinja, JsonIsThatOfPython) {
  EXPECT_EQ(render("{{ v | tojson }}",
                   {{"v", {{"a", {1, 2.0, 1e16, 1e-5, nullptr, true, "é\n"}}, {"b", Json::object()}}}}),
            R"({"a": [1, 2.0, 1e+16, 1e-05, null, true, "é\n"], "b": {}})");
  EXPECT_EQ(render("{{ {'a': [], 'b': [1]} | tojson(indent=2) }}"),
            "{\n  \"a\": [],\n  \"b\": [\n    1\n  ]\n}");
}

TEST(Jinja, TheClockIsGiven) {
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}"), "26 Jul 2024");
}

struct Refusal {
  const char* source;
  const char* message;
};

TEST(Jinja, SaysWhatIsNotSupportedAndWhere) {
  const std::vector<Refusal> refusals = {
      {"\n\n{% macro f() %}x{% endmacro %}",
       "t line 3: {% macro %} is not supported (supported: if, for, set)"},
      {"{% include 'x' %}", "t line 1: {% include %} is not supported (supported: if, for, set)"},
      {"a\n{{ 'x' | title }}", "t line 2: the filter title is not supported"},
      {"{{ 1 if 1 is sameas 1 else 0 }}", "t line 1: the test \"sameas\" is not supported"},
      {"{{ [1] | select('a\nb') }}", "t line 1: the test \"a\\nb\" is not supported"},
      {"{{ 'a'.zfill(3) }}", "t line 1: the method zfill of a string is not supported"},
      {"{{ cycler('a') }}", "t line 1: the function cycler is not supported"},
      {"{% for x in [1] %}{{ loop.cycle('a') }}{% endfor %}",
       "t line 1: the method cycle of a loop is not supported"},
      {"{% for x in [1] %}{{ loop.depth }}{% endfor %}", "t line 1: loop.depth is not supported"},
      {"{{ 2 ** 3 }}", "t line 1: the operator ** is not supported"},
      {"{{ 1 < 2 < 3 }}", "t line 1: a chain of comparisons is not supported"},
      {"{{ true }}", "t line 1: writing a boolean as text is not supported (tojson would be)"},
      {"{{ none }}", "t line 1: writing none as text is not supported (tojson would be)"},
      {"{{ [1] }}", "t line 1: writing a list as text is not supported (tojson would be)"},
      {"{{ 'a' + 1 }}", "t line 1: + between a string and an integer is not supported"},
      {"{{ 'é' | upper }}", "t line 1: upper of text that is not ASCII is not supported"},
      {"{{ x.y }}", "t line 1: \"x\" is undefined"},
      {"{{ 'a\\x41' }}", "t line 1: the escape \"\\\\x\" in a string is not supported"},
      {"{{ {'items': 1}.items }}", "t line 1: the method items without a call is not supported"},
      {"{% for c in 'ab' %}{% endfor %}", "t line 1: walking over a string is not supported"},
      {"\n{{ raise_exception('Only user turns') }}", "t line 2: raise_exception: \"Only user turns\""},
      {"{% if true %}", "t line 1: the template ends, expected {% endif %}"},
      {"{{ (1 }}", "t line 1: unexpected }"},
      {"{{ 1 +\n}}", "t line 2: got }}, expected an expression"},
      {"{{ 'a", "t line 1: a string has no end"},
      {"{{ 1 // 0 }}", "t line 1: division by zero"},
      {"{{ range(1000000) }}", "t line 1: range is longer than 100000"},
      {"{% set loop = 1 %}", "t line 1: cannot assign to loop"},
  };
  for (const Refusal& refused : refusals)
    EXPECT_EQ(refusal(refused.source), refused.message) << refused.source;
}

TEST(Jinja, DeepAndEndlessTemplatesAreRefused) {
  EXPECT_NE(
      refusal("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}").find("nested deeper"),
      std::string::npos);
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  EXPECT_NE(refusal(sum + " }}").find("nested deeper"), std::string::npos);
  std::string loops;
  for (int i = 0; i < 4; ++i) loops += "{% for x" + std::to_string(i) + " in range(1000) %}";
  for (int i = 0; i < 4; ++i) loops += "{% endfor %}";
  EXPECT_NE(refusal(loops).find("takes more than"), std::string::npos);
  EXPECT_NE(
      refusal("{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}")
          .find("longer than 16777216 bytes"),
      std::string::npos);
}

// Each of these took gigabytes, exponential time or the stack.
TEST(Jinja, WhatATemplateMayUseIsBounded) {
  const std::string grow = "{% set ns = namespace(s='aaaaaaaa', l=[1]) %}";
  const auto doubled = [&](int times) {
    return fmt::format("{{% for i in range({}) %}}{{% set ns.s = ns.s ~ ns.s %}}{{% endfor %}}", times);
  };
  const auto nested = [&](const char* what) {
    return fmt::format("{{% for i in range(100000) %}}{{% set ns.l = {} %}}{{% endfor %}}", what);
  };
  const std::string twins =
      "{% set b = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% set b.l = [b.l, b.l] %}{% endfor %}";
  const std::string list = "{% for i in range(19) %}{% set ns.l = ns.l + ns.l %}{% endfor %}";
  const std::pair<std::string, const char*> cases[] = {
      {nested("[ns.l]"), "nested deeper than 100 levels"},
      {nested("{'a': ns.l}"), "nested deeper than 100 levels"},
      {twins + "{{ ns.l | tojson | length }}", "takes more than 2000000 steps"},
      {twins + "{{ 'y' if ns.l == b.l else 'n' }}", "takes more than 2000000 steps"},
      {twins + "{{ 'y' if ns.l in [b.l] else 'n' }}", "takes more than 2000000 steps"},
      {doubled(17) + "{{ ns.s | replace('a', ns.s) | length }}", "a string is longer than"},
      {doubled(17) + "{{ ns.s.replace('', ns.s) | length }}", "a string is longer than"},
      {"{% set ns.s = 'a\n' %}" + doubled(20) + "{{ ns.s | indent(1000) | length }}", "longer than"},
      {doubled(10) + list + "{{ ns.l | join(ns.s) | length }}", "a string is longer than"},
      {doubled(21) + "{{ ns.s | list | length }}", "bytes of text and lists"},
      {doubled(21) + "{{ ns.s.split('a') | length }}", "a list is longer than 1000000"},
      {doubled(20) + "{% set t = ns.s[:-9] ~ 'b' %}{{ t in ns.s }}", "takes more than 2000000 steps"},
      {doubled(20) + "{{ ns.s | trim(ns.s ~ 'zzz') | length }}", "takes more than 2000000 steps"},
      {doubled(21) + "{% for i in range(100000) %}{% if ns.s | length %}{% endif %}{% endfor %}",
       "takes more than 2000000 steps"},
      {doubled(19) + "{% for i in range(99999) %}{% set ns.l = ns.l + [ns.s ~ i] %}{% endfor %}",
       "bytes of text and lists"},
  };
  for (const auto& [source, message] : cases)
    EXPECT_NE(refusal(grow + source).find(message), std::string::npos)
        << source << ": " << refusal(grow + source);
  EXPECT_NE(refusal(std::string(2000000, 'x')).find("expected at most 1048576"), std::string::npos);
}

// The address sanitizer sees what is never let go of.
TEST(Jinja, NamespacesInACircleOrALongChainAreLetGoOf) {
  EXPECT_EQ(render("{% set a = namespace() %}{% set a.x = [a] %}{% set b = namespace(x=a) %}"
                   "{% set a.y = b %}{{ b.x.x | length }}"),
            "1");
  EXPECT_EQ(render("{% set n = namespace(x=none) %}{% for i in range(90000) %}"
                   "{% set n.x = namespace(x=n.x) %}{% endfor %}done"),
            "done");
}

}  // namespace
}  // namespace buoy::jinja
