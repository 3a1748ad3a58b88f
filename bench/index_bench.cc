// Times building a collection of synthetic passages and asking it questions. One JSON line on stdout.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <CLI/CLI.hpp>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/corpus/collection.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

struct Options {
  std::string path;
  Index passages = 100'000, words = 60, vocabulary = 50'000, queries = 200, query_words = 10, batch = 10'000;
  std::uint64_t seed = 1;
  bool ask = false;
};

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Word number 0, 1, 2 … of a made-up language: syllables, so that lengths are like those of words.
std::string spell(Index number) {
  constexpr std::string_view kConsonants = "bdfgklmnprstvz", kVowels = "aeiou";
  std::string word;
  for (++number; number > 0; number /= 70) {
    word += kConsonants[static_cast<std::size_t>(number % 70 / 5)];
    word += kVowels[static_cast<std::size_t>(number % 5)];
  }
  return word;
}

// Word r is drawn in proportion to 1 / (r + 1).
class ZipfWords {
 public:
  explicit ZipfWords(Index vocabulary) {
    double sum = 0;
    for (Index i = 0; i < vocabulary; ++i) {
      sum += 1.0 / static_cast<double>(i + 1);
      cumulative_.push_back(sum);
      words_.push_back(spell(i));
    }
  }
  const std::string& at(double u) const {
    const auto it = std::ranges::upper_bound(cumulative_, u * cumulative_.back());
    return words_[static_cast<std::size_t>(std::min(it - cumulative_.begin(), std::ssize(words_) - 1))];
  }

 private:
  std::vector<double> cumulative_;
  std::vector<std::string> words_;
};

Document make_passage(const ZipfWords& words, const Options& options, Index number) {
  Document document{.id = fmt::format("p{:07}", number)};
  const DrawKey key{.seed = options.seed, .sample = static_cast<std::uint32_t>(number)};
  for (Index w = 0; w < options.words; ++w) {
    if (w > 0) document.text += ' ';
    document.text += words.at(uniform(key, static_cast<std::uint64_t>(w)));
  }
  document.title = document.text.substr(0, document.text.find(' ', document.text.find(' ') + 1));
  return document;
}

double build(Collection& collection, const ZipfWords& words, const Options& options) {
  double seconds = 0;
  std::vector<Document> batch;
  for (Index number = 0; number < options.passages; ++number) {
    batch.push_back(make_passage(words, options, number));
    if (std::ssize(batch) < options.batch && number + 1 < options.passages) continue;
    seconds += seconds_of([&] { collection.add(batch); });
    batch.clear();
    std::fprintf(stderr, "\r%s passages, %.1f s", std::to_string(number + 1).c_str(), seconds);
  }
  std::fputc('\n', stderr);
  return seconds;
}

struct Answers {
  std::vector<double> milliseconds;
  Index found = 0;  // questions that found the passage their words come from
};

// A question is some words of a passage, frequent ones and rare ones as they come.
Answers ask(Collection& collection, const ZipfWords& words, const Options& options) {
  Answers answers;
  for (Index q = 0; q < options.queries; ++q) {
    const DrawKey key{.seed = options.seed + 1, .sample = static_cast<std::uint32_t>(q)};
    const auto number = static_cast<Index>(uniform(key, 0) * static_cast<double>(options.passages));
    const Document source = make_passage(words, options, number);
    std::string question;
    Index taken = 0;
    for (std::size_t at = 0; at != std::string::npos && taken < options.query_words; ++taken) {
      const std::size_t end = source.text.find(' ', at + 1);
      question += source.text.substr(at, end - at);
      at = end;
    }
    std::vector<Hit> hits;
    answers.milliseconds.push_back(1e3 * seconds_of([&] { hits = collection.search(question, 5); }));
    answers.found += std::ranges::count(hits, source.id, [](const Hit& hit) { return hit.document.id; });
  }
  std::ranges::sort(answers.milliseconds);
  return answers;
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

void run(const Options& options) {
  const std::filesystem::path path = options.path;
  const bool there = std::filesystem::exists(path);
  if (there && !options.ask) fail("{}: is there already; --ask asks it", options.path);
  const ZipfWords words(options.vocabulary);
  double seconds = 0;
  if (!there) {
    Collection writer(path, DatabaseAccess::kCreate);
    seconds = build(writer, words, options);
  }
  Collection reader(path);
  const Answers answers = ask(reader, words, options);
  const Json row{{"passages", options.passages},
                 {"index_s", seconds},
                 {"mib", static_cast<double>(std::filesystem::file_size(path)) / (1 << 20)},
                 {"median_ms", quantile(answers.milliseconds, 0.5)},
                 {"p95_ms", quantile(answers.milliseconds, 0.95)},
                 {"max_ms", answers.milliseconds.back()},
                 {"found", answers.found},
                 {"queries", options.queries}};
  std::printf("%s\n", row.dump().c_str());
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  buoy::Options options;
  CLI::App app{"Times building and asking a collection of synthetic passages"};
  app.add_option("path", options.path, "Where to build it; must not be there yet")->required();
  app.add_option("--passages", options.passages)->capture_default_str();
  app.add_option("--words", options.words, "Per passage")->capture_default_str();
  app.add_option("--vocabulary", options.vocabulary)->capture_default_str();
  app.add_option("--queries", options.queries)->capture_default_str();
  app.add_option("--query-words", options.query_words)->capture_default_str();
  app.add_option("--batch", options.batch, "Passages per transaction")->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--ask", options.ask, "Ask a collection that is there, of at least --passages");
  CLI11_PARSE(app, argc, argv);
  try {
    buoy::run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "index_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
