#include <cuda_runtime_api.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/version.h>

#include "lab/description/movement/problem.hpp"
#include "lab/peers/movement.hpp"

namespace sheaf::bench::peers::device {
namespace {

template <class Record, class Index>
void thrust_gather(const context& ctx, const_records from, index_span index, records to) {
  const auto* const entries = static_cast<const Index*>(index.data);
  thrust::gather(thrust::cuda::par_nosync.on(ctx.stream()), entries, entries + index.count,
                 reinterpret_cast<const Record*>(from.data), reinterpret_cast<Record*>(to.data));
}

template <class Record, class Index>
void thrust_scatter(const context& ctx, const_records from, index_span index, records to) {
  const auto* const in = reinterpret_cast<const Record*>(from.data);
  thrust::scatter(thrust::cuda::par_nosync.on(ctx.stream()), in, in + index.count,
                  static_cast<const Index*>(index.data), reinterpret_cast<Record*>(to.data));
}

}  // namespace

// All widths are built with 4-byte indices, but only 8-byte records with 8-byte indices, because each instance takes
// seconds to compile.
move_records gather(std::uint64_t record_bytes, index_type index) noexcept {
  if (bytes(index) == 8) return record_bytes == 8 ? &thrust_gather<std::uint64_t, std::uint64_t> : nullptr;
  return with_record_type(record_bytes, []<class Record>(std::type_identity<Record>) -> move_records {
    return &thrust_gather<Record, std::uint32_t>;
  });
}

move_records scatter(std::uint64_t record_bytes, index_type index) noexcept {
  if (bytes(index) == 8) return record_bytes == 8 ? &thrust_scatter<std::uint64_t, std::uint64_t> : nullptr;
  return with_record_type(record_bytes, []<class Record>(std::type_identity<Record>) -> move_records {
    return &thrust_scatter<Record, std::uint32_t>;
  });
}

std::vector<contender> gathers(const context& ctx, const problem& p, const workspace& arrays) {
  return mover("thrust", gather(p.record_bytes, p.index), ctx, arrays, [ctx] { wait(ctx); });
}

// It lets any writer win.
std::vector<contender> scatters(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.part<primitives::movement_part>().duplicates == duplicates::last) return {};
  return mover("thrust", scatter(p.record_bytes, p.index), ctx, arrays, [ctx] { wait(ctx); });
}

void wait(const context& ctx) {
  const cudaError_t result = cudaStreamSynchronize(ctx.stream());
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

std::string thrust_version() {
  return std::to_string(THRUST_MAJOR_VERSION) + "." + std::to_string(THRUST_MINOR_VERSION) + "." +
         std::to_string(THRUST_SUBMINOR_VERSION);
}

}  // namespace sheaf::bench::peers::device
