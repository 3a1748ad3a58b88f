// Words that are mistyped, left out or shuffled.
#include <algorithm>

#include "buoy/corpus/words.h"
#include "buoy/stress/stress_parts.h"
#include "buoy/stress/stress_text.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Where a finger lands that misses the key, for a … z.
constexpr std::string_view kNeighbours[] = {"sq", "vn", "xv", "sf", "wr", "dg", "fh", "gj", "uo",
                                            "hk", "jl", "k",  "n",  "bm", "ip", "o",  "w",  "et",
                                            "ad", "ry", "yi", "cb", "qe", "zc", "tu", "x"};

bool is_letter(char32_t c) {
  const bool ascii = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
  return ascii || c >= 0xC0;
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (Index byte = 0; byte < std::ssize(text);) {
    const CodePoint c = code_point_at(text, byte);
    out += c.value;
    byte += c.length;
  }
  return out;
}

std::string utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

char32_t mistyped(char32_t c, double draw) {
  const bool capital = c >= U'A' && c <= U'Z';
  if (!capital && (c < U'a' || c > U'z')) return c;
  const std::string_view near = kNeighbours[c - (capital ? U'A' : U'a')];
  const char hit = near[static_cast<std::size_t>(draw * static_cast<double>(near.size()))];
  return static_cast<char32_t>(capital ? hit - 'a' + 'A' : hit);
}

// Always another word, unless it has no letter.
std::u32string with_typo(const std::u32string& word, double kind, double place, double key) {
  std::vector<std::size_t> letters;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (is_letter(word[i])) letters.push_back(i);
  }
  if (letters.empty()) return word;
  const auto drawn = static_cast<std::size_t>(place * static_cast<double>(letters.size()));
  const std::size_t i = letters[drawn];
  const std::size_t next = letters[std::min(drawn + 1, letters.size() - 1)];
  std::u32string made = word;
  switch (static_cast<int>(4 * kind)) {
    case 0:
      std::swap(made[i], made[next]);
      break;
    case 1:
      if (letters.size() > 1) made.erase(i, 1);
      break;
    case 2:
      made[i] = mistyped(made[i], key);
      break;
    default:
      break;
  }
  if (made == word) made.insert(i, 1, word[i]);
  return made;
}

// The words of a passage and one draw for each; drawn are those below the rate.
struct DrawnWords {
  std::vector<Word> words;
  std::vector<double> draws;

  DrawnWords(const QaPassage& passage, Draws stream) : words(split_words(passage.text)) {
    for (std::size_t i = 0; i < words.size(); ++i) draws.push_back(stream.unit());
  }
};

QaPassage typos_in(const QaPassage& passage, double rate, Draws stream) {
  std::vector<TextEdit> edits;
  for (const Word& word : split_words(passage.text)) {
    // All are drawn for every word, so that none depends on the rate.
    const double chosen = stream.unit(), kind = stream.unit(), place = stream.unit(), key = stream.unit();
    if (chosen >= rate) continue;
    const std::u32string old = code_points(slice(passage.text, word.begin, word.end));
    edits.push_back({.begin = word.begin, .end = word.end, .text = utf8(with_typo(old, kind, place, key))});
  }
  return edited(passage, edits);
}

QaPassage without_words(const QaPassage& passage, double rate, const DrawnWords& drawn) {
  const std::vector<Word>& words = drawn.words;
  if (words.empty()) return passage;
  const auto keeper = std::ranges::max_element(drawn.draws) - drawn.draws.begin();
  const auto is_kept = [&](Index i) {
    return i == keeper || drawn.draws[static_cast<std::size_t>(i)] >= rate;
  };
  Index last_kept = std::ssize(words) - 1;
  while (!is_kept(last_kept)) --last_kept;
  std::vector<TextEdit> edits;
  for (Index i = 0; i < last_kept; ++i) {
    const auto w = static_cast<std::size_t>(i);
    if (!is_kept(i)) edits.push_back({.begin = words[w].begin, .end = words[w + 1].begin});
  }
  if (last_kept + 1 < std::ssize(words)) {
    edits.push_back(
        {.begin = words[static_cast<std::size_t>(last_kept)].end, .end = std::ssize(passage.text)});
  }
  return edited(passage, edits);
}

// Numbers words so that those of one sentence, inside or outside of one piece of evidence, have one number.
std::vector<Index> word_groups(const QaPassage& passage, const std::vector<Word>& words) {
  std::vector<Index> groups;
  Index group = 0, last_span = -1, character = 0, byte = 0;
  for (const Word& word : words) {
    character += count_code_points(slice(passage.text, byte, word.begin));
    byte = word.begin;
    const auto span = std::ranges::find_if(
        passage.evidence, [&](const TextSpan& s) { return s.begin <= character && character < s.end; });
    const Index here = span == passage.evidence.end() ? -1 : span - passage.evidence.begin();
    if (here != last_span) ++group;
    last_span = here;
    groups.push_back(group);
    if (word.after != Break::kNone) ++group;
  }
  return groups;
}

// Every word of `places` gets another of those places.
void rotate_at_random(std::vector<std::size_t>& from, const std::vector<std::size_t>& places, Draws& draws) {
  std::vector<std::size_t> order = places;
  for (Index i = std::ssize(order) - 1; i > 0; --i) {  // Sattolo: one cycle, so no word stays
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(draws.below(i))]);
  }
  for (std::size_t i = 0; i < places.size(); ++i) from[places[i]] = order[i];
}

QaPassage shuffled_words(const QaPassage& passage, double rate, const DrawnWords& drawn, Draws order) {
  const std::vector<Word>& words = drawn.words;
  const std::vector<Index> groups = word_groups(passage, words);
  std::vector<std::size_t> from(words.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = i;
  for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end) {
    std::vector<std::size_t> places;
    for (end = begin; end < words.size() && groups[end] == groups[begin]; ++end) {
      if (drawn.draws[end] < rate) places.push_back(end);
    }
    // A word that is drawn alone changes places with its neighbour.
    if (places.size() == 1 && end - begin > 1) {
      places.push_back(places[0] + 1 < end ? places[0] + 1 : places[0] - 1);
    }
    if (places.size() > 1) rotate_at_random(from, places, order);
  }
  std::vector<TextEdit> edits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (from[i] == i) continue;
    const Word& other = words[from[i]];
    edits.push_back({.begin = words[i].begin,
                     .end = words[i].end,
                     .text = std::string(slice(passage.text, other.begin, other.end))});
  }
  return edited(passage, edits);
}

template <typename Disturb>
QaItem disturbed(const StressJob& job, const Disturb& disturb) {
  QaItem out = cut_to(job.item, job.options.passages);
  Index place = 0;
  for (QaPassage& passage : out.passages) passage = disturb(passage, *job.level.value, place++);
  return out;
}

}  // namespace

QaItem add_typos(const StressJob& job) {
  return disturbed(job, [&](const QaPassage& passage, double rate, Index place) {
    return typos_in(passage, rate, job.draws(StressStream::kTypos, place));
  });
}

QaItem drop_words(const StressJob& job) {
  return disturbed(job, [&](const QaPassage& passage, double rate, Index place) {
    return without_words(passage, rate, {passage, job.draws(StressStream::kDropped, place)});
  });
}

QaItem shuffle_words(const StressJob& job) {
  return disturbed(job, [&](const QaPassage& passage, double rate, Index place) {
    return shuffled_words(passage, rate, {passage, job.draws(StressStream::kShuffled, place)},
                          job.draws(StressStream::kShuffleOrder, place));
  });
}

}  // namespace buoy
