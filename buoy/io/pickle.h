// Pickles one kind of value: a NumPy object array [count] of dicts from strings to integers and numeric
// arrays.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "buoy/io/tensor_view.h"

namespace buoy {

// Takes bytes in order; they are the caller's only during the call.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// Protocol 4, as numpy.load(allow_pickle=True) of every NumPy for Python 3 reads it. The bytes go to the sink
// as they come, so nothing is held: begin_dict, its entries, end_dict, `count` times, then finish. Arrays are
// rebuilt from numpy.ndarray and numpy.dtype: public names, where the pickles that NumPy itself writes name a
// private module that moved with NumPy 2. One thread.
class DictArrayPickle {
 public:
  DictArrayPickle(Index count, ByteSink sink);

  void begin_dict();
  void add(std::string_view key, Index value);
  void add(std::string_view key, const TensorView& array);  // no bfloat16, which NumPy does not know
  void end_dict();
  void finish();

 private:
  void put(std::string_view bytes);
  void put_int(Index value);
  void put_text(std::string_view text);
  void put_tuple(const Shape& values);
  void begin_array(const Shape& shape, std::string_view descr);
  void end_array();

  ByteSink sink_;
  Index left_;  // dicts to come
  bool in_dict_ = false;
};

}  // namespace buoy
