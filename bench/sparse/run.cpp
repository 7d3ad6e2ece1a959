#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "bench/peers/eigen.hpp"
#include "bench/sparse/command.hpp"
#include "bench/sparse/matrices.hpp"
#include "io/sparse/matrix_market.hpp"
#include "jobs/checks/spmv.hpp"
#include "primitives/entries/words.hpp"

namespace sheaf::bench {
namespace {

struct sparse_contender {
  std::string who;
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity();  ///< the least of all rounds
};

double seconds_of(const context& ctx, const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  ctx.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs the contenders in turn, so that what else the machine does falls on all of them alike.
void time_all(const context& ctx, std::vector<sparse_contender>& all, double seconds) {
  constexpr int least_rounds = 3;
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (int round = 0; round < least_rounds || spent() < seconds; ++round) {
    for (sparse_contender& c : all) c.seconds = std::min(c.seconds, seconds_of(ctx, c.run));
  }
}

template <class Value>
bool run_matrix(const context& ctx, const spmv_request& request, const std::string& name,
                const io::csr_matrix<Value>& m) {
  const csr_view a(m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values);
  std::vector<Value> x(request.transposed ? m.rows : m.columns);
  std::vector<Value> y(request.transposed ? m.columns : m.rows);
  for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<Value>(static_cast<double>(i % 1001) / 1001 - 0.5);
  const const_values from(x);
  const values to(y);
  std::vector<sparse_contender> all;
  const auto add = [&](std::string who, std::function<void()> run) { all.push_back({std::move(who), std::move(run)}); };
  add("sheaf", [&] { spmv(ctx, a, from, to, {.transposed = request.transposed}); });
  const explanation why = explain_spmv(ctx, a, from, to, {.transposed = request.transposed});
  for (const variant_estimate& v : why.variants) {
    if (!v.applicable || v.chosen || v.variant.starts_with("reference.")) continue;
    add(v.variant, [&] { spmv(ctx, a, from, to, {.transposed = request.transposed, .variant = v.variant}); });
  }
  const prepared_spmv prepared = prepare_spmv(ctx, a, 1000, {.transposed = request.transposed});
  add("prepared, " + prepared.report().variant, [&] { prepared.run(from, to); });
  std::vector<int> peer_threads{1};
  if (ctx.threads() > 1) peer_threads.push_back(ctx.threads());
  for (const int threads : peer_threads) {
    if (auto peer = peers::eigen_product(a, from, to, request.transposed, threads)) {
      add(fmt::format("eigen, {} thread{}", threads, threads == 1 ? "" : "s"), std::move(peer));
    }
  }
  time_all(ctx, all, request.seconds);
  bool all_right = true;
  fmt::print("{}: {} rows, {} columns, {} nonzeros\n", name, m.rows, m.columns, m.entries());
  for (const sparse_contender& c : all) {
    std::fill(y.begin(), y.end(), std::numeric_limits<Value>::quiet_NaN());
    c.run();
    ctx.wait();
    const auto mistake = jobs::product_mistake(a, from, to, {1, 0, nullptr, request.transposed});
    const double entries = std::max(1.0, static_cast<double>(m.entries()));
    fmt::print("  {:<24} {:8.3f} ms {:7.3f} ns a nonzero  {}\n", c.who, c.seconds * 1e3, c.seconds * 1e9 / entries,
               mistake ? "WRONG: " + *mistake : "ok");
    all_right = all_right && !mistake;
  }
  return all_right;
}

template <class Value>
bool run_typed(const context& ctx, const spmv_request& request) {
  bool all_right = true;
  for (const std::string& file : request.files) {
    all_right = run_matrix(ctx, request, file, io::read_matrix_market<Value>(file)) && all_right;
  }
  if (!request.files.empty()) return all_right;
  for (const matrix_kind& kind : matrix_kinds()) {
    const io::csr_matrix<double> made = kind.make(request.quick);
    io::csr_matrix<Value> m;
    m.rows = made.rows;
    m.columns = made.columns;
    m.row_offsets = made.row_offsets;
    m.column_indices = made.column_indices;
    m.values.assign(made.values.begin(), made.values.end());
    all_right = run_matrix(ctx, request, kind.name, m) && all_right;
  }
  return all_right;
}

}  // namespace

bool run_spmv(const context& ctx, const spmv_request& request) {
  if (ctx.backend() != backend_kind::cpu) {
    throw error(error_code::bad_argument, "spmv: measured on the CPU alone");
  }
  fmt::print("sparse matrix-vector products, {}{}, {} threads\n", request.narrow ? "f32" : "f64",
             request.transposed ? ", transposed" : "", ctx.threads());
  return request.narrow ? run_typed<float>(ctx, request) : run_typed<double>(ctx, request);
}

}  // namespace sheaf::bench
