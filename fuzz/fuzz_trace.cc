// A real trace with changes that the input says: reading refuses it, or the analysis that the input chooses
// survives it.
#include <cmath>
#include <cstdint>
#include <iterator>

#include "buoy/analysis/analyses.h"
#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/probe/trace_file.h"
#include "fuzz/changes.h"
#include "fuzz/scratch.h"

namespace {

using namespace buoy;
using fuzzing::Changes;

// A trace's arrays with its header as it is edited: read once a program and written once a run.
struct Edited {
  NpzArrays arrays;
  Json header;
  bool is_header_changed = false;
};

Edited read_original(const char* name) {
  NpzArrays arrays = read_npz(std::string(BUOY_FUZZ_DIR) + "/traces/" + name);
  Json header = parse_json(arrays.at("header").text[0], "header");
  return {std::move(arrays), std::move(header)};
}

void change_header(Edited& trace, Changes& in) {
  Json& header = trace.header;
  trace.is_header_changed = true;
  auto field = header.begin();
  std::advance(field, static_cast<std::ptrdiff_t>(in.byte() % header.size()));
  switch (in.byte() % 4) {
    case 0:
      *field = "x";
      break;
    case 1:
      *field = nullptr;
      break;
    case 2:
      *field = {1, "a"};
      break;
    default:
      *field = in.number();
  }
}

void change_element(NpyArray& array, Changes& in) {
  const auto width = static_cast<std::size_t>(size_of(array.dtype));
  const std::size_t at = in.word() % (array.bytes.size() / width) * width;
  const Index value = in.number();
  if (array.dtype == DType::kF32) {
    const float f = value == 7 ? std::nanf("") : static_cast<float>(value);
    std::memcpy(array.bytes.data() + at, &f, sizeof f);
  } else if (array.dtype == DType::kF64) {
    const auto f = static_cast<double>(value);
    std::memcpy(array.bytes.data() + at, &f, sizeof f);
  } else {
    std::memcpy(array.bytes.data() + at, &value, width);
  }
}

void cut(NpyArray& array, Changes& in) {
  Index& extent = array.shape[in.byte() % array.shape.size()];
  extent = Index{in.byte()} % (extent + 1);
  const auto count = static_cast<std::size_t>(element_count(array.shape));
  if (array.is_text) {
    array.text.resize(count);
  } else {
    array.bytes.resize(count * static_cast<std::size_t>(size_of(array.dtype)));
  }
}

void change(Edited& trace, Changes& in) {
  NpzArrays& arrays = trace.arrays;
  const unsigned what = in.byte() % 7;
  auto chosen = arrays.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(in.byte() % arrays.size()));
  NpyArray& array = chosen->second;
  if (what == 0) {
    arrays.erase(chosen);
  } else if (what <= 2) {
    change_header(trace, in);
  } else if (what == 3 && !array.is_text && !array.bytes.empty()) {
    change_element(array, in);
  } else if (what == 4 && !array.shape.empty()) {
    cut(array, in);
  } else if (what == 5 && array.is_text && !array.text.empty()) {
    array.text[in.byte() % array.text.size()] = std::string(1, static_cast<char>(in.byte()));
  } else if (what == 6) {
    std::ranges::fill(array.bytes, std::byte{0});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Edited masked = read_original("masked.npz"), causal = read_original("causal.npz");
  Changes in{{data, size}};
  const unsigned choice =
      in.byte();  // one analysis a run: all of them would take most of the time in what no change reached
  Edited trace = choice % 2 == 0 ? masked : causal;
  const Analysis& analysis = analyses()[choice / 2 % analyses().size()];
  fuzzing::attempt([&] {
    while (!in.left.empty() && !trace.arrays.empty()) change(trace, in);
    const auto header = trace.arrays.find("header");
    if (trace.is_header_changed && header != trace.arrays.end())
      header->second = NpyArray::of_text({trace.header.dump()}, {});
    const Trace read =
        trace_of_arrays(std::move(trace.arrays), "fuzz");  // the file around them is fuzz_npz's
    const TraceWithNull traces(read);
    static_cast<void>(measure(analysis, traces, {}));
  });
  return 0;
}
