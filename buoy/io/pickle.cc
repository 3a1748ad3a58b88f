// A pickle is a program for a stack machine; what stands here is the little of it that is needed.
#include "buoy/io/pickle.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "buoy/base/error.h"
#include "buoy/io/npy_format.h"

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

namespace buoy {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kProtocol = "\x80\x04"sv, kStop = "."sv;
constexpr std::string_view kMark = "("sv;     // the operations below take what lies above the last mark
constexpr std::string_view kTuple = "t"sv;    // … as a tuple
constexpr std::string_view kAppends = "e"sv;  // … and append it to the list below the mark
constexpr std::string_view kSetItems =
    "u"sv;  // … and put it, key by key with its value, into the dict below the mark
constexpr std::string_view kTuple1 = "\x85"sv;  // the topmost as a tuple of one
constexpr std::string_view kReduce = "R"sv;     // call the second with the arguments on top
constexpr std::string_view kBuild = "b"sv;      // hand the topmost to __setstate__ of the second
constexpr std::string_view kEmptyList = "]"sv, kEmptyDict = "}"sv, kFalse = "\x89"sv;
constexpr std::string_view kInt32 = "J"sv;         // then 4 bytes
constexpr std::string_view kInt64 = "\x8a\x08"sv;  // a long of 8 bytes, which follow
constexpr std::string_view kText = "X"sv;          // then a length of 4 bytes, then UTF-8
constexpr std::string_view kBytes = "\x8e"sv;      // then a length of 8 bytes, then those
constexpr std::string_view kNdarray = "cnumpy\nndarray\n"sv, kDtype = "cnumpy\ndtype\n"sv;

template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

}  // namespace

DictArrayPickle::DictArrayPickle(Index count, ByteSink sink) : sink_(std::move(sink)), left_(count) {
  check(count >= 0, "a number of dicts");
  put(kProtocol);
  begin_array({count}, "|O");
  put(kEmptyList);
  put(kMark);
}

void DictArrayPickle::begin_dict() {
  check(!in_dict_ && left_ > 0, "one dict at a time, as many as were announced");
  in_dict_ = true;
  --left_;
  put(kEmptyDict);
  put(kMark);
}

void DictArrayPickle::add(std::string_view key, Index value) {
  check(in_dict_, "a dict was begun");
  put_text(key);
  put_int(value);
}

void DictArrayPickle::add(std::string_view key, const TensorView& array) {
  check(in_dict_, "a dict was begun");
  check(array.dtype != DType::kBf16, "NumPy has no bfloat16");
  check(std::ssize(array.bytes) == element_count(array.shape) * size_of(array.dtype),
        "bytes of an array match its shape");
  put_text(key);
  begin_array(array.shape, npy_descr(array.dtype));
  put(kBytes);
  put(raw(static_cast<std::uint64_t>(array.bytes.size())));
  if (!array.bytes.empty()) sink_(array.bytes);
  end_array();
}

void DictArrayPickle::end_dict() {
  check(in_dict_, "a dict was begun");
  in_dict_ = false;
  put(kSetItems);
}

void DictArrayPickle::finish() {
  check(!in_dict_ && left_ == 0, "as many dicts as were announced");
  put(kAppends);
  end_array();
  put(kStop);
}

// numpy.ndarray((0,)), whose state (version, shape, dtype, is Fortran, contents) is set by what follows.
void DictArrayPickle::begin_array(const Shape& shape, std::string_view descr) {
  put(kNdarray);
  put_tuple({0});
  put(kTuple1);
  put(kReduce);
  put(kMark);
  put_int(1);
  put_tuple(shape);
  put(kDtype);
  put_text(descr);
  put(kTuple1);
  put(kReduce);
  put(kFalse);
}

void DictArrayPickle::end_array() {
  put(kTuple);
  put(kBuild);
}

void DictArrayPickle::put(std::string_view bytes) {
  sink_(std::as_bytes(std::span(bytes)));
}

void DictArrayPickle::put_int(Index value) {
  using Small = std::numeric_limits<std::int32_t>;
  const bool small = value >= Small::min() && value <= Small::max();
  put(small ? kInt32 : kInt64);
  put(small ? raw(static_cast<std::int32_t>(value)) : raw(value));
}

void DictArrayPickle::put_text(std::string_view text) {
  check(text.size() <= std::numeric_limits<std::uint32_t>::max(), "a key of reasonable length");
  put(kText);
  put(raw(static_cast<std::uint32_t>(text.size())));
  put(text);
}

void DictArrayPickle::put_tuple(const Shape& values) {
  put(kMark);
  for (const Index value : values) put_int(value);
  put(kTuple);
}

}  // namespace buoy
