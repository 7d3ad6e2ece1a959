#include "lab/peers/cub/numbers.cuh"

namespace sheaf::bench::peers::device {

std::vector<contender> signed_number_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.key_bytes == 4) return pairs_and_numbers<std::int32_t>(ctx, p, arrays);
  return p.key_bytes == 8 ? pairs_and_numbers<std::int64_t>(ctx, p, arrays) : std::vector<contender>{};
}

}  // namespace sheaf::bench::peers::device
