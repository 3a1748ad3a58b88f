// The verbs in the order of the help, and those that speak of the others: help, completion, manual.
#include <cstdio>
#include <memory>

#include <unistd.h>

#include "apps/cli/completion.h"
#include "apps/cli/environment.h"
#include "apps/cli/manual.h"
#include "apps/cli/verb.h"
#include "buoy/base/version.h"

namespace buoy {

void add_help(Command& command) {
  auto path = std::make_shared<std::vector<std::string>>();
  Verb verb = command.verb("help", "What a verb does, with its options and examples");
  verb.option("verb", path.get(), "The verb, and its action where it has some");
  verb.footer("Examples:\n  buoy help generate\n  buoy help index add\n");
  verb.runs([path, &command] {
    std::printf("%s", command.help(*path, window_size(STDOUT_FILENO).columns).c_str());
  });
}

void add_completion(Command& command) {
  auto shell = std::make_shared<std::string>();
  Verb completion = command.verb("completion", "A script that teaches a shell this command's words");
  completion.option("shell", shell.get(), "The shell").choices({"bash", "zsh", "fish"}).required();
  completion.footer(
      "An installation brings these scripts. Without one:\n\n"
      "Examples:\n"
      "  source <(buoy completion bash)\n"
      "  buoy completion fish > buoy.fish\n");
  completion.runs(
      [shell, &command] { std::printf("%s", completion_script(command.info(), *shell).c_str()); });

  Verb manual = command.verb("manual", "The man page");
  manual.footer("Examples:\n  buoy manual > buoy.1\n");
  manual.runs([&command] { std::printf("%s", manual_page(command.info(), version()).c_str()); });
}

void add_verbs(Command& command) {
  add_generate(command);
  add_forward(command);
  add_attention(command);
  add_tokenize(command);
  add_trace(command);
  add_view(command);
  add_serve(command);
  add_analyze(command);
  add_study(command);
  add_eval(command);
  add_table(command);
  add_score(command);
  add_stress(command);
  add_intervene(command);
  add_replay(command);
  add_audit(command);
  add_index(command);
  add_export(command);
  add_shuffle(command);
  add_inspect(command);
  add_verify(command);
  add_world(command);
  add_bench(command);
  add_help(command);
  add_completion(command);
  command.footer(
      "\"buoy help VERB\" or \"buoy VERB --help\" shows a verb's options and examples, \"buoy --version\" "
      "the version, commit, compiler and backends.");
}

}  // namespace buoy
