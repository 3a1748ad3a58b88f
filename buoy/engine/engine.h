// The public face: models, samplers, traces, runs, studies. Include this to use Buoy from a program.
#pragma once

#include "buoy/base/cancel.h"              // IWYU pragma: export
#include "buoy/base/error.h"               // IWYU pragma: export
#include "buoy/base/version.h"             // IWYU pragma: export
#include "buoy/decode/sampler.h"           // IWYU pragma: export
#include "buoy/engine/audit_run.h"         // IWYU pragma: export
#include "buoy/engine/evaluation.h"        // IWYU pragma: export
#include "buoy/engine/intervention_run.h"  // IWYU pragma: export
#include "buoy/engine/loaded_model.h"      // IWYU pragma: export
#include "buoy/engine/replay_run.h"        // IWYU pragma: export
#include "buoy/engine/shuffle.h"           // IWYU pragma: export
#include "buoy/engine/stress_run.h"        // IWYU pragma: export
#include "buoy/engine/study.h"             // IWYU pragma: export
#include "buoy/engine/trace_run.h"         // IWYU pragma: export
