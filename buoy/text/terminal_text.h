// The gate between foreign text and a terminal.
#pragma once

#include <string>
#include <string_view>

namespace buoy {

// Text of a file, a vocabulary or a model as a terminal may be shown it: new lines and tabs stay, every other
// control character is written out ("\\x1b"), so that none moves the cursor, sets a title or hides a line.
// Marks that turn the direction of writing and invalid UTF-8 become U+FFFD.
std::string for_terminal(std::string_view text);

// The same as one line of a message: new lines too are written out, and of more than 4,000 bytes the middle
// is left out.
std::string for_message(std::string_view text);

}  // namespace buoy
