#include "cpu/sort_plan.hpp"

#include <algorithm>
#include <bit>

#include "cpu/parts.hpp"
#include "cpu/split_buckets.hpp"

namespace sheaf::cpu {
namespace {

using primitives::sort_problem;
using primitives::sort_product;

constexpr std::uint64_t least_shared_words = 8192;
constexpr std::uint32_t most_digit_bits = 11;

std::uint64_t whole(std::uint64_t bytes) noexcept { return (bytes + bucket_bytes - 1) / bucket_bytes * bucket_bytes; }

}  // namespace

sort_room::sort_room(const sort_problem& p, const sort_shape& s, const plan::planned& plan) noexcept {
  const std::uint64_t parts = plan.parameters[sort_parts];
  cached_words = std::min(p.count, cached_sort_bytes / s.word_bytes);
  const std::uint64_t spare_bytes = 2 * whole(cached_words * s.word_bytes);
  if (plan.parameters[sort_digit_bits] == 0) {
    bytes = spare_bytes;
    return;
  }
  const std::uint64_t buckets = std::uint64_t{1} << plan.parameters[sort_digit_bits];
  const std::uint64_t table = whole(parts * buckets * sizeof(std::uint64_t));
  const std::uint64_t lines_of_bucket = s.moves == sort_moves::payload ? 2 * bucket_bytes : bucket_bytes;
  next = table;
  lines = 2 * table;
  orders = lines + parts * buckets * lines_of_bucket;
  spare = orders + whole(parts * line_bytes);
  words[0] = spare + parts * spare_bytes;
  const std::uint64_t array = s.moves == sort_moves::payload
                                  ? whole(p.count * s.key_bytes) + whole(p.count * s.payload_bytes)
                                  : whole(p.count * s.word_bytes);
  words[1] = words[0] + array;
  bytes = s.out_holds_words ? words[1] : words[1] + array;
}

namespace {

plan::planned with_parts(const sort_problem& p, const sort_shape& s, const machine& m) {
  plan::planned plan;
  const std::uint64_t moved = p.count * s.stored_bytes();
  plan.parameters[sort_parts] = parts_worth(2 * moved, m.parallelism);
  plan.parameters[sort_streams] = moved > m.cache_bytes;
  return plan;
}

}  // namespace

plan::planned plan_msd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const sort_shape s = shape_of(p);
  plan::planned plan = with_parts(p, s, m);
  const std::uint64_t cached = cached_sort_bytes / s.word_bytes;
  const bool alone = plan.parameters[sort_parts] == 1 ? p.count <= cached : p.count <= least_shared_words;
  if (alone) plan.parameters[sort_parts] = 1;
  plan.parameters[sort_digit_bits] = alone ? 0 : most_digit_bits;
  plan.scratch_bytes = sort_room(p, s, plan).bytes;
  plan.add("latency", m.launch_seconds);
  plan.add("moving records", 1e-8 * static_cast<double>(p.count) / static_cast<double>(plan.parameters[sort_parts]));
  return plan;
}

}  // namespace sheaf::cpu
