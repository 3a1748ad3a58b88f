// Any bytes as a file of questions, in every format: what is read is whole, and every bundled prompt covers
// it.
#include <cstdint>

#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/dataset.h"
#include "buoy/prompt/prompt_template.h"
#include "buoy/text/utf8.h"
#include "fuzz/scratch.h"

namespace {

using namespace buoy;

void check_parts(const PromptText& prompt) {
  Index at = 0;
  for (const PromptPart& part : prompt.parts) {
    check(part.begin == at && part.end > at, "parts follow one another");
    at = part.end;
  }
  check(at == count_code_points(prompt.text), "parts cover the prompt");
}

void check_item(const QaItem& item) {
  check(!item.id.empty() && !item.question.empty() && !item.answers.empty(), "an item is whole");
  check(!find_invalid_utf8(item.question), "a question is UTF-8");
  for (const BundledTemplate& bundled : bundled_templates()) {
    for (const QueryPlace place :
         {QueryPlace::kAsWritten, QueryPlace::kBeforePassages, QueryPlace::kAfterPassages}) {
      fuzzing::attempt(
          [&] { check_parts(PromptTemplate::find(std::string(bundled.name)).render(item, place)); });
    }
  }
  static_cast<void>(score_answer(item.question, item.answers));
}

}  // namespace

// The first byte chooses the ending of the file's name and the format, or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int choice = data[0] % (2 * (kDatasetFormatCount + 1));
  const auto path = fuzzing::put(choice % 2 == 0 ? "data.jsonl" : "data.json",
                                 {reinterpret_cast<const char*>(data) + 1, size - 1});
  DatasetOptions options;
  if (choice / 2 < kDatasetFormatCount) options.format = static_cast<DatasetFormat>(choice / 2);
  fuzzing::attempt([&] {
    for (const QaItem& item : read_dataset(path, options)) check_item(item);
  });
  return 0;
}
