#include "distributed/movement/cost.hpp"

#include <algorithm>
#include <cmath>

#include <sheaf/gather.hpp>
#include <sheaf/machine_profile.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/split.hpp>

#include "distributed/fitted_cost.hpp"
#include "distributed/movement/peers.hpp"

namespace sheaf::distributed {
namespace {

constexpr std::uint64_t number_bytes = sizeof(std::uint32_t);  // of rows and positions, unless ranks have 2^32 or more

double of_a_rank(std::uint64_t number, int ranks) { return static_cast<double>(number) / ranks; }

/// As many passes over a rank's entries as fit two runs of 2^24 records of 8 bytes on two ranks of the CPU: all that a
/// call does beside the movement of one rank's own part, most of which also writes.
void add_host_steps(call_cost& cost, const movement_shape& of, int ranks, const limits& bounds,
                    const movement_steps& on_one, const link_rates& link) {
  constexpr double passes = 10;
  const double mine = of_a_rank(of.entries, ranks);
  const double chunks = std::ceil(mine * 16 / static_cast<double>(bounds.chunk_bytes));
  const auto part = static_cast<std::uint64_t>(mine);
  cost.add("movement of a part", on_one.move(part, of.rows / static_cast<std::uint64_t>(ranks)));
  if (!of.is_prepared) cost.add("passes", passes * on_one.pass(part));
  cost.add("exchange", sent_bytes(of, ranks, false) / link.bytes_per_second);
  cost.add("messages", 3 * ranks * chunks * link.message_seconds);
}

/// gather_from_peers(): one kernel, with all ranks waiting before it and after it.
void add_loads(call_cost& cost, const movement_shape& of, int ranks, const link_rates& link) {
  const double remote = of_a_rank(of.entries, ranks) * share_of_others(ranks);
  const double loaded = std::max(remote / link.loads_per_second,
                                 remote * static_cast<double>(of.record_bytes) / link.loaded_bytes_per_second);
  cost.add("loads", loaded);
  if (!of.is_prepared) cost.add("list", fitted::list_seconds);
  cost.add("launches", fitted::movement_seconds);
  cost.add("messages", 4 * link.message_seconds);
  cost.add("waits", 4 * link.wait_seconds);
}

/// Bytes of a movement by positions that ascend for each rank: where records are shorter than a sector of memory, each
/// rank's records touch nearly all sectors on their side. Writes of parts of sectors read the rest first.
double ordered_bytes(const movement_shape& of, int ranks, bool are_written) {
  constexpr double sector_bytes = 32;
  const auto width = static_cast<double>(of.record_bytes);
  if (width >= sector_bytes) return 2 * width + number_bytes;
  const double touched = std::min<double>(ranks, sector_bytes / width) * (are_written ? 2 : 1);
  return width + touched * width + number_bytes;
}

/// device_routing and served_on_device, or sent_on_device: a list is brought into the order of owners, which get the
/// rows; then records travel. One side of them is in that order, the other in any.
void add_exchange_steps(call_cost& cost, const movement_shape& of, int ranks, const movement_steps& on_one,
                        const link_rates& link) {
  const double mine = of_a_rank(of.entries, ranks);
  const auto part = static_cast<std::uint64_t>(mine);
  const double others = share_of_others(ranks);
  double messages = 1;
  double waits = 1;
  if (!of.is_prepared) {
    // Owners and pairs of numbers are written, pairs are split, and taken apart.
    const std::uint64_t routed = number_bytes + 1 + 2 * number_bytes + 4 * number_bytes;
    cost.add("list", fitted::list_seconds);
    cost.add("owners of entries", on_one.stream(part * routed) + on_one.split_by_owner(part));
    cost.add("exchange of rows", link.exchange(mine * number_bytes * others));
    messages += 1;
    waits += 2;
  }
  const double move = on_one.move(part, of.rows / static_cast<std::uint64_t>(ranks));
  const auto in_order = static_cast<std::uint64_t>(mine * ordered_bytes(of, ranks, !of.is_scatter));
  cost.add("movement of a part", move);
  cost.add("exchange of records", link.exchange_behind(move, mine * static_cast<double>(of.record_bytes) * others));
  cost.add("records in order", on_one.stream(in_order));
  cost.add("launches", fitted::movement_seconds);
  cost.add("messages", messages * link.message_seconds);
  cost.add("waits", waits * link.wait_seconds);
}

movement_steps planned_movements(const context& ctx, std::function<double(std::uint64_t, std::uint64_t)> move) {
  const auto stream = [ctx](std::uint64_t bytes) {
    return static_cast<double>(bytes) / ctx.profile().copy_bytes_per_second;
  };
  const auto split = [ctx](std::uint64_t entries) {
    const split_key owners = split_key::category(const_records(nullptr, entries, 1), 256);
    return chosen_seconds(explain_split(ctx, const_records(nullptr, entries, 2 * number_bytes), owners));
  };
  return {std::move(move), split, stream,
          [stream](std::uint64_t entries) { return stream(2 * number_bytes * entries); }};
}

}  // namespace

bool loads_from_peers(const movement_shape& of, const link_rates& link) noexcept {
  return link.loads_per_second > 0 && peer_loads_win(of.record_bytes, of.is_prepared ? 0 : number_bytes);
}

double sent_bytes(const movement_shape& of, int ranks, bool by_loads) noexcept {
  const double of_entry = of.is_prepared || by_loads ? 0 : number_bytes;
  return of_a_rank(of.entries, ranks) * (static_cast<double>(of.record_bytes) + of_entry) * share_of_others(ranks);
}

call_cost movement_cost(const movement_shape& of, int ranks, const limits& bounds, const movement_steps& on_one,
                        const link_rates& link, bool reads_peers) {
  call_cost cost;
  if (ranks == 1) {
    cost.add("movement", on_one.move(of.entries, of.rows));
  } else if (!link.are_devices) {
    add_host_steps(cost, of, ranks, bounds, on_one, link);
  } else if (reads_peers && loads_from_peers(of, link)) {
    add_loads(cost, of, ranks, link);
  } else {
    add_exchange_steps(cost, of, ranks, on_one, link);
  }
  return cost;
}

movement_steps planned_gather_steps(const context& ctx, const movement_shape& of) {
  return planned_movements(ctx, [ctx, of](std::uint64_t entries, std::uint64_t rows) {
    return chosen_seconds(explain_gather(ctx, const_records(nullptr, rows, of.record_bytes),
                                         index_span(nullptr, entries, index_type::u32),
                                         records(nullptr, entries, of.record_bytes)));
  });
}

movement_steps planned_scatter_steps(const context& ctx, const movement_shape& of) {
  return planned_movements(ctx, [ctx, of](std::uint64_t entries, std::uint64_t rows) {
    return chosen_seconds(explain_scatter(ctx, const_records(nullptr, entries, of.record_bytes),
                                          index_span(nullptr, entries, index_type::u32),
                                          records(nullptr, rows, of.record_bytes)));
  });
}

double gather_seconds(const context& ctx, const movement_shape& of, int ranks, const link_rates& link) {
  return movement_cost(of, ranks, {}, planned_gather_steps(ctx, of), link, true).seconds();
}

double scatter_seconds(const context& ctx, const movement_shape& of, int ranks, const link_rates& link) {
  movement_shape scatter = of;
  scatter.is_scatter = true;
  return movement_cost(scatter, ranks, {}, planned_scatter_steps(ctx, of), link, false).seconds();
}

}  // namespace sheaf::distributed
