#include "lab/peers/cub/sort.cuh"

// Pairs with 64-bit unsigned keys. Values of 4 bytes have the same instance as row numbers, in sort_records.cu.
namespace sheaf::bench::peers::device {

std::vector<contender> value_sorts(const context& ctx, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  if (key.number == key_type::signed_integer) return signed_number_sorts(ctx, problem, arrays);
  if (key.number == key_type::floating) return float_sorts(ctx, problem, arrays);
  if (key.number != key_type::unsigned_integer) return {};
  if (problem.key_bytes == 4) return pair_sorts(ctx, problem, arrays);
  if (problem.key_bytes != 8) return {};
  switch (problem.record_bytes) {
    case 4: return large_record_sorts(ctx, problem, arrays);
    case 8: return {radix_sort_of_pairs<std::uint64_t, std::uint64_t>(ctx, problem, arrays)};
    case 16: return {radix_sort_of_pairs<std::uint64_t, plain_record<16>>(ctx, problem, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
