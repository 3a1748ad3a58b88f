// What tests ask of a rendered prompt: that its parts cover it, and the text of a region.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/prompt/prompt_template.h"
#include "buoy/text/tokenizer.h"
#include "buoy/text/utf8.h"

namespace buoy {

inline Tokenizer mini_tokenizer() {
  return Tokenizer::load(source_path("models/mini-mdm"));
}

// Every character belongs to exactly one part.
inline void expect_covered(const PromptText& prompt) {
  Index at = 0;
  for (const PromptPart& part : prompt.parts) {
    EXPECT_EQ(part.begin, at);
    EXPECT_GT(part.end, part.begin);
    at = part.end;
  }
  EXPECT_EQ(at, count_code_points(prompt.text));
}

// The characters of the parts that `wanted` accepts.
template <typename Wanted>
std::string text_where(const PromptText& prompt, Wanted wanted) {
  std::string out;
  Index character = 0;
  auto part = prompt.parts.begin();
  for (Index byte = 0; byte < std::ssize(prompt.text); ++character) {
    const CodePoint c = code_point_at(prompt.text, byte);
    byte += c.length;
    while (part != prompt.parts.end() && part->end <= character) ++part;
    if (part != prompt.parts.end() && wanted(*part)) append_utf8(out, c.value);
  }
  return out;
}

inline std::string text_of(const PromptText& prompt, RegionKind kind, Index document) {
  return text_where(prompt,
                    [&](const PromptPart& part) { return part.kind == kind && part.document == document; });
}

inline std::string evidence_of(const PromptText& prompt, Index document) {
  return text_where(prompt,
                    [&](const PromptPart& part) { return part.document == document && part.evidence; });
}

}  // namespace buoy
