#include <cub/device/device_radix_sort.cuh>

#include "peers_cub.cuh"

// Records with keys of 32 bits apart; the sorted keys are thrown away.
namespace sheaf::bench::peers::device {
namespace {

template <class Record>
contender sort(const context& ctx, const problem& p, const workspace& arrays) {
  scratch_layout own;
  own.add(p.count * sizeof(std::uint32_t));
  const auto call = [count = static_cast<std::uint32_t>(p.count), bits = static_cast<int>(p.bits), &arrays,
                     stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* sorted,
                                            std::uint64_t copy) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_of<std::uint32_t>(arrays, copy),
                                           reinterpret_cast<std::uint32_t*>(sorted), source_of<Record>(arrays, copy),
                                           target_of<Record>(arrays, copy), count, 0, bits, stream);
  };
  return cub_contender(ctx, arrays, "cub", own.bytes, call);
}

}  // namespace

std::vector<contender> pair_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.key_bytes != 4) return {};
  switch (p.record_bytes) {
    case 4: return {sort<std::uint32_t>(ctx, p, arrays)};
    case 8: return {sort<std::uint64_t>(ctx, p, arrays)};
    case 16: return {sort<plain_record<16>>(ctx, p, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
