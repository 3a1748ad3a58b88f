#include "buoy/io/file_name.h"

#include <algorithm>

#include "buoy/io/hash.h"

namespace buoy {
namespace {

constexpr std::size_t kLongest = 120;  // file systems take 255 bytes; endings and directories come on top
constexpr std::size_t kHashDigits = 16;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

// Whether it could be taken for a name that a hash was added to.
bool looks_hashed(std::string_view name) {
  if (name.size() <= kHashDigits || name[name.size() - kHashDigits - 1] != '-') return false;
  return name.substr(name.size() - kHashDigits).find_first_not_of("0123456789abcdef") == name.npos;
}

}  // namespace

std::string file_name_of(std::string_view id) {
  std::string name(id.substr(0, kLongest));
  std::ranges::replace_if(
      name, [](char c) { return !is_plain(c); }, '_');
  if (name == id && !name.empty() && name.front() != '.' && !looks_hashed(name)) return name;
  if (!name.empty() && name.front() == '.') name.front() = '_';
  Hasher hasher;
  hasher.add(id);
  return name + '-' + hasher.hex().substr(0, kHashDigits);
}

}  // namespace buoy
