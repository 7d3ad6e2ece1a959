#include "cpu/movement/index_buckets.hpp"
#include "cpu/reduce/numbers_in_order.hpp"
#include "cpu/reduce/typed_arrays.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Propagation blocking: group indices and values by bucket of the output, then let one thread reduce each bucket. The
// grouping is stable, so every slot takes its values in the order of their positions, as in the reference.
plan::planned plan_split(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  constexpr std::uint64_t buckets_per_thread = 8;
  const std::uint64_t share = problem.indexed_count / (buckets_per_thread * machine.parallelism);
  plan::planned plan = plan_buckets(
      problem, machine, std::min(cached_bucket_records(problem, machine), std::max<std::uint64_t>(1, share)),
      problem.record_bytes);
  if (!plan.applicable()) return plan;
  const std::uint64_t pairs = problem.count * (sizeof(std::uint32_t) + problem.record_bytes);
  const std::uint64_t touched = std::min(problem.indexed_bytes(), problem.count * line_bytes);
  price_bucketed(problem, machine, 2 * problem.index_bytes() + problem.sequential_bytes() + 2 * pairs + 2 * touched,
                 problem.record_bytes, true, plan);
  // One bucket holds the slots that have most of the values, and one thread reduces it.
  const double digits_waited = digits_of_number + digits_of_skew(problem);
  if (problem.pattern.shape == access_pattern::kind::skewed)
    plan.add("waiting for sums", shared_digit_seconds(problem.count, digits_waited, machine, 1));
  return plan;
}

template <class T, class Buckets, class Op>
void reduce_bucket(const Buckets& buckets, std::uint64_t bucket, T* out, Op op) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = buckets.local_indices();
  const T* const values = buckets.template values<T>();
  T* const base = out + buckets.first_record(bucket);
  const std::uint64_t end = buckets.entries_begin(bucket + 1);
  std::uint64_t i = buckets.entries_begin(bucket);
  for (; i + distance < end; ++i) {
    __builtin_prefetch(base + local[i + distance], 1);
    base[local[i]] = op(base[local[i]], values[i]);
  }
  for (; i < end; ++i) base[local[i]] = op(base[local[i]], values[i]);
}

void run_split(const context& ctx, const scatter_reduce_problem& problem, const plan::planned& plan,
               const scatter_reduce_buffers& buffers, std::byte* scratch) {
  const auto decided = plan.decided.get<bucket_decision>();
  with_arrays_and_op(problem, buffers, [&](const auto* index, const auto* in, auto* out, auto op) {
    using T = std::remove_pointer_t<decltype(out)>;
    index_buckets buckets(problem, decided, index, scratch);
    run_checked(ctx, problem, buffers.index, scatter_reduce_wording, [&] {
      const first_bad bad = buckets.template reorder<T>([in](std::uint64_t i) { return in[i]; });
      for_each_task(buckets.bucket_count(), buckets.parts(),
                    [&](std::uint64_t bucket) { reduce_bucket(buckets, bucket, out, op); });
      return bad;
    });
  });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_split{"cpu.split", backend_kind::cpu, plan_split,
                                                                   run_split};

}  // namespace sheaf::cpu
