#include "apps/cli/options.h"

#include <algorithm>
#include <deque>

#include <CLI/CLI.hpp>

#include "buoy/base/error.h"

namespace buoy {

struct Option::State {
  OptionInfo info;
  CLI::Option* option = nullptr;
  CLI::App* app = nullptr;
};

struct Verb::State {
  CLI::App* app = nullptr;
  State* parent = nullptr;
  std::string alias;
  std::deque<Option::State> options;  // handles point at them
  std::deque<State> actions;
};

struct Command::State {
  std::unique_ptr<CLI::App> owned;
  CLI::App* app = nullptr;
  std::deque<Verb::State> verbs;
};

namespace {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;#~!") == word.npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// "-m,--model,--checkpoint" → short name, name, aliases.
void set_names(OptionInfo& info, const std::string& names) {
  for (const std::string& name : CLI::detail::split(names, ',')) {
    if (name.starts_with('-') && !name.starts_with("--")) {
      info.short_name = name;
    } else if (info.name.empty()) {
      info.name = name;
    } else {
      info.aliases.push_back(name);
    }
  }
  check(!info.name.empty(), "an option has no long name");
}

VerbInfo info_of(const Verb::State& verb) {
  VerbInfo info{.name = verb.app->get_name(),
                .alias = verb.alias,
                .summary = verb.app->get_description(),
                .footer = verb.app->get_footer(),
                .options = {},
                .actions = {}};
  for (const Option::State& option : verb.options) info.options.push_back(option.info);
  for (const Verb::State& action : verb.actions) info.actions.push_back(info_of(action));
  return info;
}

// Puts argument, choices, limits and default into the help.
void show(const Option::State& state) {
  const OptionInfo& info = state.info;
  std::string argument = info.argument;
  if (!info.choices.empty()) argument += ":{" + CLI::detail::join(info.choices) + "}";
  if (info.limits) argument += " (" + describe(*info.limits) + ")";
  state.option->type_name(argument);
  state.option->default_str(info.default_value);
}

// The command and its actions down to this one, each with what was given to it.
std::string line_of(const Verb::State& verb) {
  std::string line = verb.parent != nullptr ? line_of(*verb.parent) : verb.app->get_parent()->get_name();
  line += " " + verb.app->get_name();
  for (const Option::State& state : verb.options) {
    for (const std::string& value : state.option->results()) {
      if (!state.info.is_positional()) line += " " + state.info.name;
      if (!state.info.is_flag()) line += " " + shell_word(value);
    }
  }
  return line;
}

}  // namespace

Option& Option::required() {
  state_->info.is_required = true;
  state_->option->required();
  return *this;
}

Option& Option::group(const std::string& heading) {
  state_->info.group = heading;
  state_->option->group(heading);
  return *this;
}

Option& Option::hide_default() {
  state_->info.default_value.clear();
  show(*state_);
  return *this;
}

Option& Option::split_at(char comma) {
  state_->info.delimiter = comma;
  return *this;
}

Option& Option::choices(std::vector<std::string> allowed) {
  check(!allowed.empty(), "an option has no choices");
  state_->info.choices = std::move(allowed);
  show(*state_);
  return *this;
}

Option& Option::between(double low, double high) {
  state_->info.limits = Limits{.low = low, .high = high};
  show(*state_);
  return *this;
}

Option& Option::at_least(double low) {
  state_->info.limits = Limits{.low = low};
  show(*state_);
  return *this;
}

Option& Option::above(double low) {
  state_->info.limits = Limits{.low = low, .high = std::nullopt, .kind = Limits::Low::kExcluded};
  show(*state_);
  return *this;
}

Option& Option::needs(const std::string& other) {
  state_->option->needs(state_->app->get_option(other));
  return *this;
}

Option& Option::excludes(const std::string& other) {
  state_->option->excludes(state_->app->get_option(other));
  return *this;
}

bool Option::given() const {
  return state_->option->count() > 0;
}

Option Verb::option(const std::string& names, Target target, const std::string& help) {
  Option::State& added = state_->options.emplace_back();
  set_names(added.info, names);
  added.info.help = help;
  added.info.argument = argument_of(target);
  added.info.default_value = shown_value(target);
  added.info.is_list = is_list(target);
  added.app = state_->app;
  const auto fill = [target, &added](const CLI::results_t& texts) {
    assign(target, added.info, texts);
    return true;
  };
  added.option = state_->app->add_option(names, fill, help);
  if (added.info.is_list) {
    added.option->expected(CLI::detail::expected_max_vector_size);
  } else {
    added.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // assign() says it better
  }
  show(added);
  return Option(added);
}

Option Verb::flag(const std::string& names, bool* target, const std::string& help) {
  Option::State& added = state_->options.emplace_back();
  set_names(added.info, names);
  added.info.help = help;
  added.app = state_->app;
  added.option = state_->app->add_flag_callback(
      names, [target] { *target = true; }, help);
  return Option(added);
}

void Verb::explain(const std::string& name, const std::string& help) {
  const auto found = std::ranges::find(state_->options, name, [](const auto& o) { return o.info.name; });
  check(found != state_->options.end(), "an option is explained that was not added");
  found->info.help = help;
  found->option->description(help);
}

Verb Verb::action(const std::string& name, const std::string& summary, const std::string& alias) {
  State& added = state_->actions.emplace_back();
  added.app = state_->app->add_subcommand(name, summary);
  added.parent = state_;
  added.alias = alias;
  if (!alias.empty()) added.app->alias(alias);
  state_->app->require_subcommand(1);
  return Verb(added);
}

void Verb::footer(const std::string& text) {
  state_->app->footer(text);
}

void Verb::runs(std::function<void()> work) {
  state_->app->callback(std::move(work));
}

bool Verb::given(const std::string& name) const {
  return state_->app->count(name) > 0;
}

std::string Verb::command_line() const {
  return line_of(*state_);
}

VerbInfo Verb::info() const {
  return info_of(*state_);
}

CLI::App& Verb::parser() const {
  return *state_->app;
}

Command::Command(const std::string& name, const std::string& summary, std::function<std::string()> version)
    : state_(std::make_unique<State>()) {
  state_->owned = std::make_unique<CLI::App>(summary, name);
  state_->app = state_->owned.get();
  state_->app->set_version_flag("--version", std::move(version));
  state_->app->require_subcommand(1);
  state_->app->failure_message(CLI::FailureMessage::simple);
}

Command::Command(CLI::App& app) : state_(std::make_unique<State>()) {
  state_->app = &app;
}

Command::~Command() = default;

Verb Command::verb(const std::string& name, const std::string& summary) {
  Verb::State& added = state_->verbs.emplace_back();
  added.app = state_->app->add_subcommand(name, summary);
  return Verb(added);
}

void Command::footer(const std::string& text) {
  state_->app->footer(text);
}

std::vector<VerbInfo> Command::verbs() const {
  std::vector<VerbInfo> infos;
  for (const Verb::State& verb : state_->verbs) infos.push_back(info_of(verb));
  return infos;
}

bool Command::run(std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // CLI11 reads from the back
  try {
    state_->app->parse(arguments);
  } catch (const CLI::ParseError& e) {
    return state_->app->exit(e) == 0;
  }
  return true;
}

}  // namespace buoy
