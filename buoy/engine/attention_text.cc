// An attention view in words and as tables.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/at.h"
#include "buoy/engine/attention_view.h"

namespace buoy {
namespace {

std::string class_of(const AttentionView& view, Index position) {
  return view.classes.empty() ? "" : std::string(name_of(view.classes[at(position)]));
}

// A token as a word of a sentence: line ends and quotes visible.
std::string quoted(const std::string& text) {
  std::string shown = "\"";
  for (const char c : text) {
    if (c == '\n') {
      shown += "\\n";
    } else if (c == '\t') {
      shown += "\\t";
    } else {
      shown += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
    }
  }
  return shown + "\"";
}

std::string place_of(const AttentionView& view, Index position) {
  const std::string kind = class_of(view, position);
  return fmt::format("position {} {}{}", position, quoted(view.texts[at(position)]),
                     kind.empty() ? "" : fmt::format(" ({})", kind));
}

double entropy_of(const AttentionView& view, Index query) {
  double entropy = 0;
  for (Index k = 0; k < view.N(); ++k) {
    const double a = view.weight(query, k);
    if (a > 0) entropy -= a * std::log(a);
  }
  return entropy;
}

}  // namespace

std::string matrix_csv(const AttentionView& view) {
  std::string csv = "query,query_token,key,key_token,weight\n";
  for (Index q = 0; q < view.N(); ++q) {
    for (Index k = 0; k < view.N(); ++k) {
      if (view.weight(q, k) == 0) continue;
      csv += fmt::format("{},{},{},{},{}\n", q, csv_field(view.texts[at(q)]), k, csv_field(view.texts[at(k)]),
                         view.weight(q, k));
    }
  }
  return csv;
}

std::string keys_csv(const AttentionView& view) {
  std::string csv = "key,token,class,received,null,lift\n";
  for (Index k = 0; k < view.N(); ++k) {
    csv += fmt::format("{},{},{},{},{},{}\n", k, csv_field(view.texts[at(k)]), class_of(view, k),
                       view.received[at(k)], view.null[at(k)], view.lift(k));
  }
  return csv;
}

std::string rows_csv(const AttentionView& view) {
  std::string csv = "query,token,entropy,strongest_key,strongest_token,weight\n";
  for (Index q = 0; q < view.N(); ++q) {
    const Index best = view.strongest_of(q, 1).front();
    csv += fmt::format("{},{},{},{},{},{}\n", q, csv_field(view.texts[at(q)]), entropy_of(view, q), best,
                       csv_field(view.texts[at(best)]), view.weight(q, best));
  }
  return csv;
}

std::string describe(const AttentionView& view, Index count) {
  std::string text = fmt::format(
      "{}, {}, layer {}, {}: {} queries × {} keys\n\nKeys that receive the most attention, and how many "
      "times "
      "what uniform attention would give them:\n",
      view.model, view.step ? fmt::format("before step {}", *view.step) : "finished", view.layer,
      view.head ? fmt::format("head {}", *view.head) : "mean over heads", view.N(), view.N());
  for (const Index key : view.strongest_keys(count)) {
    text += fmt::format("  {:5.1f} %  {:6.2f} ×  {}\n", 100 * view.received[at(key)], view.lift(key),
                        place_of(view, key));
  }
  std::vector<Index> rows = view.writing;
  if (rows.empty()) {
    for (Index q = std::max<Index>(view.prompt_length, view.N() - count); q < view.N(); ++q)
      rows.push_back(q);
  }
  text += view.writing.empty() ? "\nWhere the last rows look:\n"
                               : "\nWhere the rows that write at this step look:\n";
  for (const Index row : rows) {
    text += fmt::format("  {}, entropy {:.2f} nats\n", place_of(view, row), entropy_of(view, row));
    for (const Index key : view.strongest_of(row, 3)) {
      text += fmt::format("    {:5.1f} %  {}\n", 100 * static_cast<double>(view.weight(row, key)),
                          place_of(view, key));
    }
  }
  return text;
}

}  // namespace buoy
