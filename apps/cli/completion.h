// Completion scripts for shells, made from the verbs' own tables.
#pragma once

#include <string>

#include "apps/cli/options.h"

namespace buoy {

// `shell` is "bash", "zsh" or "fish".
std::string completion_script(const VerbInfo& command, const std::string& shell);

}  // namespace buoy
