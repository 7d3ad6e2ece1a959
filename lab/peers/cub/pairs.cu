#include "lab/peers/cub/sort.cuh"

// Splits and sorts of records by an array of 32-bit keys.
namespace sheaf::bench::peers::device {

std::vector<contender> pair_sorts(const context& ctx, const problem& problem, const workspace& arrays) {
  if (problem.key_bytes != 4) return {};
  switch (problem.record_bytes) {
    case 4: return {radix_sort_of_pairs<std::uint32_t, std::uint32_t>(ctx, problem, arrays)};
    case 8: return {radix_sort_of_pairs<std::uint32_t, std::uint64_t>(ctx, problem, arrays)};
    case 16: return {radix_sort_of_pairs<std::uint32_t, plain_record<16>>(ctx, problem, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
