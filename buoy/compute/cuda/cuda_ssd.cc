#include "buoy/compute/cuda/cuda_ssd.h"

#include <algorithm>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/cuda_attention.h"

namespace buoy::cuda {
namespace {

// What a layer is to run. Norms and means over heads are attention's own.
struct Work {
  SsdView view;
  AttentionView as_attention;
  bool columns, magnitudes, rows, row_means, norms;
};

void run_work(const Work& work, cudaStream_t stream) {
  run_ssd_scan(work.view, stream);
  if (work.norms) {
    run_value_norms(work.as_attention, stream);
    run_output_norms(work.as_attention, stream);
  }
  if (work.columns) run_ssd_columns(work.view, stream);
  if (work.magnitudes) run_ssd_magnitudes(work.view, stream);
  if (work.rows) run_ssd_rows(work.view, stream);
  if (work.row_means) run_row_means(work.as_attention, stream);
}

void run_rows(const SsdView& view, cudaStream_t stream) {
  run_ssd_rows(view, stream);
}

// Which sum of columns each row adds to: its group, where columns of energies are asked for; and a slot of
// their own for the others, where means are.
struct Slots {
  std::vector<std::int8_t> of_rows;
  int groups = 0, count = 0;

  Slots(const AttentionRequest& want, Index N) : of_rows(static_cast<std::size_t>(N), -1) {
    if (!want.query_groups.empty() && want.implicit == Implicit::kEnergy) {
      of_rows = want.query_groups;
      groups = count = want.group_count;
    }
    if (!want.qk_means) return;
    std::ranges::replace_if(
        of_rows, [](std::int8_t slot) { return slot < 0; }, static_cast<std::int8_t>(count));
    ++count;
  }
};

}  // namespace

// One call on its way to the kernels.
struct CudaSsd::Plan {
  SsdView view{};
  std::vector<SsdSequence> sequences;
  std::vector<SequenceView> as_attention;
  Inputs inputs;
  Answers answers;
  std::vector<std::shared_ptr<Buffer>> scratch;
  bool columns = false, magnitudes = false, rows = false, row_means = false, norms = false;

  template <typename T>
  T* reserve(Pool& pool, Index count) {
    scratch.push_back(pool.allocate(count * Index{sizeof(T)}));
    return static_cast<T*>(scratch.back()->data());
  }
};

void CudaSsd::run(const SsdArgs& args, const Tensor& out) {
  check_ssd(args, out);
  post_.settle();
  Plan plan;
  SsdView& view = plan.view;
  view = {.count = static_cast<int>(args.sequences.size()),
          .H = static_cast<int>(args.H),
          .n = static_cast<int>(args.n),
          .P = static_cast<int>(args.P),
          .type = args.reads.dtype(),
          .gates_type = args.gates.dtype(),
          .dt_bias = args.weights.dt_bias.row<float>(0),
          .a_log = args.weights.a_log.row<float>(0),
          .skip = args.weights.skip.row<float>(0)};
  check(out.dtype() == view.type, "outputs have the queries' type");
  for (const AttentionSequence& s : args.sequences) {
    check(s.T <= INT32_MAX / 2, "a sequence's length fits an int");
    check(s.k.dtype() == view.type && s.v.dtype() == view.type, "keys and values have the queries' type");
    describe(args, s, out, plan);
    if (s.request != nullptr) {
      prepare_ssd_stats(args, s);
      plan.sequences.back().implicit = s.request->implicit;
      add_columns(args, s, plan);
      add_rows(args, s, plan);
      if (s.request->output_norms) add_norms(args, s, plan);
    }
    const SsdSequence& made = plan.sequences.back();
    view.most_rows = std::max(view.most_rows, made.N);
    view.most_chunks = std::max(view.most_chunks, made.chunks);
    view.most_asked = std::max(view.most_asked, made.R);
    view.most_slots = std::max(view.most_slots, made.slot_count);
    view.most_groups = std::max(view.most_groups, made.group_count);
  }
  if (view.most_rows == 0) return;
  place(plan);
  view.most_asked = round_up(view.most_asked, kRowStep);
  view.sequences = queue_->send(std::span<const SsdSequence>(plan.sequences));
  const AttentionView as_attention{
      .sequences = queue_->send(std::span<const SequenceView>(plan.as_attention)),
      .count = view.count,
      .H = view.H,
      .Hkv = view.H,
      .D = view.P,
      .some_full = 1,
      .type = view.type,
      .most_keys = view.most_rows,
      .most_rows = view.most_asked};
  queue_->add(run_work, {.view = view,
                         .as_attention = as_attention,
                         .columns = plan.columns,
                         .magnitudes = plan.magnitudes,
                         .rows = plan.rows,
                         .row_means = plan.row_means,
                         .norms = plan.norms});
  for (const AttentionSequence& s : args.sequences) {
    if (s.request == nullptr) continue;
    const auto number = static_cast<std::size_t>(&s - args.sequences.data());
    if (s.request->matrix) fetch_matrix(view, s, plan.sequences[number]);
    if (s.request->states) fetch_states(args.as_attention(), s, pool_, *queue_);
  }
  post_.send(std::move(plan.answers));
  if (args.delivery == Delivery::kNow) post_.settle();
}

// Everything but what is measured.
void CudaSsd::describe(const SsdArgs& args, const AttentionSequence& s, const Tensor& out, Plan& plan) {
  const Index H = args.H, N = s.T, chunks = (N + kSsdChunk - 1) / kSsdChunk;
  const Tensor reads = args.reads.row_range(s.first_row, N), gates = args.gates.row_range(s.first_row, N),
               to = out.row_range(s.first_row, N);
  SsdSequence made{.reads = address(reads),
                   .keys = address(s.k),
                   .values = address(s.v),
                   .gates = address(gates),
                   .out = address(to),
                   .reads_stride = reads.stride(),
                   .keys_stride = s.k.stride(),
                   .values_stride = s.v.stride(),
                   .gates_stride = gates.stride(),
                   .out_stride = to.stride(),
                   .N = static_cast<int>(N),
                   .chunks = static_cast<int>(chunks)};
  if (!s.key_bias.empty()) {
    made.key_bias = plan.inputs.add(s.key_bias);
    made.bias_stride = std::ssize(s.key_bias) == N ? 0 : made.N;
  }
  if (!s.head_gain.empty()) made.head_gain = plan.inputs.add(s.head_gain);
  for (SsdLanes& lane : made.lanes) {
    lane = {.step = plan.reserve<float>(pool_, H * N), .reach = plan.reserve<double>(pool_, H * (N + 1))};
  }
  made.diagonal = plan.reserve<float>(pool_, H * N);
  made.states = plan.reserve<float>(pool_, 2 * H * chunks * args.n * args.P);
  made.carries = plan.reserve<double>(pool_, 2 * H * chunks);
  plan.sequences.push_back(made);
  plan.as_attention.push_back({});
}

void CudaSsd::add_columns(const SsdArgs& args, const AttentionSequence& s, Plan& plan) {
  const AttentionRequest& want = *s.request;
  AttentionStats& stats = *s.stats;
  SsdSequence& made = plan.sequences.back();
  const Index H = args.H, N = s.T;
  if (!want.query_groups.empty()) made.column_sums = plan.answers.add(stats.column_sums);
  if (!want.query_groups.empty() && want.implicit == Implicit::kMagnitude) {
    made.magnitudes = plan.reserve<double>(pool_, H * N);
    made.query_groups = plan.inputs.add(std::span<const std::int8_t>(want.query_groups));
    made.group_count = want.group_count;
    plan.magnitudes = true;
  }
  const Slots slots(want, N);
  if (slots.count == 0) return;
  made.slots = plan.inputs.add(std::span<const std::int8_t>(slots.of_rows));
  made.slot_count = slots.count;
  made.slot_groups = slots.groups;
  made.energy = plan.reserve<double>(pool_, H * N);
  made.matrices = plan.reserve<double>(pool_, 2 * H * made.chunks * args.n * args.n);
  plan.columns = true;
  if (!want.qk_means) return;
  made.received = plan.reserve<double>(pool_, H * N);
  made.reached = plan.reserve<double>(pool_, H * N);
  made.queries = plan.reserve<double>(pool_, H);
  made.score_means = plan.answers.add(stats.score_means);
  made.cosine_means = plan.answers.add(stats.cosine_means);
  made.norm_means = plan.answers.add(stats.norm_means);
  made.recency_means = plan.answers.add(stats.recency_means);
  made.key_norms = plan.answers.add(stats.key_norms);
}

void CudaSsd::add_rows(const SsdArgs& args, const AttentionSequence& s, Plan& plan) {
  const AttentionRequest& want = *s.request;
  AttentionStats& stats = *s.stats;
  SsdSequence& made = plan.sequences.back();
  if (want.rows.empty()) return;
  const std::vector<int> rows(want.rows.begin(), want.rows.end());
  made.rows = plan.inputs.add(std::span<const int>(rows));
  made.R = static_cast<int>(rows.size());
  made.argmax = plan.answers.add(stats.argmax);
  made.max_weight = plan.answers.add(stats.max_weight);
  made.entropy = plan.answers.add(stats.entropy);
  plan.rows = true;
  if (!want.key_groups.empty()) {
    made.key_groups = plan.inputs.add(std::span<const std::int8_t>(want.key_groups));
    made.key_group_count = want.key_group_count;
    made.key_mass = plan.answers.add(stats.key_mass);
  }
  if (!want.row_means) return;
  const Index room = round_up(made.R, kRowStep) * s.T;
  made.matrix = plan.reserve<float>(pool_, args.H * room);
  SequenceView& view = plan.as_attention.back();
  view.N = made.N;
  view.R = made.R;
  view.matrix = made.matrix;
  view.row_means = plan.answers.add(stats.row_means, room);
  plan.row_means = true;
}

void CudaSsd::add_norms(const SsdArgs& args, const AttentionSequence& s, Plan& plan) {
  AttentionStats& stats = *s.stats;
  SsdSequence& made = plan.sequences.back();
  SequenceView& view = plan.as_attention.back();
  made.output_norms = plan.reserve<float>(pool_, args.H * s.T);
  view.v = made.values;
  view.v_stride = made.values_stride;
  view.T = view.N = made.N;
  view.output_norms = made.output_norms;
  view.mean_output_norm = plan.answers.add(stats.mean_output_norm);
  view.uniform_norm = plan.answers.add(stats.uniform_norm);
  view.value_norms = plan.answers.add(stats.value_norms);
  plan.norms = true;
}

// Gives the plan's arrays their addresses: the inputs are sent, room for the answers is made.
void CudaSsd::place(Plan& plan) {
  const void* inputs = plan.inputs.send(*queue_);
  const void* outputs = post_.place(plan.answers);
  for (SsdSequence& s : plan.sequences) {
    relocate(s.key_bias, inputs);
    relocate(s.head_gain, inputs);
    relocate(s.slots, inputs);
    relocate(s.query_groups, inputs);
    relocate(s.rows, inputs);
    relocate(s.key_groups, inputs);
    relocate(s.argmax, outputs);
    for (float* SsdSequence::*field :
         {&SsdSequence::column_sums, &SsdSequence::score_means, &SsdSequence::cosine_means,
          &SsdSequence::norm_means, &SsdSequence::recency_means, &SsdSequence::key_norms,
          &SsdSequence::max_weight, &SsdSequence::entropy, &SsdSequence::key_mass}) {
      relocate(s.*field, outputs);
    }
  }
  for (SequenceView& view : plan.as_attention) {
    for (float* SequenceView::*field : {&SequenceView::row_means, &SequenceView::mean_output_norm,
                                        &SequenceView::uniform_norm, &SequenceView::value_norms}) {
      relocate(view.*field, outputs);
    }
  }
}

// The whole A of one sequence: the row kernel over all rows. Waits for it.
void CudaSsd::fetch_matrix(SsdView view, const AttentionSequence& s, SsdSequence whole) {
  std::vector<int> rows(static_cast<std::size_t>(s.T));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float>& matrix = s.stats->matrix;
  const std::size_t bytes = matrix.size() * sizeof(float);
  const std::shared_ptr<Buffer> on_card = pool_.allocate(static_cast<Index>(bytes));
  whole.rows = queue_->send(std::span<const int>(rows));
  whole.R = whole.N;
  whole.argmax = nullptr;
  whole.key_mass = nullptr;
  whole.matrix = static_cast<float*>(on_card->data());
  view.sequences = queue_->send(std::span<const SsdSequence>(&whole, 1));
  view.count = 1;
  view.most_asked = whole.R;
  queue_->add(run_rows, view);
  check_cuda(cudaMemcpyAsync(matrix.data(), on_card->data(), bytes, cudaMemcpyDeviceToHost, queue_->start()),
             "read a matrix");
  queue_->wait();
}

void CudaSsd::convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                       const Tensor& out) {
  check(x.rows() == out.rows() && x.cols() == out.cols() && x.dtype() == out.dtype(), "convolved shapes fit");
  std::vector<Index> starts{0};
  Index longest = 0;
  for (const Index length : lengths) {
    starts.push_back(starts.back() + length);
    longest = std::max(longest, length);
  }
  check(starts.back() == x.rows(), "convolved sequences are all rows");
  if (longest == 0 || x.cols() == 0) return;
  queue_->add(convolve_rows, {.x = address(x),
                              .out = address(out),
                              .type = x.dtype(),
                              .x_stride = x.stride(),
                              .out_stride = out.stride(),
                              .cols = x.cols(),
                              .K = convolution.weight.rows(),
                              .weight = convolution.weight.row<float>(0),
                              .bias = convolution.bias.row<float>(0),
                              .starts = queue_->send(std::span<const Index>(starts)),
                              .count = std::ssize(lengths),
                              .longest = longest});
}

}  // namespace buoy::cuda
