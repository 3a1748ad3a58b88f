#include "apps/cli/completion.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// Calls `visit` for every verb and every action, with its words: "index", "index add".
using Visit = std::function<void(const VerbInfo& verb, const std::string& path)>;
void each_verb(const VerbInfo& command, const Visit& visit) {
  for (const VerbInfo& verb : command.actions) {
    visit(verb, verb.name);
    for (const VerbInfo& action : verb.actions) visit(action, verb.name + " " + action.name);
  }
}

std::vector<std::string> names_of(const std::vector<VerbInfo>& verbs) {
  std::vector<std::string> names;
  for (const VerbInfo& verb : verbs) names.push_back(verb.name);
  return names;
}

// Every spelling: "--model", "-m", aliases.
std::vector<std::string> spellings(const OptionInfo& option) {
  std::vector<std::string> all = {option.name};
  all.insert(all.end(), option.aliases.begin(), option.aliases.end());
  if (!option.short_name.empty()) all.push_back(option.short_name);
  return all;
}

// What may stand where a positional argument does: its choices, or names of verbs for "help".
std::vector<std::string> words_of(const VerbInfo& verb, const VerbInfo& command) {
  std::vector<std::string> words = names_of(verb.actions);
  if (verb.name == "help") words = names_of(command.actions);
  for (const OptionInfo& option : verb.options) {
    if (option.is_positional()) words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  return words;
}

// In single quotes, as every shell reads it; `also` are characters to put a backslash before.
std::string in_quotes(std::string_view text, std::string_view also = "") {
  std::string made = "'";
  for (const char c : text) {
    if (also.find(c) != also.npos) made += '\\';
    made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return made + "'";
}

// fish alone escapes a quote inside of quotes.
std::string fish_quoted(std::string_view text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return made + "'";
}

std::string bash_script(const VerbInfo& command) {
  std::string values, words, actions;
  each_verb(command, [&](const VerbInfo& verb, const std::string& path) {
    std::vector<std::string> options = {"--help"};
    for (const OptionInfo& option : verb.options) {
      if (option.is_positional()) continue;
      options.push_back(option.name);
      options.insert(options.end(), option.aliases.begin(), option.aliases.end());
      if (option.choices.empty()) continue;
      for (const std::string& name : spellings(option)) {
        values += fmt::format("    '{} {}') choices='{}' ;;\n", path, name, fmt::join(option.choices, " "));
      }
    }
    words += fmt::format("    '{}') options='{}' words='{}' ;;\n", path, fmt::join(options, " "),
                         fmt::join(words_of(verb, command), " "));
    if (path.find(' ') != path.npos) actions += fmt::format("      '{}') verb='{}' ;;\n", path, path);
    if (!verb.alias.empty()) {
      actions +=
          fmt::format("      '{} {}') verb='{}' ;;\n", path.substr(0, path.find(' ')), verb.alias, path);
    }
  });
  return fmt::format(R"(# bash completion for buoy, made by "buoy completion bash"
_buoy() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local verb=${{COMP_WORDS[1]-}} options='' words='' choices='' head='' i
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  # "--name=value" comes as three words.
  if [ "$current" = = ]; then
    current=''
  elif [ "$before" = = ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 3; i < COMP_CWORD; i++)); do
    case "$verb ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$verb ${{before//_/-}}" in
{}  esac
  if [ -n "$choices" ]; then
    # The last word of a list: "drift,fl".
    case "$current" in *,*) head=${{current%,*}}, current=${{current##*,}} ;; esac
    COMPREPLY=($(compgen -P "$head" -W "$choices" -- "$current"))
    return
  fi
  case "$verb" in
{}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}}
complete -o default -F _buoy buoy
)",
                     fmt::join(names_of(command.actions), " "), actions, values, words);
}

// "'(-m --model)'{-m,--model}'[Which]:TEXT:_files'".
std::string zsh_option(const OptionInfo& option) {
  const std::string value =
      option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(option.choices, " "));
  if (option.is_positional()) {
    return in_quotes(fmt::format("{}:{}:{}", option.is_list ? "*" : "", option.name, value));
  }
  const std::vector<std::string> names = spellings(option);
  const std::string text = in_quotes(option.help, "[]:");
  const std::string meaning =
      fmt::format("'[{}]{}'", text.substr(1, text.size() - 2),
                  option.is_flag() ? "" : fmt::format(":{}:{}", option.argument, value));
  const std::string many = option.is_list ? "'*'" : "";
  if (names.size() == 1) return many + names[0] + meaning;
  const std::string once = option.is_list ? many : fmt::format("'({})'", fmt::join(names, " "));
  return fmt::format("{}{{{}}}{}", once, fmt::join(names, ","), meaning);
}

std::string zsh_script(const VerbInfo& command) {
  const auto described = [](const std::vector<VerbInfo>& verbs) {
    std::string list;
    for (const VerbInfo& verb : verbs) {
      list += fmt::format("    {}\n", in_quotes(verb.name + ":" + verb.summary));
    }
    return list;
  };
  std::string cases, verbs_with_actions;
  each_verb(command, [&](const VerbInfo& verb, const std::string& path) {
    std::string arguments = " '(-h --help)'{-h,--help}'[Show the help]'";
    for (const OptionInfo& option : verb.options) arguments += " \\\n        " + zsh_option(option);
    if (!verb.actions.empty()) {
      arguments += fmt::format(" \\\n        '2:action:({})'", fmt::join(names_of(verb.actions), " "));
      verbs_with_actions += fmt::format(
          "  if [[ $verb = {} ]] && (( CURRENT > 3 )); then\n    verb=\"$verb $words[3]\"\n"
          "    shift 2 words; (( CURRENT -= 2 ))\n  fi\n",
          verb.name);
    }
    const std::string also =
        verb.alias.empty() ? "" : fmt::format("|'{} {}'", path.substr(0, path.find(' ')), verb.alias);
    cases += fmt::format("    '{}'{}) _arguments{} ;;\n", path, also, arguments);
  });
  return fmt::format(R"(#compdef buoy
# zsh completion for buoy, made by "buoy completion zsh"
_buoy() {{
  local -a verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words; (( CURRENT-- ))
{}  case $verb in
{}  esac
}}
# Loaded by the completion system it completes at once; sourced it registers itself.
if [[ $zsh_eval_context[-1] = loadautofunc ]]; then _buoy "$@"; else compdef _buoy buoy; fi
)",
                     described(command.actions), verbs_with_actions, cases);
}

std::string fish_script(const VerbInfo& command) {
  std::string script = "# fish completion for buoy, made by \"buoy completion fish\"\n";
  for (const VerbInfo& verb : command.actions) {
    script += fmt::format("complete -c buoy -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                          fish_quoted(verb.summary));
  }
  script += "complete -c buoy -n __fish_use_subcommand -l version -d 'Version, commit, compiler, backends'\n";
  script += "complete -c buoy -s h -l help -d 'Show the help'\n";
  each_verb(command, [&](const VerbInfo& verb, const std::string& path) {
    const std::size_t space = path.find(' ');
    std::string where = "__fish_seen_subcommand_from " + path.substr(0, space);
    if (space != path.npos) where += "; and __fish_seen_subcommand_from " + path.substr(space + 1);
    if (!verb.alias.empty()) where += " " + verb.alias;
    const std::string begin = fmt::format("complete -c buoy -n {}", fish_quoted(where));
    for (const OptionInfo& option : verb.options) {
      if (option.is_positional()) continue;
      script += begin;
      for (const std::string& name : spellings(option)) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        script += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      } else if (!option.is_flag()) {
        script += " -r";
      }
      script += " -d " + fish_quoted(option.help) + "\n";
    }
    const std::vector<std::string> words = words_of(verb, command);
    if (!words.empty()) script += fmt::format("{} -a '{}'\n", begin, fmt::join(words, " "));
  });
  return script;
}

}  // namespace

std::string completion_script(const VerbInfo& command, const std::string& shell) {
  if (shell == "bash") return bash_script(command);
  if (shell == "zsh") return zsh_script(command);
  check(shell == "fish", "completion for a shell that is not among the choices");
  return fish_script(command);
}

}  // namespace buoy
