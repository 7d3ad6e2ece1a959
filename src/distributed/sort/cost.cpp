#include "distributed/sort/cost.hpp"

#include <algorithm>
#include <cmath>

#include <sheaf/machine_profile.hpp>

#include "distributed/fitted_cost.hpp"
#include "distributed/sort/course.hpp"
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

/// Rows that are few are sorted, and the ends of ranks found among them (by_primitives.cpp); then a group travels, and
/// is sorted.
void add_steps_of_few(call_cost& cost, const sort_shape& of, int ranks, const sort_steps& on_one,
                      const link_rates& link) {
  const std::uint64_t mine = of.rows / static_cast<std::uint64_t>(ranks);
  const std::uint32_t bits = layout_of(of.key).bits;
  const double rounds = selection_rounds(static_cast<double>(mine), ranks - 1);
  cost.add("first sort", on_one.sort(mine, bits));
  cost.add("exchange", link.exchange(sent_bytes(of, ranks)));
  cost.add("sort of what came", on_one.sort(mine, bits));
  cost.add("messages", (3 + log2_of(ranks) + 2 * rounds) * link.message_seconds);
  cost.add("waits", (1 + 2 * rounds) * link.wait_seconds);
  cost.add("search of ends", rounds * fitted::selection_round_seconds);
}

/// A link on which one exchange travels after another, beside kernels.
class busy_link {
 public:
  explicit busy_link(const link_rates& rates) : rates_(rates) {}
  /// When bytes have arrived that may travel from a time on.
  double arrival(double ready, double bytes) {
    free_ = std::max(free_, ready) + bytes / (rates_.bytes_per_second * rates_.share_beside_kernels);
    return free_ + rates_.exchange_seconds;
  }

 private:
  const link_rates& rates_;
  double free_ = 0;
};

/// When rows have arrived, from when they begin to be moved to their parts.
struct arrivals {
  double of_cuts = 0;
  std::vector<double> of_groups;
};

/// move_and_start(): the first group travels as its chunks are moved, and of the second half its chunks; then
/// cut parts, and all others.
arrivals arrivals_of(const sort_course& course, double move, double sent, double cut_bytes, const link_rates& link) {
  arrivals out;
  busy_link busy(link);
  const double chunks = static_cast<double>(course.chunks);
  std::vector<double> left;
  for (std::size_t g = 0; g < course.shares.size(); ++g) left.push_back(sent * course.share(g));
  out.of_groups.assign(left.size(), 0);
  const auto send = [&](std::size_t g, double ready, double bytes) {
    out.of_groups[g] = busy.arrival(ready, bytes);
    left[g] -= bytes;
  };
  const double of_chunk = left[0] / chunks;
  const double second = left.size() > 1 ? left[1] : 0;
  for (std::uint64_t c = 0; c < course.chunks; ++c) {
    const double ready = move * static_cast<double>(c + 1) / chunks;
    if (c + 1 == course.chunks) out.of_cuts = busy.arrival(ready, cut_bytes);
    send(0, ready, of_chunk);
    if (left.size() > 1 && c < course.chunks / 2) send(1, ready, second / chunks);
  }
  for (std::size_t g = 1; g < left.size(); ++g) send(g, move, left[g]);
  return out;
}

/// A group's rows. Those that are sorted from where the runs of their parts lie take a pass less, but beside exchanges
/// as long as a sort alone.
double seconds_of_group(const sort_shape& of, double rows, const sort_steps& on_one) {
  constexpr std::uint32_t counted_bits = 9;  // of keys that have a part each
  const auto n = static_cast<std::uint64_t>(std::max(1.0, rows));
  const std::uint32_t bits = layout_of(of.key).bits;
  if (bits <= counted_bits) return on_one.stream(2 * n * of.moved_bytes());
  return on_one.sort(n, bits);
}

/// The steps of sort_by_parts(), in their order.
void add_part_steps(call_cost& cost, const sort_shape& of, int ranks, const limits& bounds, const sort_steps& on_one,
                    const link_rates& link) {
  constexpr double sampled_keys = 1 << 15;
  constexpr double rows_of_part = 1 << 19;
  constexpr double most_parts = 512;
  constexpr std::uint64_t least_bytes_read = 32;  // of a row whose key is read
  constexpr std::uint32_t counted_bits = 9;
  const std::uint64_t mine = of.rows / static_cast<std::uint64_t>(ranks);
  const std::uint32_t bits = layout_of(of.key).bits;
  const sort_course course = course_of(ranks, mine, mine, of.moved_bytes(), bits, bounds);
  const double n = static_cast<double>(mine);
  const double parts = std::min(most_parts, std::max(n * ranks / rows_of_part, 32.0 * ranks));
  constexpr std::uint64_t part_bytes = sizeof(std::uint16_t);  // of the number of a row's part
  const double found =
      fitted::find_parts_of_copy * on_one.stream(mine * (std::min(of.row_bytes, least_bytes_read) + part_bytes));
  const double move = fitted::move_rows_of_copy * on_one.stream(mine * (2 * of.moved_bytes() + part_bytes));
  const double cut_rows = bits <= counted_bits ? 0 : n * ranks / parts;
  const double cuts = std::min(2, ranks - 1);
  const auto cut_bytes = cuts * cut_rows * static_cast<double>(of.moved_bytes()) / ranks;
  const arrivals at = arrivals_of(course, move, sent_bytes(of, ranks), cut_bytes, link);
  double done = std::max(move, at.of_cuts);
  if (cut_rows > 0) done += cuts * on_one.sort(static_cast<std::uint64_t>(cut_rows) + 1, bits);
  for (std::size_t g = 0; g < at.of_groups.size(); ++g)
    done = std::max(done, at.of_groups[g]) + link.wait_seconds + seconds_of_group(of, n * course.share(g), on_one);
  if (bits > counted_bits)
    cost.add("sample", fitted::sample_seconds + on_one.sort(static_cast<std::uint64_t>(sampled_keys / ranks), bits) +
                           link.wait_seconds + link.message_seconds);
  cost.add("parts of rows", found);
  cost.add("plan", fitted::plan_seconds);
  cost.add("rows to their parts", move);
  cost.add("exchanges and sorts behind these", done - move);
  cost.add("messages", 2 * link.message_seconds);
  cost.add("waits", 4 * link.wait_seconds);
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
  } else if (link.are_devices && are_few_rows(of.rows, bounds)) {
    add_steps_of_few(cost, of, ranks, on_one, link);
  } else if (link.are_devices) {
    add_part_steps(cost, of, ranks, bounds, on_one, link);
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
  const auto stream = [ctx](std::uint64_t bytes) {
    return static_cast<double>(bytes) / ctx.profile().copy_bytes_per_second;
  };
  return {sort, [stream, of](std::uint64_t rows) { return stream(rows * of.row_bytes); }, stream};
}

double sort_seconds(const context& ctx, const sort_shape& of, int ranks, const link_rates& link) {
  return sort_cost(of, ranks, {}, planned_steps(ctx, of), link).seconds();
}

}  // namespace sheaf::distributed
