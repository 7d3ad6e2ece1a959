#include "lab/peers/cub/sort.cuh"

// Signed and floating keys. Unsigned keys have the peer of a split by all their bits (cub/keys.cu).
namespace sheaf::bench::peers::device {

std::vector<contender> number_sorts(const context& ctx, const problem& problem, const workspace& arrays) {
  switch (problem.part<key_part>().number) {
    case key_type::unsigned_integer:
      if (problem.key_bytes == 12) return struct_sorts(ctx, problem, arrays);
      return key_sorts(ctx, problem, arrays);
    case key_type::signed_integer:
      if (problem.key_bytes == 4) return {radix_sort_of_keys<std::int32_t>(ctx, problem, arrays)};
      if (problem.key_bytes == 8) return {radix_sort_of_keys<std::int64_t>(ctx, problem, arrays)};
      return {};
    case key_type::floating:
      if (problem.key_bytes == 4) return {radix_sort_of_keys<float>(ctx, problem, arrays)};
      return {radix_sort_of_keys<double>(ctx, problem, arrays)};
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

std::vector<contender> sort_index_peers(const context& ctx, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  if (!fits_in_32_bits(problem)) return {};
  if (key.number == key_type::signed_integer) return signed_number_sorts(ctx, problem, arrays);
  if (key.number == key_type::floating) return float_sorts(ctx, problem, arrays);
  return large_record_sorts(ctx, problem, arrays);
}

std::vector<contender> sort_records_peers(const context& ctx, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  if (!fits_in_32_bits(problem)) return {};
  // Records of 8 bytes by a key of 4 are 64-bit numbers that are sorted by their lower half.
  if (key.number == key_type::unsigned_integer && problem.record_bytes == 8) return key_sorts(ctx, problem, arrays);
  const bool is_short =
      key.number == key_type::unsigned_integer && problem.key_bytes == 8 && problem.record_bytes <= 32;
  if (!is_short) return large_record_sorts(ctx, problem, arrays);
  std::vector<contender> all = struct_sorts(ctx, problem, arrays);
  for (contender& c : struct_comparison_sorts(ctx, problem, arrays)) all.push_back(std::move(c));
  return all;
}

}  // namespace sheaf::bench::peers::device
