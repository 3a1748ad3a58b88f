// Lines of work that come again run as graphs, and give what they gave.
#include "buoy/compute/cuda/queue.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/memory.h"
#include "buoy/compute/cuda/row_kernels.h"
#include "buoy/compute/testing.h"

namespace buoy::cuda {
namespace {

using namespace testing_support;

class QueueTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
    open_device(0);
    queue_ = std::make_shared<Queue>();
  }

  // Moves the rows along a chain of tensors, each time in the order `rows`.
  std::vector<float> chain(Pool& pool, const Tensor& from, std::span<const Index> rows, int length) {
    Tensor x = from;
    for (int i = 0; i < length; ++i) {
      const Tensor next = pool.allocate(x.rows(), x.cols(), DType::kF32);
      queue_->add(convert_rows, {.from = address(x),
                                 .from_type = DType::kF32,
                                 .to = address(next),
                                 .to_type = DType::kF32,
                                 .rows = x.rows(),
                                 .cols = x.cols(),
                                 .source = queue_->send(rows)});
      x = next;
    }
    std::vector<float> values(static_cast<std::size_t>(x.rows() * x.cols()));
    download(x, values, pool, *queue_);
    return values;
  }

  std::shared_ptr<Queue> queue_;
};

TEST_F(QueueTest, ALineThatComesAgainIsReplayedWithNewContents) {
  Pool pool(queue_);
  const Tensor x = pool.allocate(3, 1, DType::kF32);
  const std::vector<float> start = {10, 20, 30};
  check_cuda(cudaMemcpyAsync(address(x), start.data(), 12, cudaMemcpyHostToDevice, queue_->start()), "test");
  queue_->wait();
  const std::vector<Index> rotate = {1, 2, 0}, swap = {1, 0, 2};
  EXPECT_EQ(chain(pool, x, rotate, 4), (std::vector<float>{20, 30, 10}));
  EXPECT_EQ(queue_->replays(), 0);
  EXPECT_EQ(chain(pool, x, rotate, 4), (std::vector<float>{20, 30, 10}));
  EXPECT_EQ(queue_->replays(), 1);
  EXPECT_EQ(chain(pool, x, swap, 4), start);  // the same work on other rows
  EXPECT_EQ(queue_->replays(), 2);
  EXPECT_EQ(chain(pool, x, swap, 5), (std::vector<float>{20, 10, 30}));  // other work
  EXPECT_EQ(queue_->replays(), 2);
}

TEST_F(QueueTest, ManyDifferentLinesAreForgottenAgain) {
  Pool pool(queue_);
  const Tensor x = pool.allocate(2, 2, DType::kF32);
  const std::vector<float> start = {1, 2, 3, 4};
  check_cuda(cudaMemcpyAsync(address(x), start.data(), 16, cudaMemcpyHostToDevice, queue_->start()), "test");
  queue_->wait();
  const std::vector<Index> keep = {0, 1};
  for (int round = 0; round < 2; ++round) {
    for (int length = 4; length < 304; ++length) EXPECT_EQ(chain(pool, x, keep, length), start);
  }
  EXPECT_EQ(queue_->replays(), 0);  // each was forgotten before it came again
}

TEST_F(QueueTest, WeightsMayGoWhileTheirWorkStandsInLine) {
  Pool pool(queue_);
  const Tensor out = pool.allocate(1, 1 << 20, DType::kF32);
  {
    const Tensor weights(allocate_for_good(4 << 20, queue_), DType::kF32, 1, 1 << 20);
    fill_random(address(weights), DType::kF32, 1 << 20, 3, queue_->start());
    queue_->add(convert_rows, {.from = address(weights),
                               .from_type = DType::kF32,
                               .to = address(out),
                               .to_type = DType::kF32,
                               .rows = 1,
                               .cols = 1 << 20});
  }
  const auto other = allocate_for_good(4 << 20);  // likely where the weights were
  check_cuda(cudaMemset(other->data(), 0, 4 << 20), "test");
  std::vector<float> values(1 << 20);
  download(out, values, pool, *queue_);
  double squares = 0;
  for (const float v : values) squares += double{v} * v;
  EXPECT_NEAR(squares / (1 << 20), 1.0 / 3, 0.01);
}

// A parcel's arrays keep their places, larger ones than a page included.
TEST_F(QueueTest, LargeArraysTravelToo) {
  Pool pool(queue_);
  const Tensor x = pool.allocate(200000, 1, DType::kF32);
  fill_random(address(x), DType::kF32, 200000, 3, queue_->start());
  std::vector<Index> reverse(200000);
  for (std::size_t i = 0; i < reverse.size(); ++i)
    reverse[i] = std::ssize(reverse) - 1 - static_cast<Index>(i);
  const std::vector<float> once = chain(pool, x, reverse, 1), twice = chain(pool, x, reverse, 6);
  EXPECT_EQ(std::vector<float>(once.rbegin(), once.rend()), twice);
}

}  // namespace
}  // namespace buoy::cuda
