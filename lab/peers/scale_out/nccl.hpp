#pragma once

#include <span>

#include <cuda_runtime_api.h>
#include <sheaf/context.hpp>

#include "distributed/devices/nccl_functions.hpp"
#include "lab/peers/scale_out/peers.hpp"

namespace sheaf::bench::peers {

/// Bytes for another rank or from it.
struct sent_part {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};
struct received_part {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

class nccl_ranks {
 public:
  /// Collective. @throws error(device_failure)
  nccl_ranks(const context& ctx, const distributed::nccl_unique_id& id, int rank, int size);
  ~nccl_ranks();
  nccl_ranks(const nccl_ranks&) = delete;
  nccl_ranks& operator=(const nccl_ranks&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// Queues an all-to-all on the context: a part for each rank, this one too.
  void exchange(std::span<const sent_part> to, std::span<const received_part> from) const;

 private:
  void require(int result, const char* operation) const;

  const distributed::nccl_functions& nccl_;
  context ctx_;
  int rank_;
  int size_;
  distributed::nccl_communicator communicator_ = nullptr;
};

}  // namespace sheaf::bench::peers
