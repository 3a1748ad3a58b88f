// How fast text becomes token ids, and that no text makes it quadratic. One core. The mini model's tokenizer,
// or that of the directory in BUOY_BENCH_TOKENIZER.
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "buoy/base/testing.h"
#include "buoy/text/tokenizer.h"

namespace buoy {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer loaded = [] {
    const char* folder = std::getenv("BUOY_BENCH_TOKENIZER");
    return Tokenizer::load(folder != nullptr ? std::filesystem::path(folder)
                                             : source_path("models/mini-mdm"));
  }();
  return loaded;
}

std::string repeat(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

// A megabyte of English sentences with varied words, made from a fixed seed.
std::string prose() {
  constexpr std::string_view kWords[] = {
      "the",     "harbour", "keeper", "wrote",    "three",     "letters", "about",    "a",         "storm",
      "that",    "nobody",  "else",   "had",      "seen",      "coming",  "from",     "north",     "where",
      "ice",     "meets",   "open",   "water",    "and",       "ships",   "turn",     "before",    "dark",
      "because", "lights",  "fail",   "measured", "quietly",   "under",   "lanterns", "while",     "gulls",
      "were",    "asleep",  "on",     "buoys",    "Varn",      "Ostrava", "1873",     "telegraph", "company",
      "refused", "its",     "answer", "without",  "explaining"};
  std::string text;
  std::uint32_t state = 12345;
  for (std::size_t count = 1; text.size() < 1000000; ++count) {
    state = state * 1664525u + 1013904223u;
    text += kWords[(state >> 16) % std::size(kWords)];
    // Rare words as in real prose: one in twelve gets an ending that makes it new.
    if ((state >> 8) % 12 == 0) text += std::to_string(state >> 20);
    text += count % 13 == 0 ? ". " : count % 7 == 0 ? ", " : count % 200 == 0 ? "\n\n" : " ";
  }
  return text;
}

void encode(benchmark::State& state, const std::string& text) {
  const Tokenizer& loaded = tokenizer();
  for (auto _ : state) benchmark::DoNotOptimize(loaded.encode(text, SpecialTokens::kNone));
  state.SetBytesProcessed(state.iterations() * std::ssize(text));
}

void encode_prose(benchmark::State& state) {
  encode(state, prose());
}
void encode_one_letter(benchmark::State& state) {
  encode(state, std::string(1000000, 'a'));
}
void encode_spaces(benchmark::State& state) {
  encode(state, std::string(1000000, ' ') + "x");
}
void encode_emoji(benchmark::State& state) {
  encode(state, repeat("😀", 1000000));
}
void encode_marks(benchmark::State& state) {
  encode(state, repeat("e\u0301\u0323", 1000000));
}

void encode_prose_with_spans(benchmark::State& state) {
  const std::string text = prose();
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer().encode_with_spans(text, SpecialTokens::kNone));
  state.SetBytesProcessed(state.iterations() * std::ssize(text));
}

void decode_prose(benchmark::State& state) {
  const std::string text = prose();
  const std::vector<TokenId> ids = tokenizer().encode(text, SpecialTokens::kNone);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer().decode(ids, SkipSpecial::kKeep));
  state.SetBytesProcessed(state.iterations() * std::ssize(text));
}

BENCHMARK(encode_prose)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_prose_with_spans)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_prose)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_one_letter)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_spaces)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_emoji)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_marks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace buoy
