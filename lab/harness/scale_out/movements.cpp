#include <bit>

#include <fmt/format.h>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/scatter.hpp>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/split.hpp>

#include "distributed/movement/cost.hpp"
#include "lab/harness/scale_out/trial.hpp"
#include "lab/inputs/pattern.hpp"

namespace sheaf::bench::scale_out {
namespace {

constexpr std::uint64_t table_seed = 3;

struct movement_terms {
  bool is_scatter = false;
  std::uint64_t width = 8;
  bool is_prepared = false;
};

/// A part of a list, the records beside it, and the part of the rows that it names. A gather reads the rows, a scatter
/// the records.
struct movement_arrays {
  std::uint64_t count;
  std::uint64_t width;
  bool is_scatter;
  buffer list, in, out;

  /// @param first  entry and row of the part, of `all` in the whole
  movement_arrays(const context& ctx, const movement_terms& of, std::uint64_t of_part, std::uint64_t first,
                  std::uint64_t all)
      : count(of_part),
        width(of.width),
        is_scatter(of.is_scatter),
        list(ctx, count * sizeof(std::uint32_t)),
        in(random_words(ctx, count * width / 8, first * width / 8, table_seed)),
        out(ctx, in.size()) {
    const inputs::pattern order{of.is_scatter ? inputs::pattern_kind::permutation : inputs::pattern_kind::uniform};
    inputs::fill_index(ctx, order, all, index(), first);
  }

  index_span index(std::uint64_t n) const { return {list.data(), n, index_type::u32}; }
  index_span index() const { return index(count); }
  const_records source() const { return {in.data(), count, width}; }
  records target() const { return {out.data(), count, width}; }

  void move(const context& ctx, std::uint64_t entries) const {
    if (is_scatter) {
      sheaf::scatter(ctx, const_records(in.data(), entries, width), index(entries), target());
    } else {
      sheaf::gather(ctx, source(), index(entries), records(out.data(), entries, width));
    }
  }
  void move(const context& ctx) const { move(ctx, count); }
  std::uint64_t sum(const context& ctx, std::uint64_t first) const {
    return sum_of(ctx, out.data(), count * width / 8, first * width / 8);
  }
};

/// A stable split of pairs of numbers by one of as many owners as there are ranks.
double split_seconds(const stage& on, std::uint64_t entries) {
  const context& ctx = on.ctx();
  const buffer owners = random_words(ctx, entries / 8 + 1, 0, 9);
  const buffer pairs = random_words(ctx, entries, 0, 10);
  const buffer out(ctx, entries * 8);
  // Owners are drawn from 256; bits of one owner for each rank decide.
  const auto bits = static_cast<std::uint32_t>(std::bit_width(on.size() - 1));
  const split_key key = split_key::of(const_records(owners.data(), entries, 1), {0, std::max(1U, bits)});
  return seconds_alone(
      ctx, [&] { sheaf::split(ctx, const_records(pairs.data(), entries, 8), key, records(out.data(), entries, 8)); });
}

distributed::movement_shape shape_of(const stage& on, const movement_terms& of, std::uint64_t rows) {
  return {rows * on.size(), rows * on.size(), of.width, of.is_prepared, of.is_scatter};
}

distributed::call_cost cost_of(const stage& on, const movement_terms& of, std::uint64_t rows) {
  const context& ctx = on.ctx();
  const movement_arrays own(ctx, of, rows, 0, rows);
  const auto move = measured_once<std::uint64_t>(
      [&](std::uint64_t entries) { return seconds_alone(ctx, [&] { own.move(ctx, entries); }); });
  const auto split = measured_once<std::uint64_t>([&](std::uint64_t entries) { return split_seconds(on, entries); });
  const auto stream = measured_once<std::uint64_t>([&](std::uint64_t bytes) { return stream_seconds(ctx, bytes); });
  const auto pass = measured_once<std::uint64_t>([&](std::uint64_t entries) {
    std::vector<std::uint64_t> histogram(2048);
    std::vector<std::uint32_t> bins(entries);
    const auto* const words = own.in.as<std::uint64_t>();
    return seconds_alone(ctx, [&] {
      for (std::uint64_t i = 0; i < entries; ++i) ++histogram[bins[i] = static_cast<std::uint32_t>(words[i] >> 53)];
    });
  });
  const distributed::movement_steps steps{[move](std::uint64_t entries, std::uint64_t) { return move(entries); }, split,
                                          stream, pass};
  return distributed::movement_cost(shape_of(on, of, rows), on.ranks.size(), on.ranks.bounds(), steps, on.link,
                                    !of.is_scatter);
}

void run_movement(const stage& on, const movement_terms& of) {
  const context& ctx = on.ctx();
  const std::uint64_t rows = of.width == 8 ? on.rows_of_device : on.rows_of_device * 16 / of.width;
  const std::uint64_t all = rows * on.size();
  const char* const call = of.is_scatter ? "scatter" : "gather";
  if (rows == 0 || all > ~std::uint32_t{0}) {
    if (on.is_first() && !of.is_prepared) {
      fmt::print(stderr, "sheaf-bench: scale-out: {} of records of {} bytes: left out: {}\n", call, of.width,
                 rows == 0 ? "a device has none of them" : fmt::format("there are {}, and indices are u32", all));
    }
    return;
  }
  const movement_arrays mine(ctx, of, rows, on.first(rows), all);
  const movement_arrays own(ctx, of, rows, 0, rows);
  const auto where = distributed::layout::even(all, on.ranks.size());
  trial t{.problem = fmt::format("{}/{}/r{}/u32/n={}", call, of.is_scatter ? "permutation" : "uniform", of.width, rows),
          .is_prepared = of.is_prepared};
  const auto prepare = [&](auto make) { return std::make_shared<decltype(make())>(make()); };
  if (of.is_prepared && of.is_scatter) {
    const auto prepared = prepare([&] { return distributed::prepare_scatter(on.ranks, mine.index(), where); });
    t.together = [&, prepared] { prepared->run(mine.source(), mine.target()); };
  } else if (of.is_prepared) {
    const auto prepared = prepare([&] { return distributed::prepare_gather(on.ranks, mine.index(), where); });
    t.together = [&, prepared] { prepared->run(mine.source(), mine.target()); };
  } else if (of.is_scatter) {
    t.together = [&] { distributed::scatter(on.ranks, mine.source(), mine.index(), mine.target(), where); };
  } else {
    t.together = [&] { distributed::gather(on.ranks, mine.source(), where, mine.index(), mine.target()); };
  }
  t.alone = [&] { own.move(ctx); };
  t.sum = [&] { return mine.sum(ctx, on.first(rows)); };
  t.sum_of_one = [&] {
    const movement_arrays whole(ctx, of, all, 0, all);
    whole.move(ctx);
    return whole.sum(ctx, 0);
  };
  t.cost = [&] { return cost_of(on, of, rows); };
  const bool by_loads = !of.is_scatter && distributed::loads_from_peers(shape_of(on, of, rows), on.link);
  t.sent_bytes = distributed::sent_bytes(shape_of(on, of, rows), on.ranks.size(), by_loads);
  measure(on, t);
}

}  // namespace

void run_movements(const stage& on) {
  const auto run = [&](bool is_scatter, std::uint64_t width) {
    for (const bool is_prepared : {false, true})
      run_movement(on, {.is_scatter = is_scatter, .width = width, .is_prepared = is_prepared});
  };
  if (on.request.wants("gather")) {
    for (const std::uint64_t width : {8U, 128U, 1024U}) run(false, width);
  }
  if (on.request.wants("scatter")) {
    for (const std::uint64_t width : {8U, 128U}) run(true, width);
  }
}

}  // namespace sheaf::bench::scale_out
