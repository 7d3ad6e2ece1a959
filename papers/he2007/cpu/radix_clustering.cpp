#include <bit>

#include "cpu/threads/parts.hpp"
#include "papers/he2007/radix_sort.hpp"
#include "primitives/movement/gathers_by_order.hpp"

// cpu.radix_clustering: the CPU's sort of He et al. 2007 (section 4.1), by name only. The tuples are cut into as many
// parts as there are threads. A thread sorts a part by radix clustering (Boncz et al. 1999): passes of six bits from
// the highest on, each within the clusters of the pass before. The sorted parts are merged, two and two.
namespace sheaf::papers::he2007 {

std::uint64_t clustering_parts(std::uint64_t count, std::uint64_t threads) {
  return cpu::parts_worth(count * tuple_bytes, threads);
}

}  // namespace sheaf::papers::he2007

namespace sheaf::cpu {
namespace {

using namespace primitives;
using namespace papers::he2007;

/// Clusters of so few tuples are sorted by insertion.
constexpr std::uint64_t most_inserted_tuples = 16;

void sort_by_insertion(std::uint64_t* tuples, std::uint64_t count) {
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::uint64_t tuple = tuples[i];
    std::uint64_t at = i;
    for (; at > 0 && tuples[at - 1] > tuple; --at) tuples[at] = tuples[at - 1];
    tuples[at] = tuple;
  }
}

/// What a plan decides, and where its arrays begin in scratch.
struct clustering_layout {
  std::uint64_t parts;           ///< each sorted by a thread
  std::uint64_t order = 0;       ///< row numbers in order, by which rows are gathered
  std::uint64_t tuples[2] = {};  ///< of rows that are tuples one, beside the output
  std::uint64_t bytes = 0;       ///< of all

  clustering_layout(const sort_problem& p, std::uint64_t threads) : parts(clustering_parts(p.count, threads)) {
    core::scratch_offsets arrays;
    const bool is_packed = !rows_are_tuples(p);
    if (is_packed && p.product == sort_product::records) order = arrays.take(p.count * sizeof(std::uint32_t));
    tuples[0] = arrays.take(p.count * tuple_bytes);
    if (is_packed) tuples[1] = arrays.take(p.count * tuple_bytes);
    bytes = arrays.bytes();
  }

  /// Rounds in which the parts are merged two and two.
  std::uint32_t merge_rounds() const { return static_cast<std::uint32_t>(std::bit_width(parts - 1)); }
};

/// What is left to do with a cluster: `bits` of its tuples differ, and it is to end in the other array or where it is.
struct cluster {
  std::uint64_t* tuples;
  std::uint64_t* other;
  std::uint64_t count;
  std::uint32_t bits;
  bool ends_in_other;
};

/// Clusters by the highest bits that are left, and each cluster again: at most eleven calls deep.
void sort_cluster(const cluster& c) {
  if (c.count <= most_inserted_tuples || c.bits == 0) {
    if (c.bits != 0) sort_by_insertion(c.tuples, c.count);
    if (c.ends_in_other) std::copy_n(c.tuples, c.count, c.other);
    return;
  }
  const std::uint32_t bits = std::min(clustering_bits, c.bits);
  const std::uint32_t shift = c.bits - bits;
  constexpr std::uint64_t mask = (1U << clustering_bits) - 1;
  std::array<std::uint64_t, (1U << clustering_bits) + 1> begins{};
  const auto cluster_of = [shift, mask_of_pass = mask >> (clustering_bits - bits)](std::uint64_t tuple) {
    return tuple >> shift & mask_of_pass;
  };
  for (std::uint64_t i = 0; i < c.count; ++i) ++begins[cluster_of(c.tuples[i]) + 1];
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::array<std::uint64_t, 1U << clustering_bits> next;
  std::copy_n(begins.begin(), next.size(), next.begin());
  for (std::uint64_t i = 0; i < c.count; ++i) c.other[next[cluster_of(c.tuples[i])]++] = c.tuples[i];
  for (std::size_t i = 0; i < next.size(); ++i) {
    const std::uint64_t count = begins[i + 1] - begins[i];
    if (count != 0) sort_cluster({c.other + begins[i], c.tuples + begins[i], count, shift, !c.ends_in_other});
  }
}

/// Merges the sorted parts of tuples, two and two, and returns the array that they end in.
std::uint64_t* merge_parts(std::uint64_t* tuples, std::uint64_t* other, std::uint64_t count, std::uint64_t parts) {
  for (std::uint64_t width = 1; width < parts; width *= 2) {
    const std::uint64_t pairs = (parts - 1) / (2 * width) + 1;
    for_each_range(pairs, pairs, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t pair = first; pair < last; ++pair) {
        const auto begin_of = [&](std::uint64_t part) { return part_begin(count, parts, std::min(part, parts)); };
        const std::uint64_t begin = begin_of(2 * width * pair);
        const std::uint64_t middle = begin_of(2 * width * pair + width);
        const std::uint64_t end = begin_of(2 * width * (pair + 1));
        std::merge(tuples + begin, tuples + middle, tuples + middle, tuples + end, other + begin);
      }
    });
    std::swap(tuples, other);
  }
  return tuples;
}

/// Sorts tuples and returns the array that they end in.
std::uint64_t* sort_tuples(const clustering_layout& layout, std::uint64_t count, std::uint64_t* tuples,
                           std::uint64_t* other) {
  for_each_range(count, layout.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    sort_cluster({tuples + begin, other + begin, end - begin, tuple_bits, false});
  });
  return merge_parts(tuples, other, count, layout.parts);
}

void pack_tuples(const sort_problem& problem, const sort_buffers& buffers, std::uint64_t parts, std::uint64_t* tuples) {
  const bit_field key = packed_key(problem);
  for_each_range(problem.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) {
      tuples[i] = pack_tuple(field_of(buffers.in.data + i * buffers.in.stride_bytes, key), key.count, i);
    }
  });
}

template <class Index>
void store_rows_of_tuples(const std::uint64_t* tuples, std::uint64_t count, std::uint64_t parts, Index* order) {
  for_each_range(count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) order[i] = static_cast<Index>(row_of_tuple(tuples[i]));
  });
}

plan::planned plan_radix_clustering(const sort_problem& problem, const plan::scope& scope) {
  if (const char* const reason = tuple_rejection(problem)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  const clustering_layout layout(problem, machine.parallelism);
  plan::planned plan;
  plan.by_name_only = true;
  plan.decided.set(layout);
  plan.scratch_bytes = layout.bytes;
  const auto count = static_cast<double>(problem.count);
  const double parts = static_cast<double>(layout.parts);
  const double passes =
      std::ceil(std::max(1.0, std::log2(std::max(2.0, count / parts / most_inserted_tuples))) / clustering_bits);
  // A pass over clusters that lie in memory streams them; its digit is counted and moved in any case.
  const double digit_seconds = machine.digit_seconds > 0 ? machine.digit_seconds : 2e-9;
  const std::uint64_t bytes = 2 * problem.count * tuple_bytes;
  plan.add("latency", machine.launch_seconds + std::ceil(std::log2(parts)) * machine.step_seconds);
  plan.add("clustering", passes * std::max(count * digit_seconds / parts, machine.streamed(bytes, bytes)));
  plan.add("insertion", count * most_inserted_tuples / 4 * digit_seconds / parts);
  // The last merge is of one thread, the one before of two.
  plan.add("merges", 2 * count * digit_seconds * (1 - 1 / parts));
  if (rows_are_tuples(problem)) return plan;
  plan.add("packing", machine.streamed(problem.count * (problem.rows.in_stride_bytes + 3 * tuple_bytes), bytes));
  if (problem.product == sort_product::records) {
    gathers_by_order::end_plan(plan, problem, index_type::u32, scope, layout.tuples[0]);
  }
  return plan;
}

void run_radix_clustering(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                          const sort_buffers& buffers, std::byte* scratch) {
  if (problem.count == 0) return;
  const auto layout = plan.decided.get<clustering_layout>();
  auto* const tuples = reinterpret_cast<std::uint64_t*>(scratch + layout.tuples[0]);
  if (rows_are_tuples(problem)) {
    auto* const out = reinterpret_cast<std::uint64_t*>(buffers.out.data);
    const auto* const in = reinterpret_cast<const std::uint64_t*>(buffers.in.data);
    const auto copy = [&](const std::uint64_t* from, std::uint64_t* to) {
      for_each_range(problem.count, layout.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        std::copy(from + begin, from + end, to + begin);
      });
    };
    // Merges go back and forth between the arrays; an even number of them ends where it began.
    std::uint64_t* const first = layout.merge_rounds() % 2 == 0 ? out : tuples;
    copy(in, first);
    sort_tuples(layout, problem.count, first, first == out ? tuples : out);
    return;
  }
  pack_tuples(problem, buffers, layout.parts, tuples);
  const std::uint64_t* const sorted =
      sort_tuples(layout, problem.count, tuples, reinterpret_cast<std::uint64_t*>(scratch + layout.tuples[1]));
  end_with_order(ctx, problem, plan, buffers, scratch, layout.order, layout.tuples[0],
                 [&](auto* order) { store_rows_of_tuples(sorted, problem.count, layout.parts, order); });
}

}  // namespace

extern constinit const sort_variant sort_radix_clustering{"cpu.radix_clustering", backend_kind::cpu,
                                                          plan_radix_clustering, run_radix_clustering};

}  // namespace sheaf::cpu
