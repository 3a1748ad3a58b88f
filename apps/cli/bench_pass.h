// What buoy bench measures: one sequence through a model, plain or recorded, its time and memory.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "buoy/model/model.h"

namespace buoy {

// What a pass is asked to record. Columns: column sums of all rows; everything: row statistics of the last 32
// and means of queries against keys too.
enum class BenchRecord { kNothing, kColumns, kEverything };

// One sequence of random tokens with the rows that are read: the last ones.
struct BenchPass {
  std::vector<TokenId> ids;
  std::vector<Index> rows;

  // `read` rows; 0: all.
  BenchPass(const ModelConfig& config, Index tokens, Index read);
  void run(const Model& model, BenchRecord record) const;
};

// Memory above what is held now. A card counts its own; elsewhere it is what the system holds for the
// process.
class BenchMemory {
 public:
  // Runs a pass of one token first, so that what is made once is not counted.
  explicit BenchMemory(const Model& model);
  // The most while the pass runs once more; nothing where the system does not tell.
  std::optional<Index> peak_of(const BenchPass& pass, BenchRecord record);

 private:
  const Model& model_;
  Index held_ = 0;
};

struct BenchTime {
  double median = 0, best = 0;  // seconds
  std::optional<Index> peak;    // bytes
};

// Passes in turn, two of them to warm up. Throws Cancelled on Ctrl-C.
BenchTime time_passes(const Model& model, const BenchPass& pass, BenchRecord record, int repeat,
                      BenchMemory& memory);

// Multiplications and additions of a pass, two each. Queries that do not see all keys see about half of them.
struct BenchOperations {
  double products = 0;   // of the weights that a token goes through
  double attention = 0;  // of queries, keys and values
  double all() const { return products + attention; }
};
BenchOperations count_operations(const ModelConfig& config, Index tokens, Index read);

// All parameters, and those that one token goes through.
std::pair<double, double> count_parameters(const ModelConfig& config);

// The rate of one large square product on this device: what a pass of products alone could reach.
double product_rate(Backend& backend);

}  // namespace buoy
