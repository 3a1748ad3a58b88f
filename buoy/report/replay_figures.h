// The figures of a replayed stream. Private to report.
#pragma once

#include <optional>
#include <span>

#include "buoy/report/page_parts.h"
#include "buoy/run/replay_table.h"

namespace buoy {

// Events as ticks, and below them scores and shares over the stream.
StudyFigure timeline_figure(const ReplayTable& table, std::span<const Event> events,
                            const FigureWriter& writer);
// Attention to passages by what they are, over the stream. Nothing where none was traced.
std::optional<StudyFigure> replay_attention_figure(const ReplayTable& table, std::span<const Event> events,
                                                   const FigureWriter& writer);
// Before and after changes. Nothing where no question was asked on both sides of one.
std::optional<StudyFigure> changes_figure(const ReplayTable& table, const FigureWriter& writer);

}  // namespace buoy
