// Sorts the words of a command line: which belong to which option. What they mean is read by assign().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"

namespace buoy {

// Thrown where --help or -h stands.
struct HelpWanted {};

// "--output", or "TRACES" of a positional argument: how messages and help call it.
std::string spelled(const OptionInfo& option);

// Reads one verb's words. "--gen_length" is "--gen-length"; "--name=value", "-ovalue" and "--" are known.
class WordReader {
 public:
  // `path` names the verb in messages: "index add".
  WordReader(VerbInfo verb, std::string path);

  // The words after those of this verb: the first is the name of an action; empty for a verb without any.
  // Throws UsageError and HelpWanted.
  std::span<const std::string> read(std::span<const std::string> words);

  // One entry for each of the verb's options, empty where it was not given; a flag has an empty text.
  const std::vector<std::vector<std::string>>& texts() const { return texts_; }

 private:
  void read_option(const std::string& word);
  void read_word(const std::string& word);
  void take_values(std::size_t option);
  std::size_t find(const std::string& name) const;  // verb_.options.size(): there is none
  std::size_t open_positional() const;              // likewise
  std::size_t words_still_needed() const;
  bool is_option(const std::string& word) const;
  [[noreturn]] void refuse(const std::string& name) const;

  VerbInfo verb_;
  std::string path_;
  std::vector<std::vector<std::string>> texts_;
  std::span<const std::string> left_;
  bool only_words_ = false;  // after "--"
};

}  // namespace buoy
