#include "buoy/text/visible_text.h"

#include <string_view>

namespace buoy {
namespace {

void replace_every(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string visible_token(std::string text) {
  replace_every(text, "\n", "↵");
  replace_every(text, "\t", "⇥");
  if (text == " ") return "␣";
  if (text.size() > 1 && text.front() == ' ') text.erase(0, 1);
  return text;
}

}  // namespace buoy
