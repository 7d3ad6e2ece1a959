#pragma once

#include <functional>
#include <memory>
#include <string>

#include <sheaf/distributed/group.hpp>
#include <sheaf/records.hpp>

// What one would write in place of calls between GPUs: by NCCL, and by CUB with it. Each rank makes its own.
namespace sheaf::bench::peers {

/// A call that all ranks make together; work may be queued on a rank's context when it returns.
struct rank_call {
  std::string who;
  std::function<void()> run;
  std::function<std::uint64_t()> sum = {};  ///< this rank's part of the sum of the answer
};

/// A rank of a communicator of NCCL.
class nccl_ranks;

#if SHEAF_HAS_CUDA
/// A communicator of a group's ranks; null where they are no GPUs, or without NCCL. Collective.
std::shared_ptr<nccl_ranks> join_nccl(const distributed::group& ranks);

/// Grouped sends and receives of so many bytes between all pairs.
rank_call nccl_all_to_all(const context& ctx, std::shared_ptr<nccl_ranks> nccl, std::uint64_t bytes_of_a_pair);

/// Numbers of 8 bytes, evenly spread: CUB's radix sort, splitters of a sample, NCCL's sends and receives, and CUB's
/// merges of what came. Ranks need not end with equally many.
rank_call sort_by_hand(const distributed::group& ranks, std::shared_ptr<nccl_ranks> nccl, const_records in);
#else
inline std::shared_ptr<nccl_ranks> join_nccl(const distributed::group&) { return nullptr; }
inline rank_call nccl_all_to_all(const context&, const std::shared_ptr<nccl_ranks>&, std::uint64_t) { return {}; }
inline rank_call sort_by_hand(const distributed::group&, const std::shared_ptr<nccl_ranks>&, const_records) {
  return {};
}
#endif

}  // namespace sheaf::bench::peers
