#include "apps/cli/words.h"

#include <algorithm>
#include <cctype>

#include "apps/cli/suggestion.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// "--gen_length" and "--gen-length" are the same flag.
std::string with_hyphens(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

// "-o", "--output", but neither "-" (standard output) nor "-1".
bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
         word[1] != '.';
}

}  // namespace

std::string spelled(const OptionInfo& option) {
  if (!option.is_positional()) return option.name;
  std::string upper = option.name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper;
}

WordReader::WordReader(VerbInfo verb, std::string path)
    : verb_(std::move(verb)), path_(std::move(path)), texts_(verb_.options.size()) {}

std::span<const std::string> WordReader::read(std::span<const std::string> words) {
  left_ = words;
  while (!left_.empty()) {
    const std::string& word = left_.front();
    const bool option = !only_words_ && looks_like_option(word);
    // Only when every argument of its own stands there does a verb listen for its action.
    if (!option && !verb_.actions.empty() && open_positional() == verb_.options.size()) break;
    left_ = left_.subspan(1);
    if (!only_words_ && word == "--") {
      only_words_ = true;
    } else if (option) {
      read_option(word);
    } else {
      read_word(word);
    }
  }
  return left_;
}

void WordReader::read_option(const std::string& word) {
  if (word == "--help" || word == "-h") throw HelpWanted{};
  const bool is_long = word.starts_with("--");
  const std::size_t name_end = is_long ? std::min(word.find('='), word.size()) : 2;
  const std::string name = is_long ? with_hyphens(word.substr(0, name_end)) : word.substr(0, 2);
  const std::size_t option = find(name);
  if (option == verb_.options.size()) refuse(is_long ? word.substr(0, name_end) : word);
  const bool has_value = name_end < word.size();
  if (!verb_.options[option].is_flag()) {
    if (!has_value) return take_values(option);
    texts_[option].push_back(word.substr(is_long ? name_end + 1 : name_end));
    return;
  }
  if (has_value) fail_usage("{} takes no value, got {}", name, word);
  texts_[option].emplace_back();
}

// The next word, and for a list those after it that nothing else needs.
void WordReader::take_values(std::size_t option) {
  const OptionInfo& info = verb_.options[option];
  if (left_.empty()) fail_usage("{} lacks its value", info.name);
  if (is_option(left_.front())) {
    fail_usage("{} lacks its value: {} is an option (write {}={} to mean it)", info.name, left_.front(),
               info.name, left_.front());
  }
  do {
    texts_[option].push_back(left_.front());
    left_ = left_.subspan(1);
  } while (info.is_list && left_.size() > words_still_needed() && !looks_like_option(left_.front()));
}

void WordReader::read_word(const std::string& word) {
  const std::size_t option = open_positional();
  if (option == verb_.options.size()) {
    fail_usage(
        "{0}: nothing is expected where \"{1}\" stands; a file needs its option (buoy help {0}), a text of "
        "several words quotes",
        path_, word);
  }
  texts_[option].push_back(word);
}

std::size_t WordReader::find(const std::string& name) const {
  const auto goes_by = [&](const OptionInfo& option) {
    return name == option.name || name == option.short_name ||
           std::ranges::find(option.aliases, name) != option.aliases.end();
  };
  return static_cast<std::size_t>(std::ranges::find_if(verb_.options, goes_by) - verb_.options.begin());
}

std::size_t WordReader::open_positional() const {
  std::size_t i = 0;
  const auto takes_more = [&] {
    return verb_.options[i].is_positional() && (verb_.options[i].is_list || texts_[i].empty());
  };
  while (i < verb_.options.size() && !takes_more()) ++i;
  return i;
}

std::size_t WordReader::words_still_needed() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < verb_.options.size(); ++i) {
    const OptionInfo& option = verb_.options[i];
    if (option.is_positional() && option.is_required && texts_[i].empty()) ++count;
  }
  return count;
}

bool WordReader::is_option(const std::string& word) const {
  if (!looks_like_option(word)) return false;
  return word == "--help" || word == "-h" ||
         find(with_hyphens(word.substr(0, word.find('=')))) < verb_.options.size();
}

void WordReader::refuse(const std::string& name) const {
  std::vector<std::string> names;
  for (const OptionInfo& option : verb_.options) {
    if (option.is_positional()) continue;
    names.push_back(option.name);
    names.insert(names.end(), option.aliases.begin(), option.aliases.end());
  }
  if (!verb_.actions.empty() && verb_.options.empty()) {
    fail_usage("{} is no option of {}; \"{} --help\" lists its verbs", name, path_, path_);
  }
  if (const auto near = nearest(with_hyphens(name), names)) {
    fail_usage("{} is no option of {}; did you mean {}?", name, path_, *near);
  }
  fail_usage("{} is no option of {}; \"buoy help {}\" lists them", name, path_, path_);
}

}  // namespace buoy
