#include "bench/peers/list.hpp"

namespace sheaf::bench::peers {
namespace {

std::vector<std::span<const peer_row>> tables() {
  return {
    host::all(),
#if SHEAF_HAS_CUDA
        device::all(),
#endif
  };
}

}  // namespace

std::vector<contender> peers_of(const context& ctx, const problem& p, const workspace& arrays) {
  std::vector<contender> all;
  for (const std::span<const peer_row> table : tables()) {
    for (const peer_row& row : table) {
      if (row.primitive != p.primitive || row.backend != ctx.backend()) continue;
      for (contender& peer : row.make(ctx, p, arrays)) all.push_back(std::move(peer));
    }
  }
  return all;
}

}  // namespace sheaf::bench::peers
