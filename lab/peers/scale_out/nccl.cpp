#include "lab/peers/scale_out/nccl.hpp"

#include <vector>

#include <sheaf/distributed/gpus.hpp>
#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>

#include "distributed/collectives.hpp"

namespace sheaf::bench::peers {

nccl_ranks::nccl_ranks(const context& ctx, const distributed::nccl_unique_id& id, int rank, int size)
    : nccl_(distributed::require_nccl()), ctx_(ctx), rank_(rank), size_(size) {
  cudaSetDevice(ctx.device());
  distributed::nccl_config usual;
  require(nccl_.init_rank_config(&communicator_, size, id, rank, &usual), "ncclCommInitRankConfig");
}

nccl_ranks::~nccl_ranks() {
  cudaSetDevice(ctx_.device());
  if (communicator_ != nullptr) nccl_.destroy(communicator_);
}

void nccl_ranks::require(int result, const char* operation) const {
  if (result == distributed::nccl_success) return;
  throw error(error_code::device_failure, std::string(operation) + ": " + nccl_.error_string(result));
}

void nccl_ranks::exchange(std::span<const sent_part> to, std::span<const received_part> from) const {
  cudaSetDevice(ctx_.device());
  require(nccl_.group_start(), "ncclGroupStart");
  for (int r = 0; r < size_; ++r) {
    const sent_part& sent = to[static_cast<std::size_t>(r)];
    const received_part& got = from[static_cast<std::size_t>(r)];
    if (sent.bytes > 0) {
      require(nccl_.send(sent.data, sent.bytes, distributed::nccl_bytes, r, communicator_, ctx_.stream()), "ncclSend");
    }
    if (got.bytes > 0) {
      require(nccl_.receive(got.data, got.bytes, distributed::nccl_bytes, r, communicator_, ctx_.stream()), "ncclRecv");
    }
  }
  require(nccl_.group_end(), "ncclGroupEnd");
}

std::shared_ptr<nccl_ranks> join_nccl(const distributed::group& ranks) {
  const bool has = ranks.local().backend() == backend_kind::cuda && distributed::has_nccl();
  if (!has) return nullptr;  // on all ranks, which are of one process
  distributed::nccl_unique_id id{};
  if (ranks.rank() == 0 && distributed::require_nccl().get_unique_id(&id) != distributed::nccl_success)
    throw error(error_code::device_failure, "ncclGetUniqueId failed");
  std::vector<distributed::nccl_unique_id> ids(static_cast<std::size_t>(ranks.size()));
  distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) {
    distributed::all_gather(state, &id, sizeof id, ids.data());
  });
  return std::make_shared<nccl_ranks>(ranks.local(), ids.front(), ranks.rank(), ranks.size());
}

rank_call nccl_all_to_all(const context& ctx, std::shared_ptr<nccl_ranks> nccl, std::uint64_t bytes_of_a_pair) {
  const auto size = static_cast<std::size_t>(nccl->size());
  const auto memory = std::make_shared<std::pair<buffer, buffer>>(buffer(ctx, bytes_of_a_pair * size),
                                                                  buffer(ctx, bytes_of_a_pair * size));
  const auto run = [nccl = std::move(nccl), memory, bytes_of_a_pair, size] {
    std::vector<sent_part> to(size);
    std::vector<received_part> from(size);
    for (std::size_t r = 0; r < size; ++r) {
      if (static_cast<int>(r) == nccl->rank()) continue;
      to[r] = {memory->first.data() + r * bytes_of_a_pair, bytes_of_a_pair};
      from[r] = {memory->second.data() + r * bytes_of_a_pair, bytes_of_a_pair};
    }
    nccl->exchange(to, from);
  };
  return {"nccl.all_to_all", run};
}

}  // namespace sheaf::bench::peers
