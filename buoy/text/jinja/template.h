// A Jinja template of the subset that chat templates use.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "buoy/io/json_fwd.h"
#include "buoy/text/jinja/budget.h"
#include "buoy/text/jinja/syntax.h"

namespace buoy::jinja {

// Immutable, safe to share between threads. Behaves as Jinja2 with trim_blocks and lstrip_blocks, which is
// how Hugging Face renders chat templates.
class Template {
 public:
  // Throws Error "place line N: …" for bad syntax and for what is outside the subset.
  static Template parse(std::string_view source, std::string place);

  // `variables` is an object. Throws Error "place line N: …", never renders something else than Jinja2 would.
  // `now` is what strftime_now() writes, most_steps what rendering may take.
  std::string render(const Json& variables, const std::tm& now, Index most_steps = kMostSteps) const;

 private:
  Template(std::string place, Block body) : place_(std::move(place)), body_(std::move(body)) {}

  std::string place_;
  Block body_;
};

}  // namespace buoy::jinja
