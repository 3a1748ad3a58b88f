// Pickles: byte by byte as the protocol says, and as NumPy itself reads them.
#include "buoy/io/pickle.h"

#include <cstdlib>
#include <limits>
#include <vector>

#include "buoy/io/file.h"
#include "buoy/io/npz_writer.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

TensorView view_of(const std::vector<float>& values, Shape shape) {
  return {DType::kF32, std::move(shape), std::as_bytes(std::span(values))};
}

ByteSink into(std::string& bytes) {
  return [&bytes](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  };
}

// numpy.ndarray((0,)) and the start of its state: version 1, the shape, the dtype, C order.
std::string array_start(const std::string& shape, const std::string& descr) {
  return "cnumpy\nndarray\n(J\0\0\0\0t\x85R"s + "(J\x01\0\0\0"s + "(" + shape + "t" + "cnumpy\ndtype\nX"s +
         static_cast<char>(descr.size()) + "\0\0\0"s + descr + "\x85R\x89"s;
}

TEST(Pickle, HasTheBytesOfProtocolFour) {
  std::string bytes;
  DictArrayPickle pickle(1, into(bytes));
  pickle.begin_dict();
  pickle.add("n", -2);
  pickle.add("x", view_of({1.0f}, {1, 1}));
  pickle.end_dict();
  pickle.finish();
  const std::string one = "J\x01\0\0\0"s;
  EXPECT_EQ(bytes, "\x80\x04"s + array_start(one, "|O") + "](" + "}(" + "X\x01\0\0\0n"s +
                       "J\xfe\xff\xff\xff"s + "X\x01\0\0\0x"s + array_start(one + one, "<f4") +
                       "\x8e\x04\0\0\0\0\0\0\0"s + "\0\0\x80\x3f"s + "tb" + "u" + "e" + "tb" + ".");
}

TEST(Pickle, DictsOutOfTurnAreBugs) {
  std::string bytes;
  DictArrayPickle pickle(1, into(bytes));
  EXPECT_THROW(pickle.add("n", 1), InternalError);
  EXPECT_THROW(pickle.finish(), InternalError);
  pickle.begin_dict();
  EXPECT_THROW(pickle.begin_dict(), InternalError);
  EXPECT_THROW(pickle.add("x", view_of({1}, {2})), InternalError);
  pickle.end_dict();
  EXPECT_THROW(pickle.begin_dict(), InternalError);
}

constexpr const char* kCheck = R"(
import sys, warnings
warnings.simplefilter("error")
import numpy as np
steps = np.load(sys.argv[1], allow_pickle=True)["steps"]
assert steps.dtype == object and steps.shape == (2,), steps
first, second = steps
assert list(first) == ["step", "large", "small", "a", "ids", "empty", "scalar"], list(first)
assert type(first["step"]) is int and first["step"] == 3
assert first["large"] == 2**63 - 1 and first["small"] == -2**63
assert first["a"].dtype == np.float32 and first["a"].flags.c_contiguous
assert (first["a"] == np.arange(6, dtype="f4").reshape(2, 3)).all()
assert first["ids"].dtype == np.int64 and first["ids"].tolist() == [5, -6]
assert first["empty"].shape == (0, 4) and first["scalar"].shape == () and first["scalar"] == 9
assert second == {}
try:
    np.load(sys.argv[1], allow_pickle=False)["steps"]
except ValueError:
    sys.exit(0)
sys.exit("an object array must need allow_pickle")
)";

TEST(Pickle, NumpyReadsEveryKindOfEntryWithoutAWarning) {
  const std::string python = fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
  ASSERT_EQ(std::system((python + " -c 'import numpy'").c_str()), 0) << "needs python3-numpy";
  const TempDir dir;
  NpzWriter writer(dir / "a.npz");
  writer.begin_objects("steps", {2});
  DictArrayPickle pickle(2, [&](std::span<const std::byte> piece) { writer.append(piece); });
  const std::vector<Index> ids = {5, -6};
  pickle.begin_dict();
  pickle.add("step", 3);
  pickle.add("large", std::numeric_limits<Index>::max());
  pickle.add("small", std::numeric_limits<Index>::min());
  pickle.add("a", view_of({0, 1, 2, 3, 4, 5}, {2, 3}));
  pickle.add("ids", {DType::kI64, {2}, std::as_bytes(std::span(ids))});
  pickle.add("empty", view_of({}, {0, 4}));
  pickle.add("scalar", view_of({9}, {}));
  pickle.end_dict();
  pickle.begin_dict();
  pickle.end_dict();
  pickle.finish();
  writer.end();
  writer.commit();
  write_file_atomically(dir / "check.py", kCheck);
  const std::string command =
      fmt::format("{} '{}' '{}'", python, (dir / "check.py").string(), (dir / "a.npz").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace buoy
