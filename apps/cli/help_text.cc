#include "apps/cli/help_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/cli/words.h"

namespace buoy {
namespace {

constexpr int kNarrowest = 40, kWidest = 100;
constexpr int kBesides = 72;  // from so many columns on, explanations stand beside the options
constexpr int kHelpMargin = 2;

// Columns that a UTF-8 text takes; the help has no wide characters.
int width_of(std::string_view text) {
  return static_cast<int>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Pieces between spaces; with `quotes` a quoted piece is not broken.
enum class Quotes { kLetters, kHold };
std::vector<std::string> pieces_of(std::string_view text, Quotes quotes) {
  std::vector<std::string> pieces(1);
  char open = 0;
  for (const char c : text) {
    if (quotes == Quotes::kHold && (c == '"' || c == '\'')) open = open == 0 ? c : open == c ? 0 : open;
    if (open == 0 && (c == ' ' || c == '\n')) {
      if (!pieces.back().empty()) pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

// One option or verb: its name, and beside it or below it what it does.
std::string entry(const std::string& name, const std::string& text, int beside, int columns) {
  const std::string margin(kHelpMargin, ' ');
  if (columns < kBesides) return margin + name + "\n" + wrap(text, 3 * kHelpMargin, columns) + "\n";
  const std::string wrapped = wrap(text, beside, columns) + "\n";
  if (kHelpMargin + width_of(name) + 1 >= beside) return margin + name + "\n" + wrapped;
  const auto gap = static_cast<std::size_t>(beside - kHelpMargin - width_of(name));
  return margin + name + std::string(gap, ' ') + wrapped.substr(static_cast<std::size_t>(beside));
}

std::string options_text(const VerbInfo& verb, int columns) {
  constexpr int kBeside = 30;
  const auto list = [&](const std::string& title, const auto& belongs) {
    std::string text;
    for (const OptionInfo& option : verb.options) {
      if (belongs(option)) text += entry(heading(option), explanation(option), kBeside, columns);
    }
    return text.empty() ? text : fmt::format("\n{}:\n{}", title, text);
  };
  std::string text = list("Arguments", [](const OptionInfo& o) { return o.is_positional(); });
  text += list("Options", [](const OptionInfo& o) { return !o.is_positional() && o.group.empty(); });
  std::vector<std::string> groups;
  for (const OptionInfo& option : verb.options) {
    const std::string& group = option.group;
    if (group.empty() || std::ranges::find(groups, group) != groups.end()) continue;
    groups.push_back(group);
    text += list(group, [&](const OptionInfo& o) { return !o.is_positional() && o.group == group; });
  }
  return text;
}

// Paragraphs are wrapped; lines after two spaces are shell.
std::string footer_text(std::string_view footer, int columns) {
  std::string text, paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) text += "\n" + wrap(paragraph, 0, columns) + "\n";
    paragraph.clear();
  };
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    if (line.starts_with("  ")) {
      flush();
      text += wrap_shell(line.substr(2), columns) + "\n";
    } else if (line.empty()) {
      flush();
    } else {
      paragraph += std::string(line) + " ";
    }
  }
  flush();
  return text;
}

}  // namespace

std::string wrap(std::string_view text, int indent, int columns) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string wrapped = margin;
  int column = indent;
  for (const std::string& word : pieces_of(text, Quotes::kLetters)) {
    const bool is_first = column == indent;
    if (!is_first && column + 1 + width_of(word) > columns) {
      wrapped += "\n" + margin;
      column = indent;
    } else if (!is_first) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += width_of(word);
  }
  return wrapped;
}

std::string wrap_shell(std::string_view line, int columns) {
  constexpr int kContinued = 6, kBackslash = 2;
  std::string wrapped(kHelpMargin, ' ');
  int column = kHelpMargin;
  bool is_first = true;
  const std::vector<std::string> pieces = pieces_of(line, Quotes::kHold);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const int after = i + 1 < pieces.size() ? kBackslash : 0;
    if (!is_first && column + 1 + width_of(pieces[i]) + after > columns) {
      wrapped += " \\\n" + std::string(kContinued, ' ');
      column = kContinued;
    } else if (!is_first) {
      wrapped += ' ';
      ++column;
    }
    wrapped += pieces[i];
    column += width_of(pieces[i]);
    is_first = false;
  }
  return wrapped;
}

std::string heading(const OptionInfo& option) {
  if (option.is_positional()) return spelled(option) + (option.is_list ? "…" : "");
  std::string text = option.short_name.empty() ? "" : option.short_name + ", ";
  text += option.name;
  for (const std::string& alias : option.aliases) text += ", " + alias;
  if (!option.is_flag()) text += " " + option.argument + (option.is_list ? "…" : "");
  return text;
}

std::string explanation(const OptionInfo& option) {
  std::string text = option.help;
  const auto is_named = [&](const std::string& choice) { return option.help.find(choice) != text.npos; };
  if (!std::ranges::all_of(option.choices, is_named)) {
    text += fmt::format(": {}", fmt::join(option.choices, ", "));
  }
  std::vector<std::string> remarks;
  if (option.is_required && !option.is_positional()) remarks.emplace_back("required");
  if (option.limits) remarks.push_back(describe(*option.limits));
  if (!option.default_value.empty()) remarks.push_back("default " + option.default_value);
  if (!remarks.empty()) text += fmt::format(" ({})", fmt::join(remarks, "; "));
  return text;
}

std::string usage_line(const VerbInfo& verb, const std::string& path) {
  std::string line = path;
  for (const OptionInfo& option : verb.options) {
    if (option.is_required && !option.is_positional()) line += fmt::format(" {} …", option.name);
  }
  const auto is_free = [](const OptionInfo& o) { return !o.is_positional() && !o.is_required; };
  if (std::ranges::any_of(verb.options, is_free)) line += " [OPTIONS]";
  for (const OptionInfo& option : verb.options) {
    if (option.is_positional()) {
      line += option.is_required ? " " + heading(option) : fmt::format(" [{}]", heading(option));
    }
  }
  if (!verb.actions.empty()) line += path == verb.name && verb.options.empty() ? " VERB …" : " ACTION …";
  return line;
}

std::string help_text(const VerbInfo& verb, const std::string& path, int columns) {
  constexpr int kBesideVerbs = 14;
  columns = std::clamp(columns, kNarrowest, kWidest);
  std::string text = wrap("usage: " + usage_line(verb, path), 0, columns) + "\n\n";
  text += wrap(verb.summary + (verb.summary.ends_with('.') ? "" : "."), 0, columns) + "\n";
  text += options_text(verb, columns);
  if (!verb.actions.empty()) {
    text += path == verb.name ? "\nVerbs:\n" : "\nActions:\n";
    for (const VerbInfo& action : verb.actions) {
      const std::string also = action.alias.empty() ? "" : fmt::format(" (also {})", action.alias);
      text += entry(action.name, action.summary + also, kBesideVerbs, columns);
    }
  }
  return text + footer_text(verb.footer, columns);
}

}  // namespace buoy
