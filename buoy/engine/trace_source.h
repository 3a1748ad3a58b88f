// What all traces of a loaded model share: hashes, settings, and what to record.
#pragma once

#include "buoy/engine/loaded_model.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/run/tracer.h"

namespace buoy {

// Views the model, which must outlive it. Reads the checkpoint once more for its hash. Throws Error when the
// model has no tokenizer.
TraceSource make_trace_source(const LoadedModel& model, const SamplerSettings& sampler,
                              const RecordSettings& record, const QuestionPrompt& prompt);

// A plain text as an example, in the chat template where there is one.
TraceExample plain_example(const Tokenizer& tokenizer, const std::string& prompt,
                           const std::optional<ChatTemplate>& chat);

}  // namespace buoy
