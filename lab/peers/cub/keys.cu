#include <cub/device/device_partition.cuh>

#include "lab/peers/cub/calls.cuh"
#include "lab/peers/cub/sort.cuh"

// Splits and sorts of records that are their own keys.
namespace sheaf::bench::peers::device {
namespace {

template <class Key>
struct is_even {
  __host__ __device__ bool operator()(Key key) const { return (key & 1) == 0; }
};

// CUB's partition writes the second category in reverse order, which is less than a stable split does.
template <class Key>
contender partition(const context& ctx, const problem& p, const workspace& arrays) {
  const auto call = [count = static_cast<std::int64_t>(p.count), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte* selected, std::uint64_t copy) {
    return cub::DevicePartition::If(temporary, bytes, source_of<Key>(arrays, copy), target_of<Key>(arrays, copy),
                                    reinterpret_cast<std::int64_t*>(selected), count, is_even<Key>{}, stream);
  };
  return cub_contender(ctx, arrays, "cub.partition", 256, call);
}

template <class Key>
std::vector<contender> peers_of(const context& ctx, const problem& problem, const workspace& arrays) {
  std::vector<contender> all;
  if constexpr (sizeof(Key) <= 8) {
    if (problem.primitive == "split_unstable" && problem.part<key_part>().bits == 1)
      all.push_back(partition<Key>(ctx, problem, arrays));
  }
  all.push_back(radix_sort_of_keys<Key>(ctx, problem, arrays));
  return all;
}

}  // namespace

std::vector<contender> key_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  switch (p.record_bytes) {
    case 4: return peers_of<std::uint32_t>(ctx, p, arrays);
    case 8: return peers_of<std::uint64_t>(ctx, p, arrays);
    case 16: return peers_of<unsigned __int128>(ctx, p, arrays);
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
