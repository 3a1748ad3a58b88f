// The verbs of the buoy command. Each adds its subcommand, with options, help and the callback that does the
// work.
#pragma once

#include <CLI/CLI.hpp>

namespace buoy {

class Command;

void add_analyze(CLI::App& root);
void add_bench(CLI::App& root);
void add_eval(CLI::App& root);
void add_stress(CLI::App& root);
void add_intervene(CLI::App& root);
void add_export(CLI::App& root);
void add_forward(CLI::App& root);
void add_generate(CLI::App& root);
void add_index(CLI::App& root);
void add_inspect(CLI::App& root);
void add_study(CLI::App& root);
void add_tokenize(CLI::App& root);
void add_trace(CLI::App& root);
void add_attention(Command& command);
void add_verify(Command& command);
void add_world(CLI::App& root);

}  // namespace buoy
