// Any bytes as a prompt template: it is refused, or its parts cover every prompt it makes.
#include <cstdint>

#include "buoy/prompt/prompt_template.h"
#include "buoy/text/utf8.h"
#include "fuzz/scratch.h"

namespace {

using namespace buoy;

const QaItem kFull{
    .id = "a",
    .task = "t",
    .question = "Who é?",
    .answers = {"x"},
    .passages = {{.title = "T", .text = "Text é one.", .gold = true, .evidence = {{0, 4}, {5, 6}}},
                 {.title = "", .text = ""},
                 {.title = "", .text = "\n"}}};
const QaItem kBare{.id = "b", .task = "", .question = "Q", .answers = {"x"}, .passages = {}};

void check_prompt(const PromptText& prompt) {
  Index at = 0;
  for (const PromptPart& part : prompt.parts) {
    check(part.begin == at && part.end > at, "parts follow one another");
    at = part.end;
  }
  check(at == count_code_points(prompt.text), "parts cover the prompt");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  fuzzing::attempt([&] {
    const PromptTemplate made = PromptTemplate::parse(source, "fuzz");
    for (const QaItem* item : {&kFull, &kBare}) {
      for (const QueryPlace place :
           {QueryPlace::kAsWritten, QueryPlace::kBeforePassages, QueryPlace::kAfterPassages}) {
        fuzzing::attempt([&] { check_prompt(made.render(*item, place)); });
      }
    }
  });
  return 0;
}
