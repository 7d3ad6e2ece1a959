#include "lab/peers/cub/sort.cuh"

// Splits and sorts of records by an array of 32-bit keys.
namespace sheaf::bench::peers::device {

std::vector<contender> pair_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.key_bytes != 4) return {};
  switch (p.record_bytes) {
    case 4: return {radix_sort_of_pairs<std::uint32_t, std::uint32_t>(ctx, p, arrays)};
    case 8: return {radix_sort_of_pairs<std::uint32_t, std::uint64_t>(ctx, p, arrays)};
    case 16: return {radix_sort_of_pairs<std::uint32_t, plain_record<16>>(ctx, p, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
