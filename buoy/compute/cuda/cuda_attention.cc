#include "buoy/compute/cuda/cuda_attention.h"

#include <algorithm>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/hopper/tensor_map.h"
#include "buoy/compute/cuda/query_order.h"

namespace buoy::cuda {
namespace {

constexpr int kBlockStep = 8;  // blocks of queries are rounded up to this
constexpr Index kMostBlock = Index{1} << 30;

// The kernels that score queries against keys, by what the card and the head size allow.
struct Passes {
  void (*attention)(const AttentionView&, cudaStream_t);
  void (*columns)(const AttentionView&, cudaStream_t);
  void (*rows)(const AttentionView&, cudaStream_t);
};
constexpr Passes kPlain{run_plain_attention, run_plain_columns, run_plain_rows};
constexpr Passes kMma{run_mma_attention, run_mma_columns, run_mma_rows};
constexpr Passes kHopper{run_hopper_attention, run_hopper_columns, run_mma_rows};

const Passes& passes_for(const AttentionView& view, const Device& device) {
  if (view.type != DType::kBf16 || (view.D != 32 && view.D != 64 && view.D != 128)) return kPlain;
  const bool hopper = device.major == 9 && device.minor == 0 && view.D != 32;
  return hopper ? kHopper : kMma;
}

// What a layer's attention is to run.
struct Work {
  AttentionView view;
  const Passes* passes;
  Clearing answers;
  bool columns, means, norms, rows, row_means;
  // Where something is measured: the small kernels run beside the large ones, those that wait for pass 1
  // apart from those that do not.
  cudaStream_t aside, after;
  cudaEvent_t begun, prepared, attended, meant, measured;

  bool measures() const { return columns || means || norms || rows; }
};

void run_work(const Work& work, cudaStream_t stream) {
  const AttentionView& view = work.view;
  if (!work.measures()) return work.passes->attention(view, stream);
  const auto order = [](cudaEvent_t event, cudaStream_t first, cudaStream_t then) {
    check_cuda(cudaEventRecord(event, first), "record an event");
    check_cuda(cudaStreamWaitEvent(then, event), "order streams");
  };
  order(work.begun, stream, work.aside);
  clear(work.answers, work.aside);
  if (work.columns) run_order(view, work.aside);
  check_cuda(cudaEventRecord(work.prepared, work.aside), "record an event");
  if (work.means) run_means(view, work.aside);        // of queries and keys alone
  if (work.norms) run_value_norms(view, work.aside);  // of values alone
  work.passes->attention(view, stream);
  check_cuda(cudaStreamWaitEvent(stream, work.prepared), "order streams");
  order(work.attended, stream, work.after);
  if (work.rows) work.passes->rows(view, work.after);
  if (work.row_means) run_row_means(view, work.after);
  if (work.norms) run_output_norms(view, work.after);
  if (work.columns) work.passes->columns(view, stream);
  order(work.meant, work.aside, stream);
  order(work.measured, work.after, stream);
}

std::vector<int> as_ints(std::span<const Index> values) {
  return {values.begin(), values.end()};
}

}  // namespace

// One call on its way to the kernels.
struct CudaAttention::Plan {
  std::vector<SequenceView> views;
  Inputs inputs;
  Answers answers;
  Clearing clearing{};
  std::vector<std::shared_ptr<Buffer>> scratch;

  float* make(Pool& pool, Index floats) {
    scratch.push_back(pool.allocate(floats * Index{sizeof(float)}));
    return static_cast<float*>(scratch.back()->data());
  }
  bool columns = false, means = false, norms = false, rows = false, row_means = false;
};

void CudaAttention::run(const AttentionArgs& args, const Tensor& out) {
  check_attention(args, out);
  post_.settle();
  Plan plan;
  AttentionView view{.count = static_cast<int>(args.sequences.size()),
                     .H = static_cast<int>(args.H),
                     .Hkv = static_cast<int>(args.Hkv),
                     .D = static_cast<int>(args.D),
                     .factor = args.factor,
                     .type = args.q.dtype()};
  check(out.dtype() == args.q.dtype(), "outputs have the queries' type");
  check(args.D <= 256, "heads have at most 256 dimensions");
  for (const AttentionSequence& s : args.sequences) {
    check(s.T <= INT32_MAX && s.k.rows() <= INT32_MAX, "a sequence's length fits an int");
    plan.views.push_back(describe(args, s, out, plan));
    if (&passes_for(view, device_) == &kHopper && s.T > 0) add_maps(args, s, plan);
    if (s.request != nullptr) add_statistics(args, s, view, plan);
    const SequenceView& made = plan.views.back();
    (made.block == 0 ? view.some_full : view.some_masked) = 1;
    view.most_queries = std::max(view.most_queries, made.T);
    view.most_keys = std::max(view.most_keys, made.N);
    view.most_rows = std::max(view.most_rows, made.R);
    view.most_blocks = std::max(view.most_blocks, made.block_count);
    view.most_owners =
        std::max(view.most_owners, round_up(made.N, kOwnedKeys) / kOwnedKeys * made.stretch_count);
  }
  if (view.most_queries == 0) return;
  place(plan);
  // Steps of a generation differ a little in these; grids a little larger make them the same work.
  view.most_keys = round_up(view.most_keys, 256);
  view.most_rows = round_up(view.most_rows, kRowStep);
  view.most_blocks = round_up(view.most_blocks, kBlockStep);
  view.most_owners = round_up(view.most_owners, kBlockStep);
  view.sequences = queue_->send(std::span<const SequenceView>(plan.views));
  run_passes(view, plan);
  for (const AttentionSequence& s : args.sequences) {
    if (s.request != nullptr && s.request->matrix) fetch_matrix(view, s, plan.views[number_of(args, s)]);
    if (s.request != nullptr && s.request->states) fetch_states(args, s, pool_, *queue_);
  }
  post_.send(std::move(plan.answers));
  if (args.delivery == Delivery::kNow) post_.settle();
}

std::size_t CudaAttention::number_of(const AttentionArgs& args, const AttentionSequence& s) {
  return static_cast<std::size_t>(&s - args.sequences.data());
}

// Everything but what is measured.
SequenceView CudaAttention::describe(const AttentionArgs& args, const AttentionSequence& s, const Tensor& out,
                                     Plan& plan) {
  SequenceView view{};
  const Tensor q = args.q.row_range(s.first_row, s.T), to = out.row_range(s.first_row, s.T);
  view.q = address(q);
  view.k = address(s.k);
  view.v = address(s.v);
  view.out = address(to);
  view.q_stride = q.stride();
  view.k_stride = s.k.stride();
  view.v_stride = s.v.stride();
  view.out_stride = to.stride();
  view.T = static_cast<int>(s.T);
  view.N = static_cast<int>(s.k.rows());
  view.first_position = static_cast<int>(s.first_position);
  const Mask mask = mask_of(args, s);
  check(mask.block() <= kMostBlock, "a block's size and a position fit an int together");
  view.block = static_cast<int>(mask.block());
  view.offset = static_cast<int>(mask.offset());
  if (!s.key_bias.empty()) {
    view.key_bias = plan.inputs.add(s.key_bias);
    view.bias_stride = std::ssize(s.key_bias) == s.k.rows() ? 0 : view.N;
  }
  if (!s.head_gain.empty()) view.head_gain = plan.inputs.add(s.head_gain);
  return view;
}

void CudaAttention::add_maps(const AttentionArgs& args, const AttentionSequence& s, Plan& plan) {
  const Tensor q = args.q.row_range(s.first_row, s.T);
  const SequenceMaps maps{.q = describe_for_copies(q, kTileRows),
                          .k = describe_for_copies(s.k, kTileRows),
                          .v = describe_for_copies(s.v, kTileRows),
                          .query_block = describe_for_copies(q, kQueryBlock),
                          .query = describe_for_copies(q, 1)};
  plan.views.back().maps = plan.inputs.add(std::span<const SequenceMaps>(&maps, 1));
}

// Several owners for the same keys, where one for all queries would leave the card idle.
void CudaAttention::add_stretches(const AttentionArgs& args, const AttentionSequence& s,
                                  std::vector<GroupBlock>& blocks, Plan& plan) {
  SequenceView& view = plan.views.back();
  const Index tiles = round_up(view.N, kOwnedKeys) / kOwnedKeys;
  const Stretches stretches(blocks, s.request->group_count, tiles * args.H, view.block > 0);
  view.stretches = plan.inputs.add(std::span<const Stretch>(stretches.all));
  view.stretch_count = static_cast<int>(stretches.all.size());
  view.arrived = plan.answers.block.reserve<int>(args.H * tiles);
  if (stretches.further.empty()) return;
  view.further = plan.inputs.add(std::span<const FurtherRow>(stretches.further));
  view.further_count = static_cast<int>(stretches.further.size());
  view.further_sums = plan.make(pool_, args.H * view.further_count * view.N);
}

void CudaAttention::add_statistics(const AttentionArgs& args, const AttentionSequence& s,
                                   const AttentionView& batch, Plan& plan) {
  prepare_stats(args, s);
  SequenceView& view = plan.views.back();
  const AttentionRequest& want = *s.request;
  AttentionStats& stats = *s.stats;
  const auto scratch = [&](Index floats) { return plan.make(pool_, floats); };
  view.lse = scratch(args.H * s.T);
  if (!want.query_groups.empty()) {
    QueryOrder groups(want);
    if (&passes_for(batch, device_) == &kHopper) add_stretches(args, s, groups.blocks, plan);
    view.order = plan.inputs.add(std::span<const int>(groups.order));
    view.place = plan.inputs.add(std::span<const int>(groups.place));
    view.group_blocks = plan.inputs.add(std::span<const GroupBlock>(groups.blocks));
    view.block_count = static_cast<int>(groups.blocks.size());
    view.group_count = want.group_count;
    const Index places = Index{round_up(view.block_count, kBlockStep)} * kQueryBlock;
    view.ordered_lse = scratch(args.H * places);
    view.ordered_seen = reinterpret_cast<int*>(scratch(places));
    view.column_sums = plan.answers.add(stats.column_sums);
    plan.columns = true;
  }
  if (!want.rows.empty()) {
    view.rows = plan.inputs.add(std::span<const int>(as_ints(want.rows)));
    view.R = static_cast<int>(want.rows.size());
    plan.rows = true;
    view.argmax = plan.answers.add(stats.argmax);
    view.max_weight = plan.answers.add(stats.max_weight);
    view.entropy = plan.answers.add(stats.entropy);
    if (want.row_means) {
      const Index room = round_up(view.R, kRowStep) * s.k.rows();
      view.matrix = scratch(args.H * room);
      view.row_means = plan.answers.add(stats.row_means, room);
      plan.row_means = true;
    }
    if (!want.key_groups.empty()) {
      view.key_groups = plan.inputs.add(std::span<const std::int8_t>(want.key_groups));
      view.key_group_count = want.key_group_count;
      view.key_mass = plan.answers.add(stats.key_mass);
    }
  }
  if (want.qk_means) {
    view.score_means = plan.answers.add(stats.score_means);
    view.cosine_means = plan.answers.add(stats.cosine_means);
    view.norm_means = plan.answers.add(stats.norm_means);
    view.key_norms = plan.answers.add(stats.key_norms);
    view.means_scratch = scratch(means_scratch(batch, view));
    plan.means = true;
  }
  if (want.output_norms) {
    view.output_norms = scratch(args.H * s.T);
    view.mean_output_norm = plan.answers.add(stats.mean_output_norm);
    view.uniform_norm = plan.answers.add(stats.uniform_norm);
    if (view.block > 0) view.uniform_scratch = scratch(uniform_scratch(batch, view));
    view.value_norms = plan.answers.add(stats.value_norms);
    plan.norms = true;
  }
}

// Gives the plan's arrays their addresses: the inputs are sent, room for the answers is made.
void CudaAttention::place(Plan& plan) {
  const void* inputs = plan.inputs.send(*queue_);
  const void* outputs = post_.place(plan.answers, plan.clearing);
  for (SequenceView& view : plan.views) {
    relocate(view.maps, inputs);
    relocate(view.key_bias, inputs);
    relocate(view.head_gain, inputs);
    relocate(view.order, inputs);
    relocate(view.place, inputs);
    relocate(view.group_blocks, inputs);
    relocate(view.stretches, inputs);
    relocate(view.further, inputs);
    relocate(view.rows, inputs);
    relocate(view.key_groups, inputs);
    relocate(view.argmax, outputs);
    relocate(view.arrived, outputs);
    for (float* SequenceView::*field :
         {&SequenceView::column_sums, &SequenceView::max_weight, &SequenceView::entropy,
          &SequenceView::key_mass, &SequenceView::row_means, &SequenceView::score_means,
          &SequenceView::cosine_means, &SequenceView::norm_means, &SequenceView::key_norms,
          &SequenceView::value_norms, &SequenceView::mean_output_norm, &SequenceView::uniform_norm}) {
      relocate(view.*field, outputs);
    }
  }
}

void CudaAttention::run_passes(const AttentionView& view, const Plan& plan) {
  queue_->add(run_work, {.view = view,
                         .passes = &passes_for(view, device_),
                         .answers = plan.clearing,
                         .columns = plan.columns,
                         .means = plan.means,
                         .norms = plan.norms,
                         .rows = plan.rows,
                         .row_means = plan.row_means,
                         .aside = aside_,
                         .after = after_,
                         .begun = begun_,
                         .prepared = prepared_,
                         .attended = attended_,
                         .meant = meant_,
                         .measured = measured_});
}

// The whole A of one sequence: the row kernel over all rows. Waits for it.
void CudaAttention::fetch_matrix(AttentionView view, const AttentionSequence& s, SequenceView whole) {
  std::vector<int> rows(static_cast<std::size_t>(s.T));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float>& matrix = s.stats->matrix;
  const auto bytes = matrix.size() * sizeof(float);
  const std::shared_ptr<Buffer> on_card = pool_.allocate(static_cast<Index>(bytes));
  whole.rows = queue_->send(std::span<const int>(rows));
  whole.R = whole.T;
  whole.argmax = nullptr;
  whole.key_mass = nullptr;
  whole.matrix = static_cast<float*>(on_card->data());
  view.sequences = queue_->send(std::span<const SequenceView>(&whole, 1));
  view.count = 1;
  view.most_rows = whole.R;
  queue_->add(passes_for(view, device_).rows, view);
  check_cuda(cudaMemcpyAsync(matrix.data(), on_card->data(), bytes, cudaMemcpyDeviceToHost, queue_->start()),
             "read a matrix");
  queue_->wait();
}

void fetch_states(const AttentionArgs& args, const AttentionSequence& s, Pool& pool, Queue& queue) {
  const auto fetch = [&](const Tensor& from, Index heads, std::vector<float>& to) {
    std::vector<float> rows(to.size());
    download(from, rows, pool, queue);
    auto next = to.begin();
    for (Index h = 0; h < heads; ++h) {
      for (Index r = 0; r < from.rows(); ++r) {
        next = std::copy_n(rows.begin() + r * from.cols() + h * args.D, args.D, next);
      }
    }
  };
  fetch(args.q.row_range(s.first_row, s.T), args.H, s.stats->query_states);
  fetch(s.k, args.Hkv, s.stats->key_states);
}

}  // namespace buoy::cuda
