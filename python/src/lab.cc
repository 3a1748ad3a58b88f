#include "python/src/lab.h"

#include <pybind11/stl.h>

#include "apps/cli/run_command.h"
#include "apps/cli/verb.h"
#include "python/src/gil.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

py::dict describe_option(const OptionInfo& option) {
  py::dict made;
  made["name"] = option.name;
  made["help"] = option.help;
  made["default"] = option.default_value;
  made["choices"] = option.choices;
  made["argument"] = option.argument;
  made["list"] = option.is_list;
  made["positional"] = option.is_positional();
  made["required"] = option.is_required;
  return made;
}

py::dict describe_verb(const VerbInfo& verb) {
  py::list options;
  for (const OptionInfo& option : verb.options) options.append(describe_option(option));
  py::list actions;
  for (const VerbInfo& action : verb.actions) actions.append(describe_verb(action));
  py::dict made;
  made["name"] = verb.name;
  made["summary"] = verb.summary;
  made["options"] = options;
  made["actions"] = actions;
  return made;
}

}  // namespace

void add_lab(py::module_& module) {
  module.def("verbs", [] {
    Command command("buoy", "", [] { return std::string(); });
    add_verbs(command);
    py::list made;
    for (const VerbInfo& verb : command.verbs()) made.append(describe_verb(verb));
    return made;
  });
  module.def(
      "command",
      [](const std::vector<std::string>& arguments) {
        const WithoutGil no_gil;
        return run_command(arguments);
      },
      py::arg("arguments"));
}

}  // namespace buoy::python
