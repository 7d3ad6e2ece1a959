#include "distributed/sort/cost.hpp"

#include <algorithm>
#include <cmath>

#include <sheaf/machine_profile.hpp>

#include "distributed/sort/keys.hpp"

namespace sheaf::distributed {
namespace {

double log2_of(int ranks) { return std::ceil(std::log2(static_cast<double>(ranks))); }

/// What a rank does on the host, beside its sort of its own part: as many passes over its rows as fit two runs of 2^24
/// keys of 8 bytes on two ranks of the CPU, most of which also write.
void add_host_steps(call_cost& cost, const sort_shape& of, int ranks, const sort_steps& on_one,
                    const link_rates& link) {
  constexpr double passes = 6;
  const std::uint64_t mine = of.rows / static_cast<std::uint64_t>(ranks);
  cost.add("sort of a part", on_one.sort(mine, layout_of(of.key).bits));
  cost.add("passes", passes * on_one.pass(mine));
  cost.add("exchange", sent_bytes(of, ranks) / link.bytes_per_second);
  cost.add("messages", (5 * log2_of(ranks) + 4 * ranks) * link.message_seconds);
}

/// Rounds in which rows_before() (selection.cpp) finds positions among so many rows: each has samples that leave some
/// two gaps between them.
double selection_rounds(double rows, double positions) {
  const double samples = std::clamp(4096 / positions, 16.0, 512.0);
  return rows < 2 ? 0 : std::ceil(std::log(rows) / std::log(samples / 2));
}

/// The steps of by_primitives.cpp and of move_and_sort() in between_ranks.cpp, in their order.
void add_device_steps(call_cost& cost, const sort_shape& of, int ranks, const limits& bounds, const sort_steps& on_one,
                      const link_rates& link) {
  constexpr double waits_of_a_look = 2;  // positions go to the device, and what lies there comes back
  constexpr std::uint32_t first_bits = 8;
  const std::uint64_t mine = of.rows / static_cast<std::uint64_t>(ranks);
  const std::uint32_t key_bits = layout_of(of.key).bits;
  const double groups = std::clamp<double>(static_cast<double>(mine * of.moved_bytes()) /
                                               static_cast<double>(std::max<std::uint64_t>(1, bounds.chunk_bytes / 16)),
                                           1, 4);
  const double whole_groups = std::floor(groups);
  const bool are_few = of.rows <= bounds.chunk_bytes / 64;
  const bool is_whole = are_few || key_bits <= first_bits;
  double waits = 0;
  double messages = 1;  // agreement
  double searched_rows = static_cast<double>(mine);
  double positions = ranks * whole_groups - 1;
  if (!are_few) {  // a sample of the keys
    waits += waits_of_a_look;
    messages += 2;
  }
  if (is_whole) {
    cost.add("first sort", on_one.sort(mine, key_bits));
    messages += log2_of(ranks);
  } else {
    const double buckets = std::max(256.0, 8.0 * ranks);
    searched_rows = std::max(1.0, static_cast<double>(mine) / buckets);
    positions = ranks - 1;
    cost.add("first sort", on_one.sort(mine, first_bits));
    cost.add("buckets at the ends of ranks",
             positions * on_one.sort(static_cast<std::uint64_t>(searched_rows), key_bits));
    waits += waits_of_a_look;
    messages += log2_of(ranks) + 1;
  }
  const double rounds = selection_rounds(searched_rows, positions);
  waits += rounds * waits_of_a_look;
  messages += 1 + 2 * rounds + whole_groups;
  waits += 1;
  const double exchange = link.exchange(sent_bytes(of, ranks) / whole_groups);
  const double sort = on_one.sort(static_cast<std::uint64_t>(static_cast<double>(mine) / whole_groups), key_bits);
  cost.add("exchange of the first group", exchange);
  // A sort may be infinite, of which 0 times is no number.
  const double others = whole_groups > 1 ? (whole_groups - 1) * std::max(exchange, sort) : 0;
  cost.add("sorts of groups, beside exchanges", sort + others);
  cost.add("messages", messages * link.message_seconds);
  cost.add("waits", waits * link.wait_seconds);
}

}  // namespace

std::uint64_t sort_shape::moved_bytes() const noexcept {
  std::uint64_t bytes = row_bytes;
  for (const std::uint64_t of_value : value_bytes) bytes += of_value;
  return bytes;
}

double sent_bytes(const sort_shape& of, int ranks) noexcept {
  return static_cast<double>(of.rows) / ranks * static_cast<double>(of.moved_bytes()) * share_of_others(ranks);
}

call_cost sort_cost(const sort_shape& of, int ranks, const limits& bounds, const sort_steps& on_one,
                    const link_rates& link) {
  call_cost cost;
  if (ranks == 1) {
    cost.add("sort", on_one.sort(of.rows, layout_of(of.key).bits));
  } else if (link.are_devices) {
    add_device_steps(cost, of, ranks, bounds, on_one, link);
  } else {
    add_host_steps(cost, of, ranks, on_one, link);
  }
  return cost;
}

sort_steps planned_steps(const context& ctx, const sort_shape& of) {
  const auto sort = [ctx, of](std::uint64_t rows, std::uint32_t bits) {
    const key_layout all = layout_of(of.key);
    sort_key key = of.key;
    if (bits < all.bits && key.count == 1) {
      key.fields[0].first_bit += all.bits - bits;
      key.fields[0].bit_count = bits;
    }
    const const_records keys(nullptr, rows, of.row_bytes);
    if (of.value_bytes.empty()) return chosen_seconds(explain_sort_records(ctx, keys, key));
    std::vector<sort_column> columns;
    for (const std::uint64_t width : of.value_bytes)
      columns.push_back({const_records(nullptr, rows, width), records(nullptr, rows, width)});
    return chosen_seconds(explain_sort_pairs(ctx, keys, key, true, columns));
  };
  const auto pass = [ctx, of](std::uint64_t rows) {
    return static_cast<double>(rows * of.row_bytes) / ctx.profile().copy_bytes_per_second;
  };
  return {sort, pass};
}

double sort_seconds(const context& ctx, const sort_shape& of, int ranks, const link_rates& link) {
  return sort_cost(of, ranks, {}, planned_steps(ctx, of), link).seconds();
}

}  // namespace sheaf::distributed
