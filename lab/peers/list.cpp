#include "lab/peers/list.hpp"

namespace sheaf::bench::peers {
namespace {

using peer_tables = std::vector<std::span<const peer_row>>;

// A name that no entry has would leave its peers out without a word.
peer_tables with_known_names(const peer_tables& tables) {
  for (const std::span<const peer_row> table : tables) {
    for (const peer_row& row : table) primitives::entry_named(row.primitive);
  }
  return tables;
}

const peer_tables& tables() {
  static const peer_tables all = with_known_names({
    host::all(),
#if SHEAF_HAS_CUDA
        device::all(),
#endif
  });
  return all;
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
