#include "apps/sheaf/ranks/host_memory.hpp"

#include <algorithm>

#include "apps/sheaf/ranks/process.hpp"
#include "distributed/state.hpp"

namespace sheaf::cli {

buffer host_buffer(const distributed::group& ranks, std::uint64_t bytes) { return {ranks.state().host, bytes}; }

int host_threads(const distributed::group& ranks) {
  if (jobs::works_in_place(ranks.local())) return ranks.local().threads();
  return std::max(1, context::cpu().threads() / ranks.size());
}

void fetch_on_ranks(const distributed::group& ranks, const jobs::context_array& result) {
  if (jobs::works_in_place(ranks.local())) return;
  agree_on_ranks(ranks, [&] { result.fetch(); });
}

}  // namespace sheaf::cli
