#include <cmath>

#include <fmt/format.h>
#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/distributed/spmv.hpp>
#include <sheaf/spmv.hpp>

#include "core/context_state.hpp"
#include "distributed/sparse/cost.hpp"
#include "lab/harness/scale_out/trial.hpp"

namespace sheaf::bench::scale_out {
namespace {

constexpr std::uint64_t vector_seed = 4;
// Preparations, which a solve begins with, are left out: times of two numbers of iterations are subtracted.
constexpr std::uint64_t few_iterations = 20;

struct system_terms {
  bool is_grid = true;
  std::uint64_t rows = 0;  ///< of a device
  std::uint64_t side = 1;  ///< of a plane of the grid

  std::uint64_t entries_of_a_row() const { return is_grid ? 7 : 16; }
};

/// Rows of a matrix from `first` on, with columns of all rows, and the values of x and y beside them.
struct system_part {
  std::uint64_t rows;
  std::uint64_t all;
  std::uint64_t entries;
  buffer offsets, columns, values_of, x, y;

  system_part(const context& ctx, const system_terms& of, std::uint64_t of_part, std::uint64_t first,
              std::uint64_t of_all)
      : rows(of_part),
        all(of_all),
        entries(rows * of.entries_of_a_row()),
        offsets(ctx, (rows + 1) * 8),
        columns(ctx, entries * 4),
        values_of(ctx, entries * 8),
        x(ctx, rows * 8),
        y(ctx, rows * 8) {
    jobs::over_items(ctx, rows + 1, fill_equal_offsets{offsets.as<std::uint64_t>(), of.entries_of_a_row()});
    auto* const column = columns.as<std::uint32_t>();
    auto* const value = values_of.as<double>();
    if (of.is_grid) {
      jobs::over_items(ctx, entries, fill_grid_entries{column, value, first, of.side, all});
    } else {
      jobs::over_items(ctx, entries, fill_band_entries{column, value, first, all});
    }
    jobs::over_items(ctx, rows, fill_whole_numbers{x.as<double>(), first, vector_seed});
  }

  csr_view matrix() const {
    return {rows, all, index_span(offsets.data(), rows + 1, index_type::u64),
            index_span(columns.data(), entries, index_type::u32),
            const_values(values_of.data(), entries, value_type::f64)};
  }
  const_values in() const { return {x.data(), rows, value_type::f64}; }
  values out() const { return {y.data(), rows, value_type::f64}; }
  std::uint64_t sum(const context& ctx, std::uint64_t first) const { return sum_of(ctx, y.data(), rows, first); }
};

std::string problem_of(const char* call, const system_terms& of, const char* iterations) {
  return fmt::format("{}/{}:x{}{}/r8/u32+u64+f64/n={}", call, of.is_grid ? "grid" : "banded", of.entries_of_a_row(),
                     iterations, of.rows * of.entries_of_a_row());
}

distributed::layout parts_of(const system_terms& of, int ranks) {
  return distributed::layout::even(of.rows * static_cast<std::uint64_t>(ranks), ranks, distributed::system_block_rows);
}

/// The most that a rank takes.
std::uint64_t largest_halo(const stage& on, const distributed::prepared_spmv& prepared) {
  return static_cast<std::uint64_t>(
      std::ranges::max(numbers_of_ranks(on.ranks, static_cast<double>(prepared.report().halo))));
}

void run_product(const stage& on, const system_terms& of) {
  const context& ctx = on.ctx();
  const std::uint64_t all = of.rows * on.size();
  const system_part mine(ctx, of, of.rows, on.first(of.rows), all);
  const system_part own(ctx, of, of.rows, 0, of.rows);
  const auto parts = parts_of(of, on.ranks.size());
  const auto prepared = distributed::prepare_spmv(on.ranks, mine.matrix(), parts, parts);
  const auto prepared_alone = sheaf::prepare_spmv(ctx, own.matrix(), expected_runs);
  const distributed::system_shape shape{all, all * of.entries_of_a_row(), largest_halo(on, prepared)};
  trial t{.problem = problem_of("spmv", of, ""), .is_prepared = true};
  t.together = [&] { prepared.run(mine.in(), mine.out()); };
  t.alone = [&] { prepared_alone.run(own.in(), own.out()); };
  t.sum = [&] { return mine.sum(ctx, on.first(of.rows)); };
  t.sum_of_one = [&] {
    const system_part whole(ctx, of, all, 0, all);
    sheaf::spmv(ctx, whole.matrix(), whole.in(), whole.out());
    return whole.sum(ctx, 0);
  };
  t.cost = [&] {
    const distributed::group one = group_of_one(ctx);
    const auto by_itself = parts_of(of, 1);
    const auto product = distributed::prepare_spmv(one, own.matrix(), by_itself, by_itself);
    const double seconds = seconds_alone(ctx, [&] { product.run(own.in(), own.out()); });
    return distributed::product_cost(on.ranks.size(), shape, {seconds, 0}, on.link);
  };
  t.sent_bytes = distributed::halo_bytes(shape);
  measure(on, t);
}

conjugate_gradient_options limited_to(std::uint64_t iterations) {
  conjugate_gradient_options options;
  options.tolerance = 0;
  options.iteration_limit = iterations;
  options.keeps_last = true;
  return options;
}

void solve(const distributed::group& ranks, const system_part& mine, const distributed::layout& parts,
           std::uint64_t iterations) {
  ranks.local().state().fill(mine.y.data(), 0, mine.y.size());
  distributed::conjugate_gradient(ranks, mine.matrix(), parts, mine.in(), mine.out(), limited_to(iterations));
}

void solve_alone(const context& ctx, const system_part& own, std::uint64_t iterations) {
  ctx.state().fill(own.y.data(), 0, own.y.size());
  sheaf::conjugate_gradient(ctx, own.matrix(), own.in(), own.out(), limited_to(iterations));
}

/// Seconds of an iteration: what many take more than few. Above 0, also where the clock sees no difference.
double iteration_seconds(const std::function<void(std::uint64_t)>& solve_for, std::uint64_t many) {
  double seconds[2] = {0, 0};
  for (const bool is_many : {false, true}) {
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
      const double begin = now();
      solve_for(is_many ? many : few_iterations);
      times.push_back(now() - begin);
    }
    seconds[is_many ? 1 : 0] = summary_of(times).median_seconds;
  }
  return std::max(1e-9, (seconds[1] - seconds[0]) / static_cast<double>(many - few_iterations));
}

double product_seconds(const context& ctx, const distributed::group& one, const system_terms& of,
                       const system_part& own) {
  const auto parts = parts_of(of, 1);
  const auto product = distributed::prepare_spmv(one, own.matrix(), parts, parts);
  return seconds_alone(ctx, [&] { product.run(own.in(), own.out()); });
}

void run_iterations(const stage& on, const system_terms& of) {
  const context& ctx = on.ctx();
  const std::uint64_t all = of.rows * on.size();
  const std::uint64_t many = few_iterations + on.request.iterations;
  const system_part mine(ctx, of, of.rows, on.first(of.rows), all);
  const system_part own(ctx, of, of.rows, 0, of.rows);
  const auto parts = parts_of(of, on.ranks.size());
  const auto halo = largest_halo(on, distributed::prepare_spmv(on.ranks, mine.matrix(), parts, parts));
  const distributed::system_shape shape{all, all * of.entries_of_a_row(), halo};
  row found{.problem = problem_of("conjugate_gradient", of, ":i1"), .where = on.where};
  solve(on.ranks, mine, parts, few_iterations);
  const double together = iteration_seconds([&](std::uint64_t n) { solve(on.ranks, mine, parts, n); }, many);
  solve_alone(ctx, own, few_iterations);
  const double alone = iteration_seconds([&](std::uint64_t n) { solve_alone(ctx, own, n); }, many);
  const double slowest = std::ranges::max(numbers_of_ranks(on.ranks, together));
  found.time = {slowest, slowest, slowest, 3};
  found.one_seconds = std::ranges::max(numbers_of_ranks(on.ranks, alone));
  found.sent_bytes = distributed::halo_bytes(shape) + distributed::sum_bytes(shape, on.ranks.size());
  solve(on.ranks, mine, parts, few_iterations);
  const std::uint64_t sum = sum_of_ranks(on.ranks, mine.sum(ctx, on.first(of.rows)));
  std::uint64_t sum_of_one = 0;
  if (on.is_first()) {
    const distributed::group one = group_of_one(ctx);
    {
      const system_part whole(ctx, of, all, 0, all);
      solve(one, whole, distributed::layout::even(all, 1, distributed::system_block_rows), few_iterations);
      sum_of_one = whole.sum(ctx, 0);
    }
    const double iteration = iteration_seconds([&](std::uint64_t n) { solve(one, own, parts_of(of, 1), n); }, many);
    const double product = product_seconds(ctx, one, of, own);
    found.cost = distributed::iteration_cost(on.ranks.size(), shape, {product, iteration}, on.link);
  }
  found.verified = sum_of_ranks(on.ranks, sum_of_one) == sum;
  if (on.found != nullptr) {
    print(found);
    on.found->rows.push_back(found);
  }
}

/// As many rows as the grid's planes have, in blocks of those that dot products are summed in.
system_terms grid_of(std::uint64_t about) {
  const auto side = static_cast<std::uint64_t>(std::cbrt(static_cast<double>(about)));
  const std::uint64_t plane = std::max<std::uint64_t>(1, side * side);
  const std::uint64_t rows = about / plane * plane / distributed::system_block_rows * distributed::system_block_rows;
  return {true, std::max<std::uint64_t>(rows, distributed::system_block_rows), std::max<std::uint64_t>(1, side)};
}

}  // namespace

void run_systems(const stage& on) {
  const std::uint64_t about = std::max<std::uint64_t>(on.rows_of_device / 2, 512);
  if (on.request.wants("spmv")) {
    run_product(on, grid_of(about));
    run_product(on, {false, about / 2 / distributed::system_block_rows * distributed::system_block_rows, 1});
  }
  if (on.request.wants("cg")) run_iterations(on, grid_of(about));
}

}  // namespace sheaf::bench::scale_out
