#include "cuda/edges/cost.hpp"

#include "cuda/device/launch.cuh"
#include "cuda/device/speeds.hpp"
#include "cuda/edges/buckets/phases.hpp"

// What lists by buckets cost, phase by phase.
namespace sheaf::cuda {

using primitives::edge_sum_problem;

namespace {

/// Fitted to an H200, 2.9 x 10^7 and 5.6 x 10^7 edges of a box of tetrahedra: 14 and 17 ps an edge in order, 16 and 24
/// at random. With words that are carried, to 10^6 to 3 x 10^7 edges with weights of f32 and f64. Two parts of a bucket
/// took, of 10^8 edges in order without weights, 45 ps an edge, where one takes 36 (2.9 x 10^7); with weights 6 and 13
/// more than one (3 x 10^7): 0.4 of a listing. Four and eight have not been measured; each walks all ends of the bucket
/// once more.
struct bucket_list_tuning {
  double ends_placed = 0.0166;  ///< ends of which the ranks are found in the time in which the L2 cache moves a byte
  double ends_listed = 0.0115;  ///< ends that are listed in that time
  double placed_with_a_word = 0.35;  ///< time that a word which is carried adds, of that without
  double listed_with_a_word = 0.45;
  double listed_again = 0.4;  ///< and each part of a bucket behind the first, with words or without
};
constexpr bucket_list_tuning tuning_of_bucket_lists;

}  // namespace

void add_bucket_list_cost(const edge_sum_problem& p, const bucket_cut& cut, const machine& m, plan::planned& plan) {
  const std::uint64_t ends = 2 * p.edges;
  const auto phase = [&](const char* name, std::uint64_t streamed, double handled, double shares) {
    plan::planned seconds;
    seconds.add_overlapped(3, {{"streamed", m.streamed(streamed, streamed)},
                               {"handled", instruction_seconds(static_cast<double>(ends) * shares, handled, m)}});
    plan.add(name, m.step_seconds + seconds.seconds);
  };
  // Few tiles and few parts leave multiprocessors idle.
  const auto whole = [&](std::uint64_t blocks, std::uint64_t at_once) {
    return static_cast<double>(ceil_div(blocks, at_once) * at_once) / static_cast<double>(blocks);
  };
  const std::uint64_t multiprocessors = std::max<std::uint64_t>(1, m.parallelism);
  const std::uint64_t table = std::uint64_t{cut.tiles} * cut.row * 2;
  const std::uint64_t weights = cut.carries_weights ? p.edges * 4 * cut.carried : 0;
  phase("ends placed", p.edges * 2 * bytes(p.index) + weights + ends * (6 + 4 * cut.carried) + table,
        tuning_of_bucket_lists.ends_placed,
        (1 + tuning_of_bucket_lists.placed_with_a_word * cut.carried) * whole(cut.tiles, 2 * multiprocessors));
  plan.add("table turned", 3 * m.step_seconds + m.streamed(3 * table, 3 * table));
  const std::uint32_t again = (1U << (cut.bucket_bits - cut.part_bits)) - 1;
  phase("ends listed", ends * (6 + 4 + 8 * cut.carried) + p.nodes * 8, tuning_of_bucket_lists.ends_listed,
        (1 + tuning_of_bucket_lists.listed_with_a_word * cut.carried + tuning_of_bucket_lists.listed_again * again) *
            whole(cut.parts(), multiprocessors));
  plan.add("long parts", cut.long_parts == 0 ? 0 : 3 * m.step_seconds);
}

}  // namespace sheaf::cuda
