// The contrast of a claim over all samples, beside what a null comes to on the same samples.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "buoy/claims/claims.h"

namespace buoy {

struct Contrast {
  Index n = 0;          // samples (pairs); of two sides or several models, of the one that fewest have
  Index questions = 0;  // likewise
  double value = 0, null = 0;
  Estimate excess;  // value − null, resampled together
  // The excess of every model by itself; that of the contrast is the mean over `models` less that over
  // `against`.
  std::vector<double> models = {}, against = {};
};

// The mean over the models of one kind, or less the mean over those of another.
struct Contrasted {
  std::vector<std::string> models, against = {};  // against empty: none
};

// Beside the claim's first null, which each sample brings with it: uniform attention, or as stated. Nothing
// when no sample has what it takes. `table` is the one that the claim is judged from.
std::optional<Contrast> contrast_of(const SampleTable& table, const Claim& claim, const Contrasted& models);

// Where the numbers of a null stand, for the model and for the one that it is compared with.
struct NullPlace {
  const SampleTable *model = nullptr, *against = nullptr;
};

// Beside the same of another table, over the samples that have both.
std::optional<Contrast> contrast_beside(const SampleTable& table, const Claim& claim,
                                        const Contrasted& models, const NullPlace& null);

// The samples of a table whose prompt the condition of a side does not change.
std::set<SampleKey> same_prompts(const SampleTable& table, const ClaimSide& side);

// The part under which a side's conditions are noted as one prompt: a stressor's name, or the condition's.
std::string_view changed_part(const ClaimSide& side);

}  // namespace buoy
