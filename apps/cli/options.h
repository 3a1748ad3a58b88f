// What verbs are made of: options over plain variables, and the command that reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// The variable an option fills. Its value when the option is added is the default that help shows; an empty
// string, list or optional has none. It must live until the verb has run.
using Target = std::variant<std::string*, std::filesystem::path*, int*, Index*, std::uint64_t*, double*,
                            std::optional<Index>*, std::optional<double>*, std::optional<std::string>*,
                            std::vector<std::string>*, std::vector<Index>*, std::vector<double>*>;

// What numbers an option takes: "1 to 1024", "at least 1", "above 0", "above 0, at most 1".
struct Limits {
  enum class Low { kIncluded, kExcluded };
  double low = 0;
  std::optional<double> high;
  Low kind = Low::kIncluded;
};

// An option as data: for help, man page and shell completions.
struct OptionInfo {
  std::string name;                  // "--model"; of a positional argument "sources"
  std::string short_name;            // "-m", or empty
  std::vector<std::string> aliases;  // other long names
  std::string argument;              // "TEXT", "INT" or "FLOAT"; empty for a flag
  std::string help;
  std::string default_value;  // as help shows it; empty for none
  std::string group;          // its heading in the help; empty for the first, "Options"
  std::vector<std::string> choices;
  std::optional<Limits> limits;
  std::vector<std::string> needs, excludes;  // other options of the verb, by name
  char delimiter = 0;                        // of a list given as one word; 0 for none
  bool is_required = false;
  bool is_list = false;  // may be given more than once

  bool is_flag() const { return argument.empty(); }
  bool is_positional() const { return !name.starts_with('-'); }
};

struct VerbInfo {
  std::string name, alias, summary;
  std::string footer;               // remarks, then "Examples:" and lines of shell, each after two spaces
  std::vector<OptionInfo> options;  // in the order of the help; --help itself is not among them
  std::vector<VerbInfo> actions;    // "add" and "search" of "index"
};

// "1 to 1024".
std::string describe(const Limits& limits);
// How a target's value stands in a help text; empty for none.
std::string shown_value(const Target& target);
// "TEXT", "INT" or "FLOAT".
std::string argument_of(const Target& target);
bool is_list(const Target& target);
// Fills the target with what was typed. Throws UsageError: "--threads is 0, expected 1 to 1024".
void assign(const Target& target, const OptionInfo& option, const std::vector<std::string>& texts);

// An option that was added to a verb; a handle. Each method returns it again:
// verb.option(…).required().group("Data").
class Option {
 public:
  Option& required();
  Option& group(const std::string& heading);
  Option& hide_default();        // where the help text says better what happens without it
  Option& split_at(char comma);  // a list may be one word: "a,b"
  Option& choices(std::vector<std::string> allowed);
  Option& between(double low, double high);
  Option& at_least(double low);
  Option& above(double low, std::optional<double> high = {});
  // The other option must be given too, or must not; it was added before. By name: "--retrieve".
  Option& needs(const std::string& other);
  Option& excludes(const std::string& other);
  bool given() const;  // once the command line was read

  struct State;
  explicit Option(State& state) : state_(&state) {}

 private:
  State* state_;
};

// One verb with its options; a handle, the command owns what is behind it.
class Verb {
 public:
  // Names as "-m,--model", "--gen-length,--max-new-tokens" or "sources" for a positional argument. A list
  // takes several words and may be repeated.
  Option option(const std::string& names, Target target, const std::string& help);
  Option flag(const std::string& names, bool* target, const std::string& help);
  // Replaces an option's help, for a verb that means something of its own by a shared option.
  void explain(const std::string& name, const std::string& help);

  // A verb of the verb: "add" of "index". Of several one must be given. It may go by a second name.
  Verb action(const std::string& name, const std::string& summary, const std::string& alias = "");
  void footer(const std::string& text);  // see VerbInfo
  void runs(std::function<void()> work);

  // Once the command line was read: whether the option "--name" was given.
  bool given(const std::string& name) const;
  // The command as it could be typed again, quoted where a shell needs it.
  std::string command_line() const;
  VerbInfo info() const;

  struct State;
  explicit Verb(State& state) : state_(&state) {}

 private:
  State* state_;
};

// The whole command: verbs, --help, --version, and --check-only, which stops before the verb runs and is
// there for tests.
class Command {
 public:
  // `version` makes what --version prints.
  Command(const std::string& name, const std::string& summary, std::function<std::string()> version);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Verb verb(const std::string& name, const std::string& summary);
  void footer(const std::string& text);
  // The command with its verbs as actions.
  VerbInfo info() const;
  std::vector<VerbInfo> verbs() const { return info().actions; }

  // The help of the command, of a verb, or of a verb's action ({"index", "add"}), in lines of at most
  // `columns`. Throws UsageError for a verb that does not exist.
  std::string help(std::span<const std::string> path, int columns) const;

  // Reads the arguments (without the command's name) and runs the verb; help and version go to standard
  // output. Throws UsageError for wrong arguments, and what the verb throws.
  void run(std::span<const std::string> arguments) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
