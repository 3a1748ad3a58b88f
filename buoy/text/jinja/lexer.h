// Cuts a template into text and tokens, with white space controlled as Hugging Face configures Jinja.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy::jinja {

enum class TokenKind {
  kText,
  kOutputBegin,  // {{
  kOutputEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // unescaped
  kInteger,
  kReal,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  Index line;  // from 1
};

// trim_blocks and lstrip_blocks are on; comments are dropped; the last newline of the template is dropped.
// Ends with a kEnd token. Throws Error "place line N: …".
std::vector<Token> tokenize(std::string_view source, const std::string& place);

}  // namespace buoy::jinja
