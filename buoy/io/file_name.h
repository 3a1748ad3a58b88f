// The gate between foreign names and the file system.
#pragma once

#include <string>
#include <string_view>

namespace buoy {

// A name for a file, made of an id: letters, digits, '.', '-' and '_' of ASCII. Ids that differ give names
// that differ: where anything had to be replaced or cut, a hash of the id follows. Never empty, hidden, "."
// or "..".
std::string file_name_of(std::string_view id);

}  // namespace buoy
