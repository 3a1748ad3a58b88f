#include "apps/cli/options.h"

#include <algorithm>
#include <cstdio>
#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "apps/cli/environment.h"
#include "apps/cli/help_text.h"
#include "apps/cli/suggestion.h"
#include "apps/cli/words.h"
#include "buoy/base/error.h"

namespace buoy {

struct Option::State {
  OptionInfo info;
  std::function<void(const State&)> fill;
  std::vector<std::string> texts;  // what was given; a flag has an empty text for each time
};

struct Verb::State {
  std::string name, alias, summary, footer;
  State* parent = nullptr;
  std::deque<Option::State> options;  // handles point at them
  std::deque<State> actions;
  std::function<void()> work;
};

struct Command::State {
  Verb::State root;
  std::function<std::string()> version;
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
  for (std::size_t begin = 0, end = 0; end != names.npos; begin = end + 1) {
    end = names.find(',', begin);
    const std::string name = names.substr(begin, end == names.npos ? end : end - begin);
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
  VerbInfo info{.name = verb.name,
                .alias = verb.alias,
                .summary = verb.summary,
                .footer = verb.footer,
                .options = {},
                .actions = {}};
  for (const Option::State& option : verb.options) info.options.push_back(option.info);
  for (const Verb::State& action : verb.actions) info.actions.push_back(info_of(action));
  return info;
}

Verb::State& add_action(Verb::State& parent, const std::string& name, const std::string& summary) {
  Verb::State& added = parent.actions.emplace_back();
  added.name = name;
  added.summary = summary;
  added.parent = &parent;
  return added;
}

Option::State& add_option_to(Verb::State& verb, const std::string& names, const std::string& help) {
  Option::State& added = verb.options.emplace_back();
  set_names(added.info, names);
  added.info.help = help;
  const auto same = [&](const Option::State& other) { return other.info.name == added.info.name; };
  check(std::ranges::count_if(verb.options, same) == 1, "an option is added twice");
  return added;
}

const Option::State& find_option(const Verb::State& verb, const std::string& name) {
  const auto found = std::ranges::find(verb.options, name, [](const auto& o) { return o.info.name; });
  check(found != verb.options.end(), "an option is asked for that was not added");
  return *found;
}

// "generate"; of an action "index add".
std::string path_of(const Verb::State& verb) {
  const bool is_first = verb.parent == nullptr || verb.parent->parent == nullptr;
  return is_first ? verb.name : path_of(*verb.parent) + " " + verb.name;
}

// The command and its actions down to this one, each with what was given to it.
std::string line_of(const Verb::State& verb) {
  std::string line = verb.parent != nullptr ? line_of(*verb.parent) + " " + verb.name : verb.name;
  for (const Option::State& option : verb.options) {
    for (const std::string& text : option.texts) {
      if (!option.info.is_positional()) line += " " + option.info.name;
      if (!option.info.is_flag()) line += " " + shell_word(text);
    }
  }
  return line;
}

Verb::State& find_action(Verb::State& verb, const std::string& word) {
  std::vector<std::string> names;
  for (Verb::State& action : verb.actions) {
    if (word == action.name || word == action.alias) return action;
    names.push_back(action.name);
  }
  const bool is_command = verb.parent == nullptr;
  const std::string got = is_command ? fmt::format("unknown verb \"{}\"", word)
                                     : fmt::format("\"{}\" is no action of {}", word, path_of(verb));
  if (const auto near = nearest(word, names)) fail_usage("{}; did you mean \"{}\"?", got, *near);
  if (is_command) fail_usage("{}; \"{} --help\" lists them", got, verb.name);
  fail_usage("{}; there are {}", got, fmt::join(names, ", "));
}

// Whether all that is asked of the options together holds.
void check_together(const Verb::State& verb) {
  for (const Option::State& option : verb.options) {
    const OptionInfo& info = option.info;
    if (option.texts.empty()) {
      if (info.is_required) fail_usage("{} needs {}", path_of(verb), spelled(info));
      continue;
    }
    for (const std::string& name : info.needs) {
      const Option::State& other = find_option(verb, name);
      if (other.texts.empty()) fail_usage("{} has no effect without {}", spelled(info), spelled(other.info));
    }
    for (const std::string& name : info.excludes) {
      const Option::State& other = find_option(verb, name);
      if (!other.texts.empty()) fail_usage("{} excludes {}", spelled(info), spelled(other.info));
    }
  }
}

// Reads the verb's words into its options; the action that was named, or nullptr.
Verb::State* read_words(Verb::State& verb, std::span<const std::string>& words) {
  WordReader reader(info_of(verb), path_of(verb));
  words = reader.read(words);
  for (std::size_t i = 0; i < verb.options.size(); ++i) verb.options[i].texts = reader.texts()[i];
  for (const Option::State& option : verb.options) {
    if (!option.texts.empty()) option.fill(option);
  }
  check_together(verb);
  if (verb.actions.empty()) return nullptr;
  if (words.empty()) {
    std::vector<std::string> names;
    for (const Verb::State& action : verb.actions) names.push_back(action.name);
    fail_usage("{} needs one of {}", path_of(verb), fmt::join(names, ", "));
  }
  Verb::State& action = find_action(verb, words.front());
  words = words.subspan(1);
  return &action;
}

void print_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

Option& Option::required() {
  state_->info.is_required = true;
  return *this;
}

Option& Option::group(const std::string& heading) {
  state_->info.group = heading;
  return *this;
}

Option& Option::hide_default() {
  state_->info.default_value.clear();
  return *this;
}

Option& Option::split_at(char comma) {
  state_->info.delimiter = comma;
  return *this;
}

Option& Option::choices(std::vector<std::string> allowed) {
  check(!allowed.empty(), "an option has no choices");
  state_->info.choices = std::move(allowed);
  return *this;
}

Option& Option::between(double low, double high) {
  state_->info.limits = Limits{.low = low, .high = high};
  return *this;
}

Option& Option::at_least(double low) {
  state_->info.limits = Limits{.low = low};
  return *this;
}

Option& Option::above(double low, std::optional<double> high) {
  state_->info.limits = Limits{.low = low, .high = high, .kind = Limits::Low::kExcluded};
  return *this;
}

Option& Option::needs(const std::string& other) {
  state_->info.needs.push_back(other);
  return *this;
}

Option& Option::excludes(const std::string& other) {
  state_->info.excludes.push_back(other);
  return *this;
}

bool Option::given() const {
  return !state_->texts.empty();
}

Option Verb::option(const std::string& names, Target target, const std::string& help) {
  Option::State& added = add_option_to(*state_, names, help);
  added.info.argument = argument_of(target);
  added.info.default_value = shown_value(target);
  added.info.is_list = is_list(target);
  added.fill = [target](const Option::State& option) { assign(target, option.info, option.texts); };
  return Option(added);
}

Option Verb::flag(const std::string& names, bool* target, const std::string& help) {
  Option::State& added = add_option_to(*state_, names, help);
  added.fill = [target](const Option::State&) { *target = true; };
  return Option(added);
}

void Verb::explain(const std::string& name, const std::string& help) {
  const_cast<Option::State&>(find_option(*state_, name)).info.help = help;
}

Verb Verb::action(const std::string& name, const std::string& summary, const std::string& alias) {
  State& added = add_action(*state_, name, summary);
  added.alias = alias;
  return Verb(added);
}

void Verb::footer(const std::string& text) {
  state_->footer = text;
}

void Verb::runs(std::function<void()> work) {
  state_->work = std::move(work);
}

bool Verb::given(const std::string& name) const {
  return !find_option(*state_, name).texts.empty();
}

std::string Verb::command_line() const {
  return line_of(*state_);
}

VerbInfo Verb::info() const {
  return info_of(*state_);
}

Command::Command(const std::string& name, const std::string& summary, std::function<std::string()> version)
    : state_(std::make_unique<State>()) {
  state_->root.name = name;
  state_->root.summary = summary;
  state_->version = std::move(version);
}

Command::~Command() = default;

Verb Command::verb(const std::string& name, const std::string& summary) {
  return Verb(add_action(state_->root, name, summary));
}

void Command::footer(const std::string& text) {
  state_->root.footer = text;
}

VerbInfo Command::info() const {
  return info_of(state_->root);
}

std::string Command::help(std::span<const std::string> path, int columns) const {
  Verb::State* verb = &state_->root;
  for (const std::string& name : path) verb = &find_action(*verb, name);
  const bool is_command = verb == &state_->root;
  return help_text(info_of(*verb), is_command ? verb->name : state_->root.name + " " + path_of(*verb),
                   columns);
}

void Command::run(std::span<const std::string> arguments) const {
  bool runs = true;
  if (!arguments.empty() && arguments.front() == "--check-only") {
    runs = false;
    arguments = arguments.subspan(1);
  }
  if (arguments.empty()) fail_usage("no verb; \"{} --help\" lists them", state_->root.name);
  if (arguments.front() == "--version") return print_out(state_->version() + "\n");
  std::vector<std::string> path;
  try {
    Verb::State* verb = &state_->root;
    std::span<const std::string> words = arguments;
    for (Verb::State* next = verb; next != nullptr; next = read_words(*verb, words)) {
      verb = next;
      if (verb != &state_->root) path.push_back(verb->name);
    }
    check(verb->work != nullptr, "a verb does nothing");
    if (runs) verb->work();
  } catch (const HelpWanted&) {
    print_out(help(path, window_size(STDOUT_FILENO).columns));
  }
}

}  // namespace buoy
