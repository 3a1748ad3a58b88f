// The figures of a study, analysis by analysis.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "buoy/report/study_view.h"

namespace buoy {

std::vector<StudyFigure> drift_figures(const StudyView& view);
std::vector<StudyFigure> salience_figures(const StudyView& view);
std::vector<StudyFigure> key_figures(const StudyView& view);
std::vector<StudyFigure> absorption_figures(const StudyView& view);
std::vector<StudyFigure> concentration_figures(const StudyView& view);
std::vector<StudyFigure> qk_figures(const StudyView& view);
std::vector<StudyFigure> head_figures(const StudyView& view);
std::vector<StudyFigure> dormant_figures(const StudyView& view);
std::vector<StudyFigure> flow_figures(const StudyView& view);
std::vector<StudyFigure> class_figures(const StudyView& view);
std::vector<StudyFigure> task_figures(const StudyView& view);
std::vector<StudyFigure> expert_figures(const StudyView& view);

// Whether any model has experts whose load was measured.
bool has_experts(const StudyView& view);

// Curves over layers, one panel for each quantity and one line for each kind of model. Nothing when no model
// has any of them.
struct LayerCurves {
  std::string_view name, y_title, caption;
  struct Panel {
    std::string_view title;
    Quantity quantity;
  };
  std::span<const Panel> panels;
};
std::vector<StudyFigure> layer_curves(const StudyView& view, const LayerCurves& what);

}  // namespace buoy
