#define PCRE2_CODE_UNIT_WIDTH 8
#include "buoy/text/pattern.h"

#include <array>

#include <pcre2.h>

#include "buoy/base/error.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::string describe(int code) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(code, message.data(), message.size());
  return reinterpret_cast<const char*>(message.data());
}

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  std::string place;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
};

Pattern::Pattern(std::string_view source, PatternKind kind, std::string place)
    : compiled_(std::make_unique<Compiled>()) {
  if (source.size() > 100000) fail("{}: the pattern is {} bytes long, at most 100000", place, source.size());
  const std::string expression =
      kind == PatternKind::kExpression ? translate_expression(source, place) : std::string(source);
  const std::uint32_t options = kind == PatternKind::kExpression
                                    ? PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C
                                    : PCRE2_UTF | PCRE2_LITERAL;
  int code = 0;
  PCRE2_SIZE offset = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(), options,
                                  &code, &offset, nullptr);
  if (compiled_->code == nullptr) fail("{}: bad pattern at byte {}: {}", place, offset, describe(code));
  // Without JIT (a build or a machine that lacks it) the interpreter gives the same matches, more slowly.
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
  compiled_->place = std::move(place);
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

struct PatternScanner::State {
  const Pattern::Compiled* compiled = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  std::string_view text;
  Index at = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }

  int match() {
    // The text is known to be valid UTF-8; checking it again at every match would be quadratic.
    return pcre2_match(compiled->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       static_cast<PCRE2_SIZE>(at), PCRE2_NO_UTF_CHECK, data, context);
  }

  // The 32 KiB of machine stack that JIT code gets by itself are enough for nearly all patterns; others get
  // more.
  int match_with_large_stack() {
    stack = pcre2_jit_stack_create(std::size_t{1} << 20, std::size_t{1} << 26, nullptr);
    context = pcre2_match_context_create(nullptr);
    check(stack != nullptr && context != nullptr, "PCRE2 could not allocate a stack");
    pcre2_jit_stack_assign(context, nullptr, stack);
    return match();
  }
};

PatternScanner::PatternScanner(const Pattern& pattern) : state_(std::make_unique<State>()) {
  state_->compiled = pattern.compiled_.get();
  state_->data = pcre2_match_data_create_from_pattern(state_->compiled->code, nullptr);
  check(state_->data != nullptr, "PCRE2 could not allocate match data");
}

PatternScanner::~PatternScanner() = default;

void PatternScanner::start(std::string_view text) {
  state_->text = text;
  state_->at = 0;
}

std::optional<ByteRange> PatternScanner::next() {
  State& state = *state_;
  const Index size = std::ssize(state.text);
  if (state.at > size) return std::nullopt;
  int code = state.match();
  if (code == PCRE2_ERROR_JIT_STACKLIMIT && state.stack == nullptr) code = state.match_with_large_stack();
  if (code == PCRE2_ERROR_NOMATCH) {
    state.at = size + 1;
    return std::nullopt;
  }
  if (code < 0)
    fail("{}: the pattern gives up at byte {}: {}", state.compiled->place, state.at, describe(code));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(state.data);
  const ByteRange found{static_cast<Index>(bounds[0]), static_cast<Index>(bounds[1])};
  if (found.end < found.begin) fail("{}: the pattern ends a match before it begins", state.compiled->place);
  // An empty match must not be found again at the same place.
  state.at = found.size() > 0   ? found.end
             : found.end < size ? found.end + code_point_at(state.text, found.end).length
                                : size + 1;
  return found;
}

}  // namespace buoy
