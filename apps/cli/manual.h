// The man page, made from the verbs' own tables.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/options.h"

namespace buoy {

// buoy(1) in roff, with the man macros.
std::string manual_page(const VerbInfo& command, std::string_view version);

}  // namespace buoy
