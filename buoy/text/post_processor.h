// The special tokens that a tokenizer puts around a text when asked to.
#pragma once

#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

// Reads the "post_processor" of a tokenizer.json (null allowed: adds nothing). Only the template for a single
// text is used. Throws Error naming a type that is not known.
PostProcessor parse_post_processor(const Json* value, const std::string& place);

}  // namespace buoy
