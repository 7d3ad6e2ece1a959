#include "lab/peers/cub/numbers.cuh"

namespace sheaf::bench::peers::device {

std::vector<contender> float_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.key_bytes == 4) return pairs_and_numbers<float>(ctx, p, arrays);
  return p.key_bytes == 8 ? pairs_and_numbers<double>(ctx, p, arrays) : std::vector<contender>{};
}

}  // namespace sheaf::bench::peers::device
