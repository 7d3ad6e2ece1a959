#include "core/scratch_offsets.hpp"
#include "cuda/movement/copy/records.cuh"
#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/reduce/terms.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "cuda/split/passes.hpp"

// The variant cuda.sorted: a stable LSD radix sort of (slot, value) pairs, by CUB or by the passes of splits, whichever
// the plan finds faster, then a segmented reduction. The order of additions depends on positions alone, so sums of
// floats are deterministic; and each slot is written once, which pays where slots are out of cache.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// The sort. A bad index counts as one more slot, which sorts behind all others.
pair_passes sort_passes(const scatter_reduce_problem& problem) {
  pair_passes passes;
  const std::uint64_t slots = std::min<std::uint64_t>(problem.indexed_count + 1, std::uint64_t{1} << 32);
  passes.key_bits = std::max(1U, category_bits(slots));
  passes.value_bytes = static_cast<std::uint32_t>(bytes(problem.type));
  passes.count = problem.count;
  passes.writes_keys = true;
  return passes;
}

/// Indices of 8 bytes are narrowed to slots of 32 bits first, because the passes take keys of at most 32 bits.
bool narrows_index(const scatter_reduce_problem& p) { return bytes(p.index) == 8; }

/// The same sort by CUB, by the bits that slots have. Bad indices become numbers of ones, so that they lie among those
/// of the last slot or behind them.
cub_sort_shape cub_sort_of(const scatter_reduce_problem& problem) {
  cub_sort_shape sort;
  sort.count = problem.count;
  sort.value_bytes = static_cast<std::uint32_t>(bytes(problem.type));
  sort.end_bit = std::max(1U, category_bits(std::max<std::uint64_t>(1, problem.indexed_count)));
  sort.encodes_keys = !narrows_index(problem);
  return sort;
}

/// The arrays of a call.
struct sorted_arrays {
  std::byte* sort;
  std::byte* values;        ///< sorted
  std::uint32_t* narrowed;  ///< indices of 8 bytes
  std::uint32_t* sorted;    ///< slots, of CUB
  std::byte* carries;       ///< of the segmented reduction
  std::uint32_t* has_bad;   ///< whether there are bad indices

  sorted_arrays(const scatter_reduce_problem& problem, bool by_cub, core::scratch_arrays& arrays)
      : sort(arrays.take<std::byte>(by_cub ? cub_scratch_bytes(cub_sort_of(problem))
                                           : pair_scratch_bytes(sort_passes(problem)))),
        values(arrays.take<std::byte>(problem.count * bytes(problem.type))),
        narrowed(arrays.take<std::uint32_t>(narrows_index(problem) ? problem.count : 0)),
        sorted(arrays.take<std::uint32_t>(by_cub ? problem.count : 0)),
        carries(arrays.take<std::byte>(segment_scratch_bytes(problem.count, bytes(problem.type)))),
        has_bad(arrays.take<std::uint32_t>(by_cub ? 1 : 0)) {}
};

/// What a plan decides for run.
struct sorted_decision {
  bool by_cub;
};

/// A sort by CUB, as a plan, rejected where CUB cannot do it.
plan::planned cub_sort_plan(const scatter_reduce_problem& problem, const machine& machine) {
  const cub_sort_shape sort = cub_sort_of(problem);
  if (const char* reason = cub_rejection(sort)) return plan::rejected(reason);
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + 3 * machine.step_seconds);
  if (!narrows_index(problem) && problem.bounds == bounds::check) plan.add("report", 2 * machine.step_seconds);
  add_cub_cost(plan, sort, machine);
  return plan;
}

plan::planned plan_sorted(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (!problem.sums()) return plan::rejected("only adds and subtracts");
  if (problem.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots exceed 32 bits");
  plan::planned plan = pair_passes_cost(sort_passes(problem), machine);
  plan::planned by_cub = cub_sort_plan(problem, machine);
  const bool cub_sorts = by_cub.applicable() && by_cub.seconds < plan.seconds;
  if (cub_sorts) plan = std::move(by_cub);
  const auto count = static_cast<double>(problem.count);
  const auto value = static_cast<double>(bytes(problem.type));
  if (narrows_index(problem)) plan.add("slots", count * 12 / machine.copy_bytes_per_second);
  // Where few of many slots are written, each lies alone in its memory fetch.
  const auto slots = static_cast<double>(std::max<std::uint64_t>(1, std::min(problem.count, problem.indexed_count)));
  const double bytes_per_slot = static_cast<double>(problem.indexed_bytes()) / slots;
  const double fetched_bytes = std::clamp(bytes_per_slot, value, static_cast<double>(machine.fetch_bytes));
  plan.add("sums", (count * (4 + value) + slots * 2 * fetched_bytes) / machine.copy_bytes_per_second);
  plan.decided.set(sorted_decision{cub_sorts});
  plan.scratch_bytes = core::bytes_of<sorted_arrays>(problem, cub_sorts);
  return plan;
}

constexpr int slots_per_thread = 4;

/// slot[i] = index[i]; a bad index becomes bad_slot and is reported.
__global__ void __launch_bounds__(block_threads)
    narrow_indices(const __grid_constant__ move_arguments args, std::uint32_t bad_slot, std::uint32_t* slot) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * slots_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < slots_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= args.count) continue;
    const std::uint64_t index = index_at(args, i);
    slot[i] = check_index(args, i, index) ? static_cast<std::uint32_t>(index) : bad_slot;
  }
}

/// Reports the first bad index, if there is any.
__global__ void __launch_bounds__(block_threads)
    report_bad_indices(const __grid_constant__ move_arguments a, const std::uint32_t* has_bad) {
  if (*has_bad == 0) return;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < a.count; i += step) {
    check_index(a, i, index_at(a, i));
  }
}

/// One call.
class sorted_call {
 public:
  sorted_call(const context& ctx, const scatter_reduce_problem& problem, bool by_cub,
              const scatter_reduce_buffers& buffers, std::byte* scratch)
      : ctx_(ctx),
        problem_(problem),
        by_cub_(by_cub),
        buffers_(buffers),
        at_(core::arrays_in<sorted_arrays>(scratch, problem, by_cub)),
        slots_(static_cast<std::uint32_t>(problem.indexed_count)) {}

  template <class T>
  void run() const {
    if (narrows_index(problem_)) {
      launch(ctx_, narrow_indices, ceil_div(problem_.count, block_threads * slots_per_thread), indices(),
             by_cub_ ? ~std::uint32_t{0} : slots_, at_.narrowed);
    }
    const std::uint32_t* const slots = by_cub_ ? sort_by_cub() : sort_by_passes();
    sorted_pairs<T> list{slots, reinterpret_cast<const T*>(at_.values), problem_.count,
                         problem_.op == reduction::subtract};
    // The sums see bad indices among the sorted slots, so that the list is read again only where there are some.
    const bool reports = by_cub_ && !narrows_index(problem_) && problem_.bounds == bounds::check;
    if (reports) {
      list.has_bad = at_.has_bad;
      require(cudaMemsetAsync(list.has_bad, 0, sizeof *list.has_bad, ctx_.stream()), ctx_);
    }
    add_segmented_sums<T>(ctx_, list, slots_, static_cast<T*>(buffers_.out.data), at_.carries);
    if (!reports) return;
    constexpr std::uint64_t blocks_each = 8;
    const std::uint64_t most_blocks = blocks_each * static_cast<std::uint64_t>(state_of(ctx_).multiprocessors());
    launch(ctx_, report_bad_indices, std::min(ceil_div(problem_.count, block_threads), most_blocks), indices(),
           static_cast<const std::uint32_t*>(list.has_bad));
  }

 private:
  move_arguments indices() const {
    const index_guard guard = state_of(ctx_).guard(scatter_reduce_wording, problem_.index, problem_.indexed_count);
    return arguments_of(problem_, nullptr, nullptr, buffers_.index, guard);
  }

  const std::uint32_t* sort_by_passes() const {
    pair_passes passes = sort_passes(problem_);
    passes.values = static_cast<const std::byte*>(buffers_.in.data);
    passes.out = at_.values;
    passes.keys = {.data = static_cast<const std::byte*>(buffers_.index.data),
                   .stride = sizeof(std::uint32_t),
                   .word_bytes = sizeof(std::uint32_t),
                   .bits = {0, 32},
                   .categories = problem_.indexed_count,
                   .may_be_bad = true,
                   .wording = &scatter_reduce_wording,
                   .type = problem_.index};
    if (narrows_index(problem_)) {
      passes.keys.data = reinterpret_cast<const std::byte*>(at_.narrowed);
      passes.keys.bits = {0, passes.key_bits};
      passes.keys.may_be_bad = false;
    }
    return run_pair_passes(ctx_, passes, at_.sort);
  }

  const std::uint32_t* sort_by_cub() const {
    const cub_sort_shape sort = cub_sort_of(problem_);
    cub_key_encoding encoding;
    // The limit says which numbers of 32 bits are negative.
    const std::uint64_t good = std::min(problem_.indexed_count, problem_.index_limit());
    encoding.most = good == 0 ? 0 : good - 1;
    const void* const slots = narrows_index(problem_) ? at_.narrowed : buffers_.index.data;
    run_cub_sort(ctx_, sort, encoding, {slots, at_.sorted, buffers_.in.data, at_.values}, at_.sort);
    return at_.sorted;
  }

  const context& ctx_;
  const scatter_reduce_problem& problem_;
  bool by_cub_;
  const scatter_reduce_buffers& buffers_;
  sorted_arrays at_;
  std::uint32_t slots_;  ///< also the least number that is not a slot
};

void run_sorted(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
                const scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const sorted_call call(ctx, p, plan.decided.get<sorted_decision>().by_cub, b, scratch);
  with_term(p.type, [&](auto term) { call.run<decltype(term)>(); });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_sorted{"cuda.sorted", backend_kind::cuda, plan_sorted,
                                                                    run_sorted};

}  // namespace sheaf::cuda
