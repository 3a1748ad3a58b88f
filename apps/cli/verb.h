// The verbs of the buoy command. Each adds itself, with options, help and the work to do.
#pragma once

#include "apps/cli/options.h"  // IWYU pragma: export

namespace buoy {

// All of them, in the order of the help.
void add_verbs(Command& command);

void add_analyze(Command& command);
void add_attention(Command& command);
void add_audit(Command& command);
void add_bench(Command& command);
void add_completion(Command& command);  // and manual: what is made of the other verbs' tables
void add_eval(Command& command);
void add_export(Command& command);
void add_forward(Command& command);
void add_generate(Command& command);
void add_help(Command& command);
void add_index(Command& command);
void add_inspect(Command& command);
void add_intervene(Command& command);
void add_replay(Command& command);
void add_score(Command& command);
void add_serve(Command& command);
void add_shuffle(Command& command);
void add_stress(Command& command);
void add_study(Command& command);
void add_table(Command& command);
void add_tokenize(Command& command);
void add_trace(Command& command);
void add_verify(Command& command);
void add_view(Command& command);
void add_world(Command& command);

}  // namespace buoy
