// Shows text being written on a terminal: masks visible, fresh tokens marked, the rest settled.
#pragma once

#include <string>

#include "buoy/decode/generation.h"
#include "buoy/model/config.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

// Draws on standard output, which must be a terminal. Masked models are redrawn in place; causal ones stream.
class TerminalView : public GenerationObserver {
 public:
  // Both must outlive the view.
  TerminalView(const Tokenizer& tokenizer, const ModelConfig& config);

  // Ends what it has drawn with a fresh line, however the work ends.
  ~TerminalView() override;

  void after_step(Index sample, const Generation& generation) override;
  bool cancelled() const override;

  // Draws the final text without marks and moves to a fresh line.
  void finish();

 private:
  void draw(const Generation& generation, bool final);

  const Tokenizer& tokenizer_;
  const ModelConfig& config_;
  StreamDecoder stream_;
  Generation last_;
  bool open_ = false;  // something stands on the last line
  int lines_ = 0;      // drawn so far, to move back over
};

}  // namespace buoy
