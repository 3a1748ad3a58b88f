// For the tests of this room: a golden model on the reference backend and a trace that was recorded of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/base/testing.h"
#include "buoy/compute/backend.h"
#include "buoy/model/capture.h"
#include "buoy/model/transformer.h"
#include "buoy/probe/recorder.h"

namespace buoy {

inline std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

// A golden checkpoint on the reference backend, and a prompt of two documents.
struct Subject {
  explicit Subject(const std::string& name)
      : backend(make_reference_backend()), model(source_path("tests/goldens") / name, *backend, {}) {
    for (Index i = 0; i < 12; ++i) tokens.push_back(static_cast<TokenId>((i * 7 + 3) % 50 + 1));
    RegionMap& map = layout.regions;
    map.regions = {{.kind = RegionKind::kBos},
                   {.kind = RegionKind::kTemplate},
                   {.kind = RegionKind::kDocument, .document = 1},
                   {.kind = RegionKind::kDocument, .document = 2, .gold = true},
                   {.kind = RegionKind::kAnswer},
                   {.kind = RegionKind::kTail}};
    map.of = {0, 1, 2, 2, 2, 1, 3, 3, 1};  // a prompt of nine; three are generated
    layout.evidence = {0, 0, 0, 0, 0, 0, 1, 1, 0};
  }

  const ModelConfig& config() const { return model.config(); }

  // Whole matrices of one layer of a pass over the first n tokens: [H, n, n].
  std::vector<float> matrices(Index n, Index layer) const {
    CaptureTap capture({.attentions = true});
    const Index row = 0;
    const ForwardSequence sequence{.ids = std::span(tokens).first(at(n)), .read_rows = {&row, 1}};
    model.forward({&sequence, 1}, &capture);
    const Index each = config().H * n * n;
    return {capture.attentions.begin() + layer * each, capture.attentions.begin() + (layer + 1) * each};
  }

  void pass(Recorder& recorder, Index first_row, Index n, KvCache* cache = nullptr) const {
    RecorderTap tap;
    tap.recorders = {&recorder};
    const Index row = n - first_row - 1;
    const ForwardSequence sequence{.ids = std::span(tokens).subspan(at(first_row), at(n - first_row)),
                                   .read_rows = {&row, 1},
                                   .cache = cache};
    model.forward({&sequence, 1}, &tap);
  }

  std::unique_ptr<Backend> backend;
  Transformer model;
  std::vector<TokenId> tokens;
  PromptLayout layout;
};

inline void complete(Trace& trace) {
  trace.token_texts.assign(trace.tokens.size(), "x");
  trace.classes.assign(trace.tokens.size(), TokenClass::kContent);
  trace.commit_step.assign(at(trace.G()), 0);
  trace.confidence.assign(at(trace.G()), 0.5);
}

// Two passes of a masked model over twelve positions, then the finished pass.
inline Trace record_masked(const Subject& subject, const RecordSettings& settings) {
  Recorder recorder(subject.config(), settings, subject.layout);
  for (Index step = 0; step < 2; ++step) {
    const std::vector<Index> read = step == 0 ? std::vector<Index>{9, 10, 11} : std::vector<Index>{10};
    recorder.begin_pass({.step = step, .tokens = subject.tokens, .read_rows = read});
    subject.pass(recorder, 0, 12);
    recorder.end_pass(step == 0 ? std::vector<Index>{9, 11} : std::vector<Index>{10});
  }
  recorder.begin_finished(subject.tokens, std::vector<TokenId>{subject.tokens[10]});
  subject.pass(recorder, 0, 12);
  Trace trace = recorder.take();
  complete(trace);
  return trace;
}

}  // namespace buoy
