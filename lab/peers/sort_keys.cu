#include "lab/peers/contenders.hpp"
#include "lab/peers/cub/sort.cuh"

// Signed and floating keys. Unsigned keys have the peer of a split by all their bits (cub/keys.cu).
namespace sheaf::bench::peers::device {

std::vector<contender> number_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  switch (p.part<key_part>().number) {
    case key_type::unsigned_integer:
      if (p.key_bytes == 12) return struct_sorts(ctx, p, arrays);
      return key_sorts(ctx, p, arrays);
    case key_type::signed_integer:
      if (p.key_bytes == 4) return {radix_sort_of_keys<std::int32_t>(ctx, p, arrays)};
      if (p.key_bytes == 8) return {radix_sort_of_keys<std::int64_t>(ctx, p, arrays)};
      return {};
    case key_type::floating:
      if (p.key_bytes == 4) return {radix_sort_of_keys<float>(ctx, p, arrays)};
      return {radix_sort_of_keys<double>(ctx, p, arrays)};
    case key_type::bytes: return {};
  }
  return {};
}

std::vector<contender> sort_keys_peers(const context& ctx, const problem& p, const workspace& arrays) {
  return fits_in_32_bits(p) ? number_sorts(ctx, p, arrays) : std::vector<contender>{};
}

std::vector<contender> sort_pairs_peers(const context& ctx, const problem& p, const workspace& arrays) {
  return fits_in_32_bits(p) ? value_sorts(ctx, p, arrays) : std::vector<contender>{};
}

std::vector<contender> sort_index_peers(const context& ctx, const problem& p, const workspace& arrays) {
  const key_part& key = p.part<key_part>();
  if (!fits_in_32_bits(p)) return {};
  if (key.number == key_type::signed_integer) return signed_number_sorts(ctx, p, arrays);
  if (key.number == key_type::floating) return float_sorts(ctx, p, arrays);
  return large_record_sorts(ctx, p, arrays);
}

std::vector<contender> sort_records_peers(const context& ctx, const problem& p, const workspace& arrays) {
  const key_part& key = p.part<key_part>();
  if (!fits_in_32_bits(p)) return {};
  // Records of 8 bytes by a key of 4 are 64-bit numbers that are sorted by their lower half.
  if (key.number == key_type::unsigned_integer && p.record_bytes == 8) return key_sorts(ctx, p, arrays);
  const bool is_short = key.number == key_type::unsigned_integer && p.key_bytes == 8 && p.record_bytes <= 32;
  if (!is_short) return large_record_sorts(ctx, p, arrays);
  std::vector<contender> all = struct_sorts(ctx, p, arrays);
  for (contender& c : struct_comparison_sorts(ctx, p, arrays)) all.push_back(std::move(c));
  return all;
}

}  // namespace sheaf::bench::peers::device
