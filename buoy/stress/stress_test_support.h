// Items for the tests of stress, made by hand, and what is asked of them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/stress/stress.h"
#include "buoy/text/utf8.h"

namespace buoy {

inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no UsageError was thrown";
}

// The text of a span of code points.
inline std::string text_of(const QaPassage& passage, const TextSpan& span) {
  std::string out;
  Index character = 0;
  for (Index byte = 0; byte < std::ssize(passage.text); ++character) {
    const CodePoint c = code_point_at(passage.text, byte);
    byte += c.length;
    if (span.begin <= character && character < span.end) append_utf8(out, c.value);
  }
  return out;
}

inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

inline std::vector<std::string> texts_of(const QaItem& item) {
  std::vector<std::string> texts;
  for (const QaPassage& passage : item.passages) texts.push_back(passage.text);
  return texts;
}

// Texts of the gold passages, in order, and their places from 1.
inline std::vector<std::string> gold_texts(const QaItem& item) {
  std::vector<std::string> texts;
  for (const QaPassage& passage : item.passages) {
    if (passage.gold) texts.push_back(passage.text);
  }
  return texts;
}
inline std::vector<Index> gold_positions(const QaItem& item) {
  std::vector<Index> places;
  for (Index i = 0; i < std::ssize(item.passages); ++i) {
    if (item.passages[static_cast<std::size_t>(i)].gold) places.push_back(i + 1);
  }
  return places;
}

// "Who is the mayor of Norbury?" with the gold passage in the middle of three.
inline QaItem mayor_item(const std::string& id, const std::string& town, const std::string& mayor,
                         const std::string& year) {
  const std::string first = "É vero: " + town + " lies on a hill. ";
  const std::string evidence = "The mayor of " + town + " is " + mayor + ".";
  const Index begin = count_code_points(first);
  QaPassage gold{.title = town, .text = first + evidence + " Nobody knows why.", .gold = true};
  gold.evidence = {{begin, begin + count_code_points(evidence)}};
  QaItem item{.id = id, .task = "mayor", .question = "Who is the mayor of " + town + "?", .answers = {mayor}};
  item.passages = {{.title = "Hills", .text = "Hills of " + town + " are green and steep."},
                   gold,
                   {.title = town, .text = town + " dates from " + year + "."}};
  return item;
}

// A question over two gold passages, the one with the answer first.
inline QaItem two_hop_item() {
  QaItem item{.id = "two", .task = "hops", .question = "In which region was Isva Orlin born?"};
  item.answers = {"Greyshore"};
  item.passages = {{.title = "Kalt", .text = "Kalt lies in Greyshore. It is small.", .gold = true},
                   {.title = "Rain", .text = "It rains a lot."},
                   {.title = "Isva Orlin", .text = "Isva Orlin came from Kalt.", .gold = true},
                   {.title = "Snow", .text = "It never snows."}};
  item.passages[0].evidence = {{0, 23}};
  return item;
}

// Twelve mayors, then the question over two passages.
inline std::vector<QaItem> hand_made_items() {
  constexpr const char* kTowns[] = {"Norbury", "Elmstead", "Oxley",  "Penrith", "Quorn",  "Ryde",
                                    "Stowe",   "Thirsk",   "Ulster", "Ventnor", "Whitby", "Yarm"};
  constexpr const char* kMayors[] = {"Ada Alder", "Bo Birch",   "Cy Cedar",  "Di Damson",
                                     "Ed Elm",    "Flo Fir",    "Gus Gorse", "Hal Hazel",
                                     "Ivy Iris",  "Jo Juniper", "Kit Kiwi",  "Lou Larch"};
  std::vector<QaItem> items;
  for (std::size_t i = 0; i < std::size(kTowns); ++i) {
    items.push_back(
        mayor_item("mayor-" + std::to_string(i), kTowns[i], kMayors[i], std::to_string(1801 + i)));
  }
  items.push_back(two_hop_item());
  return items;
}

inline StressLevel level_of(const std::string& spec, const StressOptions& options = {}) {
  return parse_stress(spec, options).at(0);
}

inline bool same_passage(const QaPassage& a, const QaPassage& b) {
  return a.title == b.title && a.text == b.text && a.gold == b.gold && a.evidence == b.evidence;
}
inline bool same(const QaItem& a, const QaItem& b) {
  return a.id == b.id && a.task == b.task && a.question == b.question && a.answers == b.answers &&
         std::ranges::equal(a.passages, b.passages, same_passage);
}

}  // namespace buoy
