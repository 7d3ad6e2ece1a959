#include <fmt/format.h>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/split.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "distributed/sort/cost.hpp"
#include "distributed/sort/keys.hpp"
#include "lab/harness/scale_out/trial.hpp"

namespace sheaf::bench::scale_out {
namespace {

constexpr std::uint64_t key_seed = 1;
constexpr std::uint64_t value_seed = 2;

/// Rows of random words, and values of 8 bytes beside them or none; and where they are sorted to.
struct sort_arrays {
  std::uint64_t count;
  std::uint64_t width;
  buffer rows, values, rows_out, values_out;

  sort_arrays(const context& ctx, std::uint64_t rows_of_part, std::uint64_t row_bytes, bool has_values,
              std::uint64_t first)
      : count(rows_of_part),
        width(row_bytes),
        rows(random_words(ctx, count * width / 8, first * width / 8, key_seed)),
        values(has_values ? random_words(ctx, count, first, value_seed) : buffer()),
        rows_out(ctx, rows.size()),
        values_out(ctx, values.size()) {}

  bool has_values() const { return values.size() > 0; }
  const_records in(std::uint64_t n) const { return {rows.data(), n, width}; }
  const_records in() const { return in(count); }
  const_records values_in() const { return {values.data(), count, 8}; }

  /// The first n rows, by the highest bits of the key.
  void sort(const context& ctx, const sort_key& key, std::uint64_t n) const {
    const records to(rows_out.data(), n, width);
    if (!has_values()) return sheaf::sort_records(ctx, in(n), key, to);
    const sort_column column{const_records(values.data(), n, 8), records(values_out.data(), n, 8)};
    sheaf::sort_pairs(ctx, in(n), key, to, {&column, 1});
  }
  std::uint64_t sum(const context& ctx) const {
    const std::uint64_t of_rows = sum_of(ctx, rows_out.data(), count * width / 8, 0);
    return has_values() ? of_rows + sum_of(ctx, values_out.data(), count, 0) * 3 : of_rows;
  }
};

sort_key with_bits(sort_key key, std::uint32_t bits) {
  key_field& field = key.fields[0];
  const std::uint32_t all = primitives::bits_of(field);
  if (bits < all) {
    field.first_bit += all - bits;
    field.bit_count = bits;
  }
  return key;
}

/// What a sort is of.
struct sort_terms {
  const char* problem;  ///< all of its name but the count
  std::uint64_t width = 8;
  bool has_values = false;
  bool is_split = false;
};

/// An answer that lies on ranks.
struct sorted_part {
  distributed::owned_records rows;
  distributed::owned_records values;
  std::uint64_t first = 0;

  std::uint64_t sum(const context& ctx) const {
    const std::uint64_t words = rows.record_bytes / 8;
    const std::uint64_t of_rows = sum_of(ctx, rows.memory.data(), rows.count * words, first * words);
    return values.count > 0 ? of_rows + sum_of(ctx, values.memory.data(), values.count, first) * 3 : of_rows;
  }
};

const split_key byte_of_row = split_key::of_record({0, 8});

void sort_together(const stage& on, const sort_arrays& mine, const sort_terms& of, const sort_key& key,
                   sorted_part& out) {
  out = {};
  const auto keep = [&](distributed::owned_records& rows, const distributed::layout& where) {
    out.rows = std::move(rows);
    out.first = where.begin(on.ranks.rank());
  };
  if (of.is_split) {
    auto found = distributed::split(on.ranks, mine.in(), byte_of_row, distributed::balance::exact, false);
    keep(found.rows, found.where);
  } else if (of.has_values) {
    const const_records values = mine.values_in();
    auto found = distributed::sort_pairs(on.ranks, mine.in(), key, {&values, 1});
    keep(found.keys, found.where);
    out.values = std::move(found.values.front());
  } else {
    auto found = distributed::sort_records(on.ranks, mine.in(), key);
    keep(found.rows, found.where);
  }
}

void sort_alone(const context& ctx, const sort_arrays& all, const sort_terms& of, const sort_key& key) {
  if (of.is_split) {
    sheaf::split(ctx, all.in(), byte_of_row, records(all.rows_out.data(), all.count, all.width));
  } else {
    all.sort(ctx, key, all.count);
  }
}

distributed::call_cost cost_of(const stage& on, const sort_arrays& mine, const sort_key& key) {
  distributed::sort_shape shape{mine.count * on.size(), mine.width, {}, key};
  if (mine.has_values()) shape.value_bytes = {8};
  using rows_and_bits = std::pair<std::uint64_t, std::uint32_t>;
  const auto sort = measured_once<rows_and_bits>([&](rows_and_bits of) {
    const std::uint64_t rows = std::max<std::uint64_t>(1, of.first);
    return seconds_alone(on.ctx(), [&] { mine.sort(on.ctx(), with_bits(key, of.second), rows); });
  });
  // On the host: keys are read and counted by their highest bits.
  const auto pass = measured_once<std::uint64_t>([&](std::uint64_t rows) {
    std::vector<std::uint64_t> histogram(2048);
    std::vector<std::uint32_t> bins(rows);
    const std::uint64_t words = mine.width / 8;
    const auto* const keys = mine.rows.as<std::uint64_t>();
    return seconds_alone(on.ctx(), [&] {
      for (std::uint64_t i = 0; i < rows; ++i) ++histogram[bins[i] = static_cast<std::uint32_t>(keys[i * words] >> 53)];
    });
  });
  const auto stream =
      measured_once<std::uint64_t>([&](std::uint64_t bytes) { return stream_seconds(on.ctx(), bytes); });
  const distributed::sort_steps steps{[sort](std::uint64_t rows, std::uint32_t bits) {
                                        return sort({rows, bits});
                                      },
                                      pass, stream};
  return distributed::sort_cost(shape, on.ranks.size(), on.ranks.bounds(), steps, on.link);
}

void run_sort(const stage& on, const sort_terms& of) {
  const context& ctx = on.ctx();
  const std::uint64_t rows = of.width == 8 ? on.rows_of_device : on.rows_of_device * 16 / of.width;
  if (rows == 0) return;
  const sort_key key =
      of.is_split ? sort_key{key_field{0, 8, key_type::unsigned_integer, false, 0, 8}} : sort_key::of<std::uint64_t>();
  const sort_arrays mine(ctx, rows, of.width, of.has_values, on.first(rows));
  sorted_part found;
  trial t{.problem = fmt::format("{}/n={}", of.problem, rows)};
  t.together = [&] { sort_together(on, mine, of, key, found); };
  t.alone = [&] { sort_alone(ctx, mine, of, key); };
  t.sum = [&] { return found.sum(ctx); };
  t.sum_of_one = [&] {
    const sort_arrays all(ctx, rows * on.size(), of.width, of.has_values, 0);
    sort_alone(ctx, all, of, key);
    return all.sum(ctx);
  };
  t.cost = [&] { return cost_of(on, mine, key); };
  distributed::sort_shape shape{rows * on.size(), of.width, {}, key};
  if (of.has_values) shape.value_bytes = {8};
  t.sent_bytes = distributed::sent_bytes(shape, on.ranks.size());
  const bool is_plain = of.width == 8 && !of.has_values && !of.is_split;
  if (is_plain && on.nccl != nullptr) t.peers = {peers::sort_by_hand(on.ranks, on.nccl, mine.in())};
  measure(on, t);
}

}  // namespace

void run_sorts(const stage& on) {
  const auto is_wanted = [&](const char* call) { return on.request.wants(call); };
  if (is_wanted("sort")) run_sort(on, {.problem = "sort_keys/uniform/r8/u64"});
  if (is_wanted("pairs")) run_sort(on, {.problem = "sort_pairs/uniform/r8/u64", .has_values = true});
  if (is_wanted("records")) run_sort(on, {.problem = "sort_records/uniform/r128/u64", .width = 128});
  if (is_wanted("split")) run_sort(on, {.problem = "split/uniform:b8/r8/own", .is_split = true});
}

}  // namespace sheaf::bench::scale_out
