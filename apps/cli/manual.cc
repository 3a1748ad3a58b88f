#include "apps/cli/manual.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "apps/cli/help_text.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// As roff prints it letter by letter: no escape, no request, no ligature of hyphens.
std::string roff(std::string_view text) {
  std::string made;
  const std::string owned(text);
  for (Index at = 0; at < std::ssize(owned);) {
    const CodePoint c = code_point_at(owned, at);
    at += c.length;
    const bool starts_line = made.empty() || made.back() == '\n';
    if (starts_line && (c.value == '.' || c.value == '\'')) made += "\\&";
    if (c.value == '\\') {
      made += "\\e";
    } else if (c.value == '-') {
      made += "\\-";
    } else if (c.value < 0x80) {
      made += static_cast<char>(c.value);
    } else {
      made += fmt::format("\\[u{:04X}]", static_cast<unsigned>(c.value));
    }
  }
  return made;
}

std::string options_of(const VerbInfo& verb) {
  std::string page, group;
  const auto add = [&](const OptionInfo& option) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(heading(option)), roff(explanation(option)));
  };
  for (const OptionInfo& option : verb.options) {
    if (option.group.empty()) add(option);
  }
  // As in the help: groups after the rest, each in one place.
  std::vector<std::string> done;
  for (const OptionInfo& first : verb.options) {
    if (first.group.empty() || std::ranges::find(done, first.group) != done.end()) continue;
    done.push_back(first.group);
    page += fmt::format(".PP\n{}:\n", roff(first.group));
    for (const OptionInfo& option : verb.options) {
      if (option.group == first.group) add(option);
    }
  }
  return page;
}

// Paragraphs, and lines of shell as they are.
std::string remarks_of(std::string_view footer) {
  std::string page;
  bool is_shell = false, begins = true;
  const auto shell = [&](bool wanted) {
    if (is_shell != wanted) page += wanted ? ".PP\n.nf\n" : ".fi\n";
    is_shell = wanted;
  };
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    shell(line.starts_with("  "));
    if (!line.empty() && begins && !is_shell) page += ".PP\n";
    begins = line.empty();
    if (!line.empty()) page += roff(line) + "\n";
  }
  shell(false);
  return page;
}

void add_verb(const VerbInfo& verb, const std::string& path, std::string& page) {
  page += fmt::format(".SS \"{}\"\n{}.\n.PP\n\\fB{}\\fR\n", roff(path), roff(verb.summary),
                      roff(usage_line(verb, "buoy " + path)));
  if (!verb.alias.empty()) page += fmt::format(".PP\nAlso: \\fB{}\\fR.\n", roff(verb.alias));
  page += options_of(verb);
  page += remarks_of(verb.footer);
  for (const VerbInfo& action : verb.actions) add_verb(action, path + " " + action.name, page);
}

constexpr const char* kClosing = R"(.SH EXIT STATUS
0: done; 1: the work failed; 2: wrong usage; 130: stopped by Ctrl\-C.
.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
Where it is set and not empty, no colours are written.
.TP
\fBTERM\fR
On a terminal called dumb nothing is drawn over.
.TP
\fBHF_HUB_CACHE\fR, \fBHF_HOME\fR, \fBXDG_CACHE_HOME\fR
Where models of the Hugging Face Hub lie that are called by their names (ORG/NAME): the cache itself, its parent, or the
folder that holds huggingface/hub.
)";

}  // namespace

std::string manual_page(const VerbInfo& command, std::string_view version) {
  std::string page = fmt::format(".TH BUOY 1 \"\" \"buoy {}\" \"User Commands\"\n.ad l\n", roff(version));
  page += fmt::format(".SH NAME\n{} \\- watches the attention of language models\n", command.name);
  page += ".SH SYNOPSIS\n\\fBbuoy\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBbuoy \\-\\-version\\fR\n";
  page += fmt::format(".SH DESCRIPTION\n{}\n", roff(command.summary));
  page += "Options may be written with underscores too: \\-\\-gen_length is \\-\\-gen\\-length.\n.SH VERBS\n";
  for (const VerbInfo& verb : command.actions) add_verb(verb, verb.name, page);
  return page + kClosing;
}

}  // namespace buoy
