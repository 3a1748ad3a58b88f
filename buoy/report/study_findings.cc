#include "buoy/report/study_findings.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/claims/claims.h"
#include "buoy/report/number_text.h"

namespace buoy {
namespace {

std::string percent(double value) {
  return number_text(value, Digits::kPercent) + " %";
}

// The models that the sentences are about: the first of each kind, masked ones first.
std::vector<const StudiedModel*> shown_models(const StudyView& view) {
  std::vector<const StudiedModel*> models;
  for (const Writing writing : {Writing::kFillsMasks, Writing::kAppends}) {
    for (const StudiedModel& model : view.shown()) {
      if (model.writing == writing) models.push_back(&model);
    }
  }
  return models;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text + ".";
}

Finding where_it_goes(const StudyView& view) {
  Finding finding{.question = "Where does attention go?", .answer = ""};
  std::vector<std::string> parts;
  for (const StudiedModel* model : shown_models(view)) {
    const Summary* top = view.find_mean(*model, {"absorb_top1", "finished"});
    const Summary* first = view.find_mean(*model, {"absorb_bos", "finished"});
    if (top == nullptr || first == nullptr) continue;
    parts.push_back(fmt::format(
        fmt::runtime(
            parts.empty()
                ? "In {} the strongest token of a layer receives {} of all attention and the first token "
                  "{}, where uniform attention would give it {} (n = {})"
                : "in {} {} and {}, where it would be {} (n = {})"),
        model->name, percent(top->mean), percent(first->mean), percent(first->null.value_or(0)), top->n));
  }
  finding.answer = parts.empty() ? "Not measured: absorption was not analysed." : joined(parts);
  return finding;
}

Finding whether_it_moves(const StudyView& view) {
  Finding finding{.question = "Do its anchors move?", .answer = ""};
  std::vector<std::string> parts;
  for (const StudiedModel* model : shown_models(view)) {
    const Summary* turnover = view.find_mean(*model, {"turnover", "fixed writing"});
    const Summary* first = view.find_mean(*model, {"sink_share", "all writing"});
    if (turnover == nullptr || first == nullptr) continue;
    // Whether that is much is for the claims to say, which compare the models.
    parts.push_back(fmt::format(
        fmt::runtime(parts.empty()
                         ? "From one writing step to the next, seen from the same rows, {} of {}’s anchors "
                           "change, and its first token is the strongest of them in {} of those steps and "
                           "layers (n = {})"
                         : "{} of {}’s change, and its first token is the strongest in {} (n = {})"),
        percent(100 * turnover->mean), model->name, percent(100 * first->mean), turnover->n));
  }
  finding.answer =
      parts.empty() ? "Not measured: drift was not analysed, or no step has an anchor." : joined(parts);
  return finding;
}

// An intervention on anchors that has a control, if there is one, else the first that has.
const InterventionRow* telling_row(const InterventionResult& result, const std::string& model) {
  const InterventionRow* found = nullptr;
  for (const InterventionRow& row : result.rows) {
    if (row.model != model || !row.em_change || !row.em_against_control) continue;
    if (row.condition.starts_with("mask-anchors")) return &row;
    if (found == nullptr) found = &row;
  }
  return found;
}

std::string matters_word(const InterventionRow& row) {
  const Summary& beyond = *row.em_against_control;
  if (!beyond.lo || !beyond.hi || beyond.questions < kFewestQuestions) return "It cannot be told";
  return *beyond.hi < 0 ? "Yes" : *beyond.lo > 0 ? "Not as one would think" : "It cannot be told";
}

std::string gold_sentence(const StudyView& view) {
  std::vector<std::string> parts;
  for (const StudiedModel* model : shown_models(view)) {
    const Summary* lift = view.find(*model, {.quantity = "gold_lift", .part = "per-token"});
    if (lift == nullptr) continue;
    parts.push_back(fmt::format(
        fmt::runtime(parts.empty() ? "the answer of {} draws {} times as much on the gold passage as on the "
                                     "others, relative to uniform attention (n = {})"
                                   : "that of {} {} times (n = {})"),
        model->name, interval_text(*lift), lift->n));
  }
  return parts.empty() ? "" : " What can be said: " + joined(parts);
}

Finding whether_it_matters(const StudyView& view, const InterventionResult* interventions) {
  Finding finding{.question = "Does it matter for the answers?", .answer = ""};
  std::vector<std::string> parts;
  for (const StudiedModel* model : shown_models(view)) {
    const InterventionRow* row =
        interventions == nullptr ? nullptr : telling_row(*interventions, model->name);
    if (row == nullptr) continue;
    const std::string change = change_text(*row->em_change, Digits::kPercent);
    const std::string beyond = change_text(*row->em_against_control, Digits::kPercent);
    if (parts.empty()) {
      const bool hides = row->condition.starts_with("mask-anchors");
      parts.push_back(fmt::format(
          "{}: {} changes exact match of {} by {} points, {} beyond its control {} (n = {})",
          matters_word(*row),
          hides ? fmt::format("hiding the strongest anchors ({})", row->condition) : row->condition,
          model->name, change, beyond, row->control, row->n));
    } else {
      parts.push_back(
          fmt::format("of {} by {}, {} beyond its control (n = {})", model->name, change, beyond, row->n));
    }
  }
  finding.answer =
      parts.empty() ? "Not asked here: no intervention was run." + gold_sentence(view) : joined(parts);
  return finding;
}

}  // namespace

LinkedText paper() {
  return {.before = "Paper: ",
          .text = "Revealing the Attention Floating Mechanism in Masked Diffusion Models, arXiv 2601.07894",
          .url = "https://arxiv.org/abs/2601.07894",
          .after =
              ". Asked: does the attention of a masked diffusion model float from token to token while it "
              "writes, "
              "where an autoregressive model keeps to its first, and do answers depend on it?"};
}

std::vector<Finding> findings(const StudyView& view, const InterventionResult* interventions) {
  return {where_it_goes(view), whether_it_moves(view), whether_it_matters(view, interventions)};
}

}  // namespace buoy
