// Stress tables as CSV and as text.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/stress/stress_table.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

const StressPoint* point_at(const StressCurve& curve, Index place) {
  return place < 0 ? nullptr : &curve.points[static_cast<std::size_t>(place)];
}

// n,mean,lo,hi of what is there; four empty fields of what is not.
std::string numbers(const Summary* s) {
  if (s == nullptr) return ",,,";
  return fmt::format("{},{:.9g},{:.9g},{:.9g}", s->n, s->mean, s->lo.value_or(s->mean),
                     s->hi.value_or(s->mean));
}

const Summary* slope_difference(const StressResult& result, const StressCurve& curve, std::size_t score) {
  for (const StressDifference& d : result.differences) {
    if (d.b != curve.model || d.data != curve.data) continue;
    const auto found = std::ranges::find_if(d.summaries, [&](const Summary& s) {
      return s.quantity == std::string(kScoreNames[score]) + "_slope" && s.part == curve.stressor->name;
    });
    if (found != d.summaries.end()) return &*found;
  }
  return nullptr;
}

std::string with_interval(const Summary& s, const char* sign) {
  const auto number = [&](double x) {
    return *sign == '+' ? fmt::format("{:+.1f}", x) : fmt::format("{:.1f}", x);
  };
  return fmt::format("{} [{}, {}]", number(s.mean), number(s.lo.value_or(s.mean)),
                     number(s.hi.value_or(s.mean)));
}

using Cells = std::vector<std::string>;

std::string align(const std::vector<Cells>& rows, std::size_t flush_left) {
  std::vector<Index> widths(rows[0].size(), 0);
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], count_code_points(row[c]));
  }
  std::string out;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(static_cast<std::size_t>(widths[c] - count_code_points(row[c])), ' ');
      line += (c > 0 ? "  " : "") + (c < flush_left ? row[c] + space : space + row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

Cells summary_row(const StressCurve& curve) {
  const StressPoint* baseline = point_at(curve, curve.baseline);
  const StressPoint* worst = point_at(curve, curve.worst);
  Cells row = {std::string(curve.stressor->name), curve.data, curve.model};
  row.push_back(baseline ? fmt::to_string(baseline->scores[0].n) : "–");
  row.push_back(baseline ? fmt::format("{:.1f}", baseline->scores[0].mean) : "–");
  row.push_back(worst ? worst->level.text : "–");
  row.push_back(worst ? fmt::format("{:.1f}", worst->scores[0].mean) : "–");
  row.push_back(worst && worst->losses ? with_interval((*worst->losses)[0], "+") : "–");
  row.push_back(curve.slopes ? with_interval((*curve.slopes)[0], "+") : "–");
  row.push_back(curve.slopes ? std::string(curve.stressor->unit) : "");
  return row;
}

}  // namespace

std::string stress_csv(const StressResult& result) {
  std::string out = "stressor,data,model,level,quantity,n,mean,lo,hi\n";
  for (const StressCurve& curve : result.curves) {
    const auto line = [&](const std::string& level, const std::string& quantity, const Summary& s) {
      out += fmt::format("{},{},{},{},{},{}\n", curve.stressor->name, csv_field(curve.data),
                         csv_field(curve.model), csv_field(level), quantity, numbers(&s));
    };
    for (const StressPoint& point : curve.points) {
      for (std::size_t s = 0; s < 3; ++s) line(point.level.text, kScoreNames[s], point.scores[s]);
      for (std::size_t s = 0; point.losses && s < 3; ++s) {
        line(point.level.text, std::string(kScoreNames[s]) + "_loss", (*point.losses)[s]);
      }
      if (point.stale) line(point.level.text, "stale", *point.stale);
    }
    for (std::size_t s = 0; curve.slopes && s < 3; ++s) {
      line("", std::string(kScoreNames[s]) + "_slope", (*curve.slopes)[s]);
    }
  }
  return out;
}

std::string robustness_csv(const StressResult& result) {
  std::string out = "stressor,data,model,score,baseline_level";
  for (const char* name : {"baseline", "worst", "loss", "slope", "slope_difference"}) {
    if (std::string_view(name) == "worst") out += ",worst_level";
    out += fmt::format(",{0}_n,{0},{0}_lo,{0}_hi", name);
  }
  out += ",slope_unit\n";
  for (const StressCurve& curve : result.curves) {
    const StressPoint* baseline = point_at(curve, curve.baseline);
    const StressPoint* worst = point_at(curve, curve.worst);
    for (std::size_t s = 0; s < 3; ++s) {
      const auto score = [&](const StressPoint* p) {
        return numbers(p != nullptr ? &p->scores[s] : nullptr);
      };
      const Summary* loss = worst != nullptr && worst->losses ? &(*worst->losses)[s] : nullptr;
      const Summary* slope = curve.slopes ? &(*curve.slopes)[s] : nullptr;
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", curve.stressor->name, csv_field(curve.data),
                         csv_field(curve.model), kScoreNames[s], baseline ? baseline->level.text : "",
                         score(baseline), worst ? worst->level.text : "", score(worst), numbers(loss),
                         numbers(slope), numbers(slope_difference(result, curve, s)),
                         csv_field(curve.slopes ? curve.stressor->unit : ""));
    }
  }
  return out;
}

std::string intervened_csv(const StressResult& result) {
  std::string out = "stressor,data,model,intervention,against,level,quantity,n,mean,lo,hi\n";
  for (const IntervenedStress& i : result.intervened) {
    for (const Summary& s : i.summaries) {
      if (s.quantity == "same_prompt") continue;
      const std::size_t equals = s.part.find('=');  // "irrelevant=0.4", or "irrelevant" of a slope
      out += fmt::format(
          "{},{},{},{},{},{},{},{}\n", s.part.substr(0, equals), csv_field(i.data), csv_field(i.model),
          csv_field(i.intervention), csv_field(i.against.empty() ? "none" : i.against),
          csv_field(equals == std::string::npos ? "" : s.part.substr(equals + 1)), s.quantity, numbers(&s));
    }
  }
  return out;
}

std::string stress_text(const StressResult& result) {
  std::vector<Cells> rows = {
      {"stressor", "data", "model", "n", "baseline", "worst level", "there", "loss, paired", "slope", ""}};
  std::vector<Cells> stale = {{"stressor", "data", "model", "level", "n", "stale, %"}};
  for (const StressCurve& curve : result.curves) {
    rows.push_back(summary_row(curve));
    for (const StressPoint& point : curve.points) {
      if (!point.stale) continue;
      stale.push_back({std::string(curve.stressor->name), curve.data, curve.model, point.level.text,
                       fmt::to_string(point.stale->n), with_interval(*point.stale, "")});
    }
  }
  std::string out = "Robustness: exact match in %, losses in points, 95 % intervals\n" + align(rows, 3);
  std::vector<Cells> under = {{"level", "data", "model", "intervention", "against", "n", "EM lost more"}};
  for (const IntervenedStress& i : result.intervened) {
    for (const Summary& s : i.summaries) {
      if (s.quantity != "em_loss") continue;
      under.push_back({s.part, i.data, i.model, i.intervention, i.against.empty() ? "none" : i.against,
                       fmt::to_string(s.n), with_interval(s, "+")});
    }
  }
  if (under.size() > 1) {
    out +=
        "Under interventions: what stress costs more than it costs the same model without, points, paired\n" +
        align(under, 5);
  }
  if (stale.size() > 1) {
    out += "Stale answers: what the collection said before it changed\n" + align(stale, 4);
  }
  return out;
}

}  // namespace buoy
