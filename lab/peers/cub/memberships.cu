#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cuda/execution_policy.h>
#include <cub/device/device_radix_sort.cuh>

#include "lab/peers/cub/calls.cuh"

// Records in several categories: the record's number of every membership, which are sorted by category, and a gather of
// the records by the numbers.
namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned threads = 256;
constexpr std::uint64_t most_memberships_of_a_thread = 64;

__global__ void number_memberships(const std::uint64_t* first, std::uint64_t records, std::uint32_t* numbers) {
  const std::uint64_t record = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (record >= records) return;
  for (std::uint64_t e = first[record]; e < first[record + 1]; ++e) numbers[e] = static_cast<std::uint32_t>(record);
}

// A thread for each record, where records are many enough to keep the device busy; else a search for each membership,
// which is in the record before the first that begins behind it.
cudaError_t queue_numbers(const problem& p, const std::uint64_t* first, std::uint32_t* numbers, cudaStream_t stream) {
  const std::uint64_t records = p.indexed_count();
  if (p.count <= most_memberships_of_a_thread * records) {
    const auto blocks = static_cast<unsigned>((records + threads - 1) / threads);
    number_memberships<<<blocks, threads, 0, stream>>>(first, records, numbers);
    return cudaGetLastError();
  }
  const thrust::counting_iterator<std::uint64_t> memberships(0);
  thrust::upper_bound(thrust::cuda::par_nosync.on(stream), first + 1, first + 1 + records, memberships,
                      memberships + p.count, numbers);
  return cudaSuccess;
}

contender sort(const context& ctx, const problem& p, const workspace& arrays, move_records move) {
  scratch_layout layout;
  layout.add(p.count * sizeof(std::uint32_t));
  const std::uint64_t categories_at = layout.add(p.count * sizeof(std::uint32_t));
  const auto call = [=, count = static_cast<std::uint32_t>(p.count), bits = static_cast<int>(p.part<key_part>().bits),
                     &arrays,
                     stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* lists, std::uint64_t copy) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(lists);
    auto* const sorted = reinterpret_cast<std::uint32_t*>(lists + categories_at);
    const records sources = arrays.at(copy, jobs::multi_split_places::sources);
    if (temporary != nullptr) {
      const records first = arrays.at(copy, jobs::multi_split_places::first);
      const cudaError_t result = queue_numbers(p, reinterpret_cast<const std::uint64_t*>(first.data), numbers, stream);
      if (result != cudaSuccess) return result;
    }
    const cudaError_t result = cub::DeviceRadixSort::SortPairs(
        temporary, bytes, keys_of<std::uint32_t>(arrays, copy), sorted, static_cast<const std::uint32_t*>(numbers),
        reinterpret_cast<std::uint32_t*>(sources.data), count, 0, bits, stream);
    if (temporary == nullptr || result != cudaSuccess) return result;
    const records offsets = arrays.at(copy, jobs::places::offsets);
    const thrust::counting_iterator<std::uint64_t> categories(0);
    thrust::lower_bound(thrust::cuda::par_nosync.on(stream), sorted, sorted + count, categories,
                        categories + offsets.count, reinterpret_cast<std::uint64_t*>(offsets.data));
    move(ctx, arrays.source(copy), {sources.data, count, index_type::u32}, arrays.target(copy));
    return cudaSuccess;
  };
  return cub_contender(ctx, arrays, "cub", layout.bytes, call);
}

}  // namespace

std::vector<contender> membership_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  const move_records move = gather(p.record_bytes, index_type::u32);
  const bool has_narrow_numbers = p.indexed_count() < std::uint64_t{1} << 32;
  if (move == nullptr || p.key_bytes != sizeof(std::uint32_t) || !has_narrow_numbers || !fits_in_32_bits(p)) return {};
  return {sort(ctx, p, arrays, move)};
}

}  // namespace sheaf::bench::peers::device
