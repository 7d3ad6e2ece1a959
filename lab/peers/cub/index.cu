#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/system/cuda/execution_policy.h>
#include <cub/device/device_radix_sort.cuh>

#include "lab/peers/cub/calls.cuh"

// Gather index and scatter index by keys of 32 and 64 bits. Record numbers sorted with the keys are a gather index;
// scattering them through it gives a scatter index.
namespace sheaf::bench::peers::device {
namespace {

template <class Key>
contender sort(const context& ctx, const problem& problem, const workspace& arrays) {
  const std::uint64_t list_bytes = problem.count * sizeof(std::uint32_t);
  scratch_layout layout;
  layout.add(list_bytes);
  const std::uint64_t keys_at = layout.add(problem.count * sizeof(Key));
  const bool scatters = problem.primitive == "split_scatter_index";
  const std::uint64_t gather_at = scatters ? layout.add(list_bytes) : 0;
  const auto call = [=, count = static_cast<std::uint32_t>(problem.count),
                     bits = static_cast<int>(problem.part<key_part>().bits), &arrays,
                     stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* lists, std::uint64_t copy) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(lists);
    auto* const sorted_keys = reinterpret_cast<Key*>(lists + keys_at);
    auto* const target = target_of<std::uint32_t>(arrays, copy);
    auto* const gather = scatters ? reinterpret_cast<std::uint32_t*>(lists + gather_at) : target;
    const auto policy = thrust::cuda::par_nosync.on(stream);
    if (temporary != nullptr) thrust::sequence(policy, numbers, numbers + count);
    const cudaError_t result =
        cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_of<Key>(arrays, copy), sorted_keys,
                                        static_cast<const std::uint32_t*>(numbers), gather, count, 0, bits, stream);
    if (temporary != nullptr && scatters) {
      const thrust::counting_iterator<std::uint32_t> first(0);
      thrust::scatter(policy, first, first + count, gather, target);
    }
    return result;
  };
  return cub_contender(ctx, arrays, "cub", layout.bytes, call);
}

}  // namespace

std::vector<contender> index_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.key_bytes != 4 || bytes(p.index) != 4) return {};
  return {sort<std::uint32_t>(ctx, p, arrays)};
}

std::vector<contender> split_index_peers(const context& ctx, const problem& p, const workspace& arrays) {
  if (!fits_in_32_bits(p)) return {};
  if (p.key_bytes == 8 && bytes(p.index) == 4) return {sort<std::uint64_t>(ctx, p, arrays)};
  return index_sorts(ctx, p, arrays);
}

std::vector<contender> split_peers(const context& ctx, const problem& p, const workspace& arrays) {
  if (!fits_in_32_bits(p)) return {};
  return p.key_bytes == 0 ? key_sorts(ctx, p, arrays) : pair_sorts(ctx, p, arrays);
}

}  // namespace sheaf::bench::peers::device
