#include "buoy/stress/stress_text.h"

#include <algorithm>
#include <cctype>

#include <utf8proc.h>

#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/words.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Where a byte of the old text is in the new one; inside an edit: where the replacement begins or ends.
enum class Side { kBegin, kEnd };
Index moved(Index byte, std::span<const TextEdit> edits, Side side) {
  Index shift = 0;
  for (const TextEdit& edit : edits) {
    if (edit.begin >= byte) break;
    if (byte < edit.end) {
      return edit.begin + shift + (side == Side::kEnd ? std::ssize(edit.text) : 0);
    }
    shift += std::ssize(edit.text) - (edit.end - edit.begin);
  }
  return byte + shift;
}

Index byte_of(std::string_view text, Index character) {
  Index byte = 0;
  for (Index i = 0; i < character && byte < std::ssize(text); ++i) byte += code_point_at(text, byte).length;
  return byte;
}

// Bytes begin .. end without the white space around them, as code points.
TextSpan trimmed_span(std::string_view text, Index begin, Index end) {
  const std::vector<Word> words = split_words(slice(text, begin, std::max(begin, end)));
  if (!words.empty()) {
    end = begin + words.back().end;
    begin += words.front().begin;
  } else {
    end = begin;
  }
  const Index first = count_code_points(slice(text, 0, begin));
  return {.begin = first, .end = first + count_code_points(slice(text, begin, end))};
}

std::string edited_text(std::string_view text, std::span<const TextEdit> edits) {
  std::string out;
  Index at = 0;
  for (const TextEdit& edit : edits) {
    out += slice(text, at, edit.begin);
    out += edit.text;
    at = edit.end;
  }
  out += slice(text, at, std::ssize(text));
  return out;
}

// Edits of both, in order; of those that overlap the one in `first` stays.
std::vector<TextEdit> merged(std::vector<TextEdit> first, const std::vector<TextEdit>& second) {
  std::vector<TextEdit> added;
  for (const TextEdit& edit : second) {
    const auto overlaps = [&](const TextEdit& f) { return f.begin < edit.end && edit.begin < f.end; };
    if (std::ranges::none_of(first, overlaps)) added.push_back(edit);
  }
  first.insert(first.end(), added.begin(), added.end());
  std::ranges::sort(first, {}, &TextEdit::begin);
  return first;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

// Scripts without spaces have no borders of words: only a phrase that begins (ends) in ASCII needs one.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const auto is_ascii_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const bool cut_before = begin > 0 && is_ascii_word(text[begin]) && is_word_byte(text[begin - 1]);
  const bool cut_after = end < text.size() && is_ascii_word(text[end - 1]) && is_word_byte(text[end]);
  return !cut_before && !cut_after;
}

// A word without the punctuation around it.
std::string_view bare(std::string_view word) {
  while (!word.empty() && !is_word_byte(word.front())) word.remove_prefix(1);
  while (!word.empty() && !is_word_byte(word.back())) word.remove_suffix(1);
  return word;
}

bool begins_a_name(std::string_view word) {
  if (word.empty()) return false;
  const auto first = static_cast<utf8proc_int32_t>(code_point_at(word, 0).value);
  const utf8proc_category_t category = utf8proc_category(first);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT ||
         category == UTF8PROC_CATEGORY_ND;
}

// Whether `run` stands in the text as it is written, and not only where any word would have a capital.
enum class Where { kAnywhere, kInsideSentence };
bool stands_in(std::string_view text, std::string_view run, Where where) {
  return std::ranges::any_of(replacements(text, run, {}), [&](const TextEdit& found) {
    if (slice(text, found.begin, found.end) != run) return false;
    const std::vector<Word> before = split_words(slice(text, 0, found.begin));
    return where == Where::kAnywhere || (!before.empty() && before.back().after == Break::kNone);
  });
}

}  // namespace

QaPassage edited(const QaPassage& passage, std::span<const TextEdit> edits) {
  if (edits.empty()) return passage;
  QaPassage out = passage;
  out.text = edited_text(passage.text, edits);
  for (TextSpan& span : out.evidence) {
    const Index begin = moved(byte_of(passage.text, span.begin), edits, Side::kBegin);
    const Index end = moved(byte_of(passage.text, span.end), edits, Side::kEnd);
    span = trimmed_span(out.text, begin, end);
  }
  return out;
}

std::vector<TextEdit> replacements(std::string_view text, std::string_view phrase, std::string_view with) {
  std::vector<TextEdit> edits;
  if (phrase.empty()) return edits;
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (auto from = text.begin();;) {
    const auto found = std::search(from, text.end(), phrase.begin(), phrase.end(), same);
    if (found == text.end()) return edits;
    const auto begin = static_cast<std::size_t>(found - text.begin()), end = begin + phrase.size();
    if (stands_alone(text, begin, end)) {
      edits.push_back(
          {.begin = static_cast<Index>(begin), .end = static_cast<Index>(end), .text = std::string(with)});
      from = found + std::ssize(phrase);
    } else {
      from = found + 1;
    }
  }
}

bool holds_answer(std::string_view text, std::span<const std::string> answers) {
  const std::string normal = " " + normalise_answer(text) + " ";
  return std::ranges::any_of(answers, [&](const std::string& answer) {
    const std::string wanted = normalise_answer(answer);
    return !wanted.empty() && normal.find(" " + wanted + " ") != std::string::npos;
  });
}

QaPassage replaced(const QaPassage& passage, std::span<const Replacement> list) {
  std::vector<TextEdit> text, title;
  for (const Replacement& r : list) {
    text = merged(std::move(text), replacements(passage.text, r.phrase, r.with));
    title = merged(std::move(title), replacements(passage.title, r.phrase, r.with));
  }
  QaPassage made = edited(passage, text);
  made.title = edited_text(passage.title, title);
  return made;
}

std::vector<Replacement> answer_replacements(std::span<const std::string> answers, std::string_view another) {
  std::vector<Replacement> list;
  for (const std::string& answer : answers) list.push_back({.phrase = answer, .with = std::string(another)});
  std::ranges::stable_sort(list, std::ranges::greater{},
                           [](const Replacement& r) { return r.phrase.size(); });
  return list;
}

std::optional<std::string> subject_in(std::string_view question, const QaPassage& passage) {
  const std::vector<Word> words = split_words(question);
  std::string best;
  for (std::size_t first = 0; first < words.size(); ++first) {
    for (std::size_t last = first; last < words.size(); ++last) {
      const std::string_view word = bare(slice(question, words[last].begin, words[last].end));
      if (!begins_a_name(word)) break;
      const std::string_view run = bare(slice(question, words[first].begin, words[last].end));
      // A question begins with a capital whatever its first word is.
      const Where where = last == 0 ? Where::kInsideSentence : Where::kAnywhere;
      if (run.size() > best.size() && stands_in(passage.text, run, where)) best = run;
    }
  }
  if (best.empty()) return {};
  return best;
}

}  // namespace buoy
