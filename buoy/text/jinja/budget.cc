#include "buoy/text/jinja/budget.h"

#include "buoy/text/jinja/value.h"

namespace buoy::jinja {

Budget::~Budget() {
  for (const std::shared_ptr<Namespace>& space : namespaces) space->fields.clear();
}

void spend_steps(const Site& site, Index count) {
  if (site.budget == nullptr) return;
  site.budget->steps += count;
  const Index most = site.budget->most_steps;
  if (site.budget->steps > most) fail_at(site, "the template takes more than {} steps", most);
}

void spend_bytes(const Site& site, std::size_t count) {
  if (site.budget == nullptr) return;
  site.budget->bytes += static_cast<Index>(count);
  if (site.budget->bytes > kMostBytes)
    fail_at(site, "the template makes more than {} bytes of text and lists", kMostBytes);
}

void spend_search(const Site& site, std::size_t text, std::size_t pattern) {
  // Both are strings, below kLongestString: the product fits.
  spend_steps(site, static_cast<Index>(text) * static_cast<Index>(pattern) / kPairsPerStep);
}

void check_length(const Site& site, std::size_t length) {
  if (length > kLongestString) fail_at(site, "a string is longer than {} bytes", kLongestString);
}

}  // namespace buoy::jinja
