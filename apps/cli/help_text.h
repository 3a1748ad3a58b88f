// Help as text that fits a window.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/options.h"

namespace buoy {

// Words of a text in lines of at most `columns`, each after `indent` spaces; a word that is too long has a
// line of its own. No newline at the end.
std::string wrap(std::string_view text, int indent, int columns);

// A line of shell in lines of at most `columns` that still are one command when pasted: broken by backslashes
// where no quotes are. Two spaces before the first, six before the others.
std::string wrap_shell(std::string_view line, int columns);

// "-m, --model TEXT", "--json", "SOURCES…": how the help, and the man page, call an option.
std::string heading(const OptionInfo& option);
// Its help with choices, limits and default: "Threads of the cpu (1 to 1024)".
std::string explanation(const OptionInfo& option);
// "buoy index [OPTIONS] COLLECTION ACTION …".
std::string usage_line(const VerbInfo& verb, const std::string& path);

// The whole help of a verb, or of the command: its verbs are actions. `path` is what is typed to get there:
// "buoy index add".
std::string help_text(const VerbInfo& verb, const std::string& path, int columns);

}  // namespace buoy
