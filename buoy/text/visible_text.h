// Tokens as labels: white space that can be seen.
#pragma once

#include <string>

namespace buoy {

// "word" of " word", "↵" of a line's end, "⇥" of a tab, "␣" of a single space.
std::string visible_token(std::string text);

}  // namespace buoy
