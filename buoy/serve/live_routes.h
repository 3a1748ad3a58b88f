// What starting a run takes out of a request, for all who start some. Private to serve.
#pragma once

#include "buoy/corpus/dataset.h"
#include "buoy/serve/explorer_state.h"

namespace buoy {

// Of the body's "sampler", by the names of decode/sampler.h; what means nothing to this model is ignored, so
// that several models may be sent the same. Throws UsageError and Error.
SamplerSettings sampler_in(const JsonObject& body, const ShelvedModel& model);

// A question with its passages in the model's own prompt template.
LiveRunSettings question_run(ShelvedModel& model, const QaItem& item, Chat chat, LiveRunSettings run);

}  // namespace buoy
