// Trace files, and the table of arrays that they are written, read and checked by.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/probe/test_support.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

class TraceFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("buoy_trace_" + std::to_string(::getpid()));
    fs::create_directories(directory_);
    path_ = directory_ / "t.npz";
    trace_ =
        record_masked(Subject("llada-moe"), {.heads = HeadDetail::kPerHead, .keys = true, .experts = true});
    // Of state space layers, which no model has beside experts: every array is there once.
    trace_.finished.recency_means.assign(trace_.finished.score_means.size(), 0.5f);
    trace_.header.model = "tiny";
    trace_.header.answers = {"a", "ü"};
    trace_.header.correct = false;
    trace_.token_texts[3] = std::string("\0", 1);
    trace_.token_texts[4] = "漢字";
  }
  void TearDown() override { fs::remove_all(directory_); }

  // Rewrites the file with one array changed.
  void change(const std::function<void(NpzArrays&)>& edit) {
    write_trace(path_, trace_);
    NpzArrays arrays = read_npz(path_);
    edit(arrays);
    write_npz(path_, arrays);
  }
  std::string reading() const {
    return message_of([&] { read_trace(path_); });
  }

  fs::path directory_, path_;
  Trace trace_;
};

TEST_F(TraceFile, MaskAndRowsAreImpliedByTheKindUnlessTheyStandInTheHeader) {
  struct Case {
    Writing writing;
    Mask mask;
    PassRows rows;
    bool has_mask, has_rows;
  };
  for (const Case& c : {Case{Writing::kFillsMasks, Mask::kFull, PassRows::kAnew, false, false},
                        Case{Writing::kAppends, Mask::kCausal, PassRows::kAddUp, false, false},
                        Case{Writing::kFillsMasks, Mask::blocks(4, 1), PassRows::kAddUp, true, true},
                        Case{Writing::kAppends, Mask::kFull, PassRows::kAddUp, true, false}}) {
    trace_.header.writing = c.writing;
    trace_.header.mask = c.mask;
    trace_.header.rows = c.rows;
    write_trace(path_, trace_);
    const Json header = parse_json(read_npz(path_).at("header").text[0], "header");
    EXPECT_EQ(header.at("kind"), c.writing == Writing::kAppends ? "causal" : "masked");
    EXPECT_EQ(header.contains("mask"), c.has_mask);
    EXPECT_EQ(header.contains("rows"), c.has_rows);
    const Trace back = read_trace(path_);
    EXPECT_EQ(back.header.writing, c.writing);
    EXPECT_EQ(back.header.mask, c.mask);
    EXPECT_EQ(back.header.rows, c.rows);
  }
}

// Files of today and of yesterday are the same to the byte: old readers, and comparisons of whole files, go
// by it.
TEST_F(TraceFile, KeepsItsHeadersKeysInTheOrderTheyAlwaysHad) {
  trace_.header.mask_id = 7;
  write_trace(path_, trace_);
  const Json header = parse_json(read_npz(path_).at("header").text[0], "header");
  std::vector<std::string> keys;
  for (const auto& [key, value] : header.items()) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"format",         "version",  "buoy",    "model",     "model_hash",
                                      "tokenizer_hash", "kind",     "heads",   "key_heads", "model_layers",
                                      "prompt_length",  "settings", "sample",  "task",      "question",
                                      "answers",        "output",   "mask_id", "correct",   "experts"}));
}

TEST_F(TraceFile, ComesBackAsItWas) {
  write_trace(path_, trace_);
  const Trace back = read_trace(path_);
  EXPECT_EQ(back.tokens, trace_.tokens);
  EXPECT_EQ(back.token_texts[3], "<0x00>");
  EXPECT_EQ(back.token_texts[4], "漢字");
  EXPECT_EQ(back.regions.of, trace_.regions.of);
  EXPECT_TRUE(back.regions.regions[3].gold);
  EXPECT_EQ(back.evidence, trace_.evidence);
  EXPECT_EQ(back.steps.received, trace_.steps.received);
  EXPECT_EQ(back.steps.received_heads, trace_.steps.received_heads);
  EXPECT_EQ(back.steps.flow, trace_.steps.flow);
  EXPECT_EQ(back.answer.argmax, trace_.answer.argmax);
  EXPECT_EQ(back.finished.key_norms, trace_.finished.key_norms);
  EXPECT_EQ(back.header.answers, trace_.header.answers);
  EXPECT_EQ(back.header.correct, std::optional(false));
  EXPECT_EQ(back.class_at(0, 2), TokenClass::kContent);
}

TEST_F(TraceFile, RefusesNoLayersDocumentsOfNoNumberAndStateSpacesOfNoRecency) {
  Trace changed = trace_;
  changed.layers.clear();
  EXPECT_NE(message_of([&] { check_trace(changed, "t"); }).find("\"layers\" is empty"), std::string::npos);
  changed = trace_;
  changed.header.mixers.assign(static_cast<std::size_t>(trace_.header.model_layers), MixerKind::kSsd);
  changed.finished.recency_means.clear();
  EXPECT_NE(message_of([&] { check_trace(changed, "t"); }).find("no array \"finished_recency_means\""),
            std::string::npos);
  for (const Index number : {Index{-7}, Index{0}, Index{1} << 62}) {
    change([&](NpzArrays& a) {
      std::vector<Index> documents = a["region_documents"].as_integers();
      documents[3] = number;
      a["region_documents"] = NpyArray::of(documents, a["region_documents"].shape);
    });
    EXPECT_NE(
        reading().find(fmt::format("\"region_documents\" holds {} for a region that is document", number)),
        std::string::npos)
        << reading();
  }
}

TEST_F(TraceFile, SaysWhatIsWrongWithABadOne) {
  change([](NpzArrays& a) {
    std::string& header = a["header"].text[0];
    header.replace(header.find("\"version\":1"), 11, "\"version\":9");
  });
  EXPECT_NE(reading().find("version 9, expected 1"), std::string::npos) << reading();
  change([](NpzArrays& a) {
    std::vector<float> values = a["received"].as_floats();
    values[5] = std::numeric_limits<float>::quiet_NaN();
    a["received"] = NpyArray::of(values, a["received"].shape);
  });
  EXPECT_NE(reading().find("\"received\" holds nan at index 5"), std::string::npos) << reading();
  change([](NpzArrays& a) {
    std::vector<Index> spans = a["region_spans"].as_integers();
    spans[1] -= 1;
    a["region_spans"] = NpyArray::of(spans, a["region_spans"].shape);
  });
  EXPECT_NE(reading().find("cover"), std::string::npos) << reading();
  change([](NpzArrays& a) { a.erase("finished_received"); });
  EXPECT_NE(reading().find("finished_received"), std::string::npos) << reading();
  change([](NpzArrays& a) {
    a["flow"].shape[0] -= 1;
    a["flow"].bytes.resize(a["flow"].bytes.size() / 2);
  });
  EXPECT_NE(reading().find("\"flow\" is"), std::string::npos) << reading();
  write_trace(path_, trace_);
  fs::resize_file(path_, fs::file_size(path_) / 2);
  EXPECT_NE(reading().find("t.npz"), std::string::npos) << reading();
}

// Sizes that wrap when they are multiplied, or that no figure would come to an end with.
TEST_F(TraceFile, WithImpossibleSizesIsRefused) {
  for (const char* key : {"heads", "key_heads", "model_layers", "prompt_length", "mask_id"}) {
    for (const Index value : {Index{1} << 62, Index{-5}, std::numeric_limits<Index>::min() + 5}) {
      change([&](NpzArrays& a) {
        Json header = parse_json(a["header"].text[0], "header");
        header[key] = value;
        a["header"] = NpyArray::of_text({header.dump()}, {});
      });
      EXPECT_NE(reading().find(fmt::format("\"{}\" is {}, expected ", key, value)), std::string::npos)
          << reading();
    }
  }
}

TEST_F(TraceFile, WithAnArrayThatNoTraceHasIsRefused) {
  change([](NpzArrays& a) { a["received\n"] = a["received"]; });
  EXPECT_NE(reading().find("has an array \"received\\n\", which no trace has"), std::string::npos)
      << reading();
}

// Found by a fuzzer: a line break in a name made an error of two lines.
TEST_F(TraceFile, WithANameThatMeansNothingIsRefusedInOneLine) {
  change([](NpzArrays& a) { a["region_kinds"].text[0] = "\n"; });
  EXPECT_NE(reading().find("holds the unknown name \"\\n\""), std::string::npos) << reading();
}

// Found by a fuzzer: masses of rows that nothing says which they are.
TEST_F(TraceFile, WithNumbersOfAnswerRowsButNoRowsIsRefused) {
  for (const char* kept : {"answer_visible", "answer_weight", "answer_mass"}) {
    change([&](NpzArrays& a) {
      std::erase_if(
          a, [&](const auto& array) { return array.first.starts_with("answer_") && array.first != kept; });
    });
    EXPECT_NE(reading().find(fmt::format("\"{}\" ", kept)), std::string::npos) << reading();
  }
}

TEST_F(TraceFile, IsNotWrittenWhenItDoesNotHangTogether) {
  trace_.steps.received[0] += 1;
  EXPECT_THROW(write_trace(path_, trace_), Error);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(fs::is_empty(directory_));
}

// Every name of the file stands in one of the two lists, once, and the lists name nothing else.
TEST_F(TraceFile, HoldsTheArraysOfTheTablesAndNoOther) {
  write_trace(path_, trace_);
  std::set<std::string> written, listed;
  for (const auto& [name, array] : read_npz(path_)) written.insert(name);
  for (const std::string_view name : frame_arrays()) listed.emplace(name);
  for (const TraceArray& array : trace_arrays()) listed.emplace(array.name);
  EXPECT_EQ(written, listed);
  EXPECT_EQ(listed.size(), frame_arrays().size() + trace_arrays().size());
}

TEST_F(TraceFile, KeepsTheMixersOfLayersAndTheThirdFactorOfStateSpaces) {
  const Trace trace = record_masked(Subject("ssd-hybrid"), {});
  write_trace(path_, trace);
  const Trace back = read_trace(path_);
  using enum MixerKind;
  EXPECT_EQ(back.header.mixers, (std::vector{kSsd, kAttention, kSsd}));
  EXPECT_EQ(back.finished.recency_means, trace.finished.recency_means);
  const Index each = back.H() * back.N();
  for (Index i = 0; i < 3 * each; ++i) {
    EXPECT_EQ(back.finished.recency_means[at(i)] == 1, back.mixer(i / each) == kAttention) << i;
  }
  write_trace(path_, record_masked(Subject("llada"), {}));
  EXPECT_TRUE(read_trace(path_).header.mixers.empty());
  EXPECT_TRUE(read_trace(path_).finished.recency_means.empty());
}

TEST_F(TraceFile, OfAModelWithoutExpertsHasNoneOfTheirArrays) {
  write_trace(path_, record_masked(Subject("llada"), {}));
  for (const auto& [name, array] : read_npz(path_)) EXPECT_EQ(name.find("expert"), name.npos) << name;
  EXPECT_EQ(read_trace(path_).X(), 0);
}

// Rows that the pass took through experts say which; of the last layer those are the read ones alone.
TEST_F(TraceFile, KeepsTheExpertsOfEveryStep) {
  write_trace(path_, trace_);
  const Trace back = read_trace(path_);
  EXPECT_EQ(back.header.experts, 12);
  EXPECT_EQ(back.steps.experts, trace_.steps.experts);
  const Index N = back.N(), X = back.X(), L = back.L();
  ASSERT_EQ(X, 4);
  for (Index t = 0; t < back.S(); ++t) {
    for (Index l = 0; l < L; ++l) {
      for (Index j = 0; j < N; ++j) {
        const Index first = ((t * L + l) * N + j) * X;
        const bool read = j == 11;  // the row that these passes read
        EXPECT_EQ(back.steps.experts[at(first)] >= 0, l + 1 < L || read) << t << " " << l << " " << j;
        EXPECT_EQ(back.steps.expert_weights[at(first)] > 0, l + 1 < L || read);
      }
    }
  }
}

// The shape that docs/trace.md gives an array, as letters: in its row of a table, or after its name in a
// sentence.
std::string documented_shape(const std::string& page, const std::string& name) {
  const std::string quoted = "`" + name + "`";
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t cell = line.find(" | [");
    if (!line.starts_with("| ") || cell == line.npos || line.substr(0, cell).find(quoted) == line.npos)
      continue;
    const std::string shape = line.substr(cell + 4, line.find(']') - cell - 4);
    return std::regex_replace(shape, std::regex(", "), "");
  }
  std::smatch found;
  if (!std::regex_search(page, found, std::regex(quoted + "\\s+\\[([A-Z, ]+)\\]"))) return "(none)";
  return std::regex_replace(found[1].str(), std::regex(", "), "");
}

TEST(TraceArrays, AreDocumentedWithTheirShapes) {
  const std::string page = read_file(source_path("docs/trace.md"));
  for (const TraceArray& array : trace_arrays()) {
    EXPECT_EQ(documented_shape(page, std::string(array.name)), array.shape) << array.name;
  }
  for (const std::string_view name : frame_arrays()) {
    EXPECT_NE(page.find("`" + std::string(name) + "`"), page.npos) << name;
  }
}

// Spoils one array after the other; the complaint must name it.
class SpoiledArrays : public TraceFile {
 protected:
  template <class Spoil>
  void expect_complaint(const TraceArray& array, const char* how, const Spoil& spoil) const {
    Trace spoiled = trace_;
    array.visit(spoiled, spoil);
    const std::string said = message_of([&] { check_trace(spoiled, "t"); });
    EXPECT_NE(said.find("\"" + std::string(array.name) + "\""), said.npos)
        << array.name << " " << how << ": " << said;
  }
};

TEST_F(SpoiledArrays, OfAnotherSizeAreRefused) {
  for (const TraceArray& array : trace_arrays()) {
    if (array.name == "step_lengths" || array.name == "answer_rows")
      continue;  // others are measured by these
    expect_complaint(array, "too long", [](auto& values) { values.push_back(values.back()); });
  }
}

TEST_F(SpoiledArrays, WithNumbersThatAreNoneAreRefused) {
  for (const TraceArray& array : trace_arrays()) {
    if (std::holds_alternative<std::vector<float>*>(array.place(trace_))) {
      expect_complaint(array, "NaN", [](auto& values) {
        using Value = typename std::remove_cvref_t<decltype(values)>::value_type;
        if constexpr (std::is_floating_point_v<Value>) values[0] = std::numeric_limits<Value>::quiet_NaN();
      });
    }
  }
}

TEST_F(SpoiledArrays, ThatDoNotHoldWhatTheTableSaysAreRefused) {
  for (const TraceArray& array : trace_arrays()) {
    if (array.holds == Holds::kNothingMore) continue;
    const bool sums = array.holds == Holds::kRowsSumToOne || array.holds == Holds::kRowsSumToOneOrZero;
    const bool open = array.holds == Holds::kNotNegative;  // upwards
    const bool may_be_missing =
        array.holds == Holds::kPosition || array.holds == Holds::kStep || array.holds == Holds::kExpert;
    const Index low = may_be_missing                  ? -1
                      : array.holds == Holds::kLength ? std::max<Index>(1, trace_.prompt_length)
                                                      : 0;
    const Index high = array.holds == Holds::kFlag || array.holds == Holds::kShare ? 1
                       : array.holds == Holds::kStep                               ? Index{1} << 28
                       : array.holds == Holds::kPosition                           ? trace_.N() - 1
                       : array.holds == Holds::kExpert                             ? trace_.header.experts - 1
                                                                                   : trace_.N();
    const auto set = [](Index value) {
      return [value](auto& values) {
        values[0] = static_cast<typename std::remove_cvref_t<decltype(values)>::value_type>(value);
      };
    };
    if (sums) {
      expect_complaint(array, "sum", set(3));
      expect_complaint(array, "a negative share", [](auto& values) {
        using Value = typename std::remove_cvref_t<decltype(values)>::value_type;
        values[0] = static_cast<Value>(values[0] - 2);
        values[1] = static_cast<Value>(values[1] + 2);
      });
      continue;
    }
    expect_complaint(array, "low", set(low - 1));
    if (!open) expect_complaint(array, "high", set(high + 1));
    for (const Index fine : {low, high}) {
      Trace changed = trace_;
      array.visit(changed, set(fine));
      EXPECT_NO_THROW(check_trace(changed, "t")) << array.name << " " << fine;
    }
  }
}

}  // namespace
}  // namespace buoy
