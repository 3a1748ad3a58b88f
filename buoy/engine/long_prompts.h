// Prompts that leave no room for the answer: found before any model is loaded, and left out or cut.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "buoy/engine/answering.h"

namespace buoy {

// What is to become of the items of a run so that every prompt fits every model.
struct Fitting {
  std::set<std::pair<std::string, std::string>> left_out;  // data and sample
  // Passages by data, condition and sample, cut.
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<QaPassage>> cut;

  void apply(RunPlan& plan) const;
};

// Looks at all prompts of all models. Throws Error listing those that do not fit where the settings say so,
// and where nothing is left to cut. The observer, which may be null, hears what was left out and cut.
Fitting fit_prompts(const RunSettings& settings, const std::vector<NamedModel>& models,
                    const std::function<RunPlan(const NamedModel&)>& plan, RunObserver* observer);

// The same for questions that are traced as they are, with all their passages: the data without those that
// are left out, and with cut passages. Throws as above, and where no question is left.
std::vector<NamedItems> fit_questions(const RunSettings& settings, const std::vector<NamedModel>& models,
                                      std::vector<NamedItems> data, RunObserver* observer);

// The passages without those at the end, the first of them without its last words, so that `fits` says yes;
// the longest such. Nothing where not even no passages fit.
std::optional<std::vector<QaPassage>> cut_to_fit(
    const std::vector<QaPassage>& passages, const std::function<bool(const std::vector<QaPassage>&)>& fits);

}  // namespace buoy
