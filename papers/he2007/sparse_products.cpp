#include <cstring>

#include <fmt/format.h>

#include "apps/sheaf/checks/spmv.hpp"
#include "lab/harness/now.hpp"
#include "papers/he2007/sparse_system.hpp"
#include "papers/he2007/two_step.hpp"
#include "primitives/sparse/spmv.hpp"

// Section 4.3: products in two steps, by the number of passes of the gather, and the planner's choice beside them.
namespace sheaf::bench::papers::he2007 {
namespace {

/// The product in the result, checked against exact sums.
template <class Value>
std::optional<std::string> product_mistake(const sparse_system<Value>& of) {
  const const_values v(of.ones.data(), of.matrix.columns, sparse_system<Value>::type);
  return jobs::product_mistake(of.in_host, v, of.result.read(), {.threads = of.threads()});
}

/// Products in two steps by each number of passes. Passes change nothing but the order in which R is written, so all
/// have the bits of the first, which is checked.
template <class Value>
times_by_passes sweep_of(const sparse_system<Value>& of) {
  times_by_passes times;
  times.modelled = modelled_passes(of.sizes(), of.run.model_of(of.session));
  std::vector<Value> first;
  const auto mistake_in = [&](const std::vector<Value>& found) -> std::optional<std::string> {
    if (first.empty()) {
      first = found;
      return product_mistake(of);
    }
    if (std::memcmp(first.data(), found.data(), found.size() * sizeof(Value)) == 0) return std::nullopt;
    return "other bits than in one pass";
  };
  for (const std::uint64_t passes : swept_passes(of.session, times.modelled)) {
    const std::string who = fmt::format("product by {}.two_step, {} pass{}", name(of.session.ctx.backend()), passes,
                                        passes == 1 ? "" : "es");
    const bool is_measured = measured_or_left_out(of, who, [&] {
      const two_step_product product(of.session.ctx, of.a(), passes);
      of.result.wipe();
      const timing time = time_of_call(of.session, [&] { product(of.v(), of.to()); });
      times.seconds[passes] = of.note(who, time, mistake_in(of.result.read()));
    });
    // Each further pass scans the columns once more. A small run ends where that has long been the most of the time.
    const bool is_hopeless =
        passes >= std::max(paper_passes, times.modelled) && times.of(passes) > 2 * times.of(times.best());
    if (!is_measured || (is_hopeless && of.session.size == run_size::small)) break;
  }
  return times;
}

}  // namespace

timing time_of_call(const session& s, const std::function<void()>& call) {
  const auto timed = [&](std::uint64_t calls) {
    const double begin = now();
    for (std::uint64_t i = 0; i < calls; ++i) call();
    s.ctx.wait();
    return (now() - begin) / static_cast<double>(calls);
  };
  constexpr double long_seconds = 0.02;
  constexpr double least_seconds = 1e-3;
  std::vector<double> all{timed(1)};
  // A first call that is not long warms up, and is not counted.
  const bool is_long = all[0] >= long_seconds;
  if (!is_long) all[0] = timed(1);
  if (s.size == run_size::tiny) return {all[0], all[0], all[0], 1};
  const std::uint64_t rounds = s.size == run_size::small || all[0] > s.limits.slow_seconds ? 3 : 9;
  const auto calls = static_cast<std::uint64_t>(1 + least_seconds / std::max(all[0], 1e-7));
  if (!is_long || s.size != run_size::small) all.clear();
  while (all.size() < rounds) all.push_back(timed(calls));
  std::ranges::sort(all);
  return {all[rounds / 2], all.front(), all.back(), calls * rounds};
}

std::string product_rate(double seconds, std::uint64_t nonzeros, std::uint64_t products) {
  if (seconds <= 0) return "-";
  return fmt::format("{:.2f}", 2 * static_cast<double>(nonzeros) * static_cast<double>(products) / seconds * 1e-9);
}

column matrix_column() { return {fmt::format("{:>38}", "matrix")}; }

std::vector<column> product_columns() {
  std::vector<column> all{matrix_column(), "values", "rows", "nonzeros", "a row", "x / cache"};
  const std::vector<column> of_passes = times_by_passes::columns();
  all.insert(all.end(), of_passes.begin(), of_passes.end());
  all.insert(all.end(), {"GFLOP/s", "by misses", "choice", "variant"});
  return all;
}

template <class Value>
std::vector<std::string> product_cells(const sparse_system<Value>& of) {
  const auto nonzeros = static_cast<double>(of.matrix.entries());
  const double cache = static_cast<double>(std::max<std::uint64_t>(1, of.session.hardware.cache_bytes));
  std::vector<std::string> cells{
      of.input.name,
      of.type_name,
      count_text(of.matrix.rows),
      count_text(of.matrix.entries()),
      fmt::format("{:.0f}", nonzeros / static_cast<double>(std::max<std::uint64_t>(1, of.matrix.rows))),
      fmt::format("{:.2g}", static_cast<double>(of.matrix.columns * sizeof(Value)) / cache)};
  const times_by_passes times = sweep_of(of);
  const std::vector<std::string> of_passes = times.cells();
  cells.insert(cells.end(), of_passes.begin(), of_passes.end());
  cells.push_back(product_rate(times.of(times.best()), of.matrix.entries()));
  const double modelled = times.of(times.modelled);
  const double moved = moved_by_product(of.sizes(), static_cast<double>(times.modelled), of.run.model_of(of.session));
  cells.push_back(modelled > 0 ? bandwidth_text(moved / modelled) : "-");
  const explanation why = explain_spmv(of.session.ctx, of.a(), of.v(), of.to());
  const bool is_measured = measured_or_left_out(of, "the planner's product", [&] {
    of.result.wipe();
    const timing time = time_of_call(of.session, [&] { spmv(of.session.ctx, of.a(), of.v(), of.to()); });
    of.result.read();
    const double seconds = of.note("product by sheaf", time, product_mistake(of));
    cells.push_back(product_rate(seconds, of.matrix.entries()));
    cells.emplace_back(why.choice() == nullptr ? "-" : why.choice()->variant);
  });
  if (!is_measured) cells.insert(cells.end(), {"-", "-"});
  return cells;
}

template std::vector<std::string> product_cells<float>(const sparse_system<float>&);
template std::vector<std::string> product_cells<double>(const sparse_system<double>&);

}  // namespace sheaf::bench::papers::he2007
