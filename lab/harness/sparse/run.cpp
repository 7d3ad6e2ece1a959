#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/sparse/command.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/harness/sparse/placed_matrix.hpp"
#include "lab/peers/sparse/cusparse.hpp"
#include "lab/peers/sparse/eigen.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/words.hpp"

namespace sheaf::bench {
namespace {

struct sparse_contender {
  std::string who;
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity();  ///< the least of all rounds
};

/// By the device's clock where it has one.
double seconds_of(const context& ctx, queue_clock* clock, const std::function<void()>& run) {
  if (clock != nullptr) {
    clock->start();
    run();
    clock->stop();
    return clock->seconds();
  }
  const auto begin = std::chrono::steady_clock::now();
  run();
  ctx.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs the contenders in turn, so that what else the machine does falls on all of them alike.
void time_all(const context& ctx, std::vector<sparse_contender>& all, double seconds) {
  constexpr int least_rounds = 3;
  const std::unique_ptr<queue_clock> clock = make_queue_clock(ctx);
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (int round = 0; round < least_rounds || spent() < seconds; ++round) {
    for (sparse_contender& c : all) c.seconds = std::min(c.seconds, seconds_of(ctx, clock.get(), c.run));
  }
}

void add_peers(const context& ctx, const csr_view& a, const_values x, values y, bool transposed,
               std::vector<sparse_contender>& all) {
  if (ctx.backend() == backend_kind::cuda) {
    for (peers::named_product& peer : peers::cusparse_products(ctx, a, x, y, transposed)) {
      all.push_back({std::move(peer.who), std::move(peer.run)});
    }
    return;
  }
  std::vector<int> peer_threads{1};
  if (ctx.threads() > 1) peer_threads.push_back(ctx.threads());
  for (const int threads : peer_threads) {
    if (auto peer = peers::eigen_product(a, x, y, transposed, threads)) {
      all.push_back({fmt::format("eigen, {} thread{}", threads, threads == 1 ? "" : "s"), std::move(peer)});
    }
  }
}

/// The preparation that the planner takes, and where they are asked for all others that can be made.
std::deque<prepared_spmv> prepared_products(const context& ctx, const csr_view& a, const spmv_request& request,
                                            const spmv_options& options) {
  constexpr std::uint64_t expected_runs = 1000;
  std::deque<prepared_spmv> all;
  const auto prepare = [&](std::string_view variant) {
    all.push_back(prepare_spmv(ctx, a, expected_runs,
                               {.transposed = options.transposed, .sums = options.sums, .variant = variant}));
  };
  prepare({});
  if (!request.variants) return all;
  const std::string chosen = all.front().report().variant;
  for (const primitives::prepare_spmv_variant& v : primitives::prepare_spmv_variants()) {
    if (!v.works_on(ctx.backend()) || v.name == chosen) continue;
    try {
      prepare(v.name);
    } catch (const error& e) {
      if (e.code() != error_code::no_variant && e.code() != error_code::out_of_memory) throw;
    }
  }
  return all;
}

template <class Value>
bool run_matrix(const context& ctx, const spmv_request& request, const std::string& name,
                const io::csr_matrix<Value>& m) {
  const placed_matrix<Value> placed(ctx, m);
  const csr_view& a = placed.view;
  std::vector<Value> x(request.transposed ? m.rows : m.columns);
  std::vector<Value> y(request.transposed ? m.columns : m.rows);
  for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<Value>(static_cast<double>(i % 1001) / 1001 - 0.5);
  const placed_array<Value> placed_x(ctx, x.data(), x.size());
  const placed_array<Value> placed_y(ctx, y.data(), y.size());
  const const_values from(placed_x.data(), x.size(), const_values(x).type);
  const values to(const_cast<Value*>(placed_y.data()), y.size(), const_values(y).type);
  std::vector<sparse_contender> all;
  const auto add = [&](std::string who, std::function<void()> run) { all.push_back({std::move(who), std::move(run)}); };
  const spmv_options options{.transposed = request.transposed,
                             .sums = request.wide_sums ? spmv_sums::f64 : spmv_sums::as_values};
  add("sheaf", [&] { spmv(ctx, a, from, to, options); });
  const explanation why = explain_spmv(ctx, a, from, to, options);
  for (const variant_estimate& v : why.variants) {
    if (!v.applicable || v.chosen || v.variant.starts_with("reference.")) continue;
    add(v.variant, [&] {
      spmv_options by_variant = options;
      by_variant.variant = v.variant;
      spmv(ctx, a, from, to, by_variant);
    });
  }
  const std::deque<prepared_spmv> all_prepared = prepared_products(ctx, a, request, options);
  for (const prepared_spmv& prepared : all_prepared) {
    const bool is_choice = &prepared == &all_prepared.front();
    add((is_choice ? "prepared, " : "prepared by ") + prepared.report().variant, [&] { prepared.run(from, to); });
  }
  if (!request.wide_sums) add_peers(ctx, a, from, to, request.transposed, all);
  time_all(ctx, all, request.seconds);
  bool all_right = true;
  fmt::print("{}: {} rows, {} columns, {} nonzeros\n", name, m.rows, m.columns, m.entries());
  for (const prepared_spmv& prepared : all_prepared) {
    const spmv_preparation& report = prepared.report();
    fmt::print("  {} prepared in {:.3f} ms, keeps {} bytes, pays after {} runs of {}\n", report.variant,
               report.preparation_seconds * 1e3, report.kept_bytes, report.pays_after_runs, report.product);
  }
  const csr_view in_host(m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values);
  for (const sparse_contender& c : all) {
    std::fill(y.begin(), y.end(), std::numeric_limits<Value>::quiet_NaN());
    if (to.data != y.data()) copy_bytes(ctx, to.data, y.data(), y.size() * sizeof(Value));
    c.run();
    ctx.wait();
    if (to.data != y.data()) copy_bytes(ctx, y.data(), to.data, y.size() * sizeof(Value));
    const auto mistake = jobs::product_mistake(in_host, const_values(x), const_values(y),
                                               {1, 0, nullptr, request.transposed, context::cpu().threads()});
    const double entries = std::max(1.0, static_cast<double>(m.entries()));
    fmt::print("  {:<32} {:8.3f} ms {:7.3f} ns a nonzero  {}\n", c.who, c.seconds * 1e3, c.seconds * 1e9 / entries,
               mistake ? "WRONG: " + *mistake : "ok");
    all_right = all_right && !mistake;
  }
  return all_right;
}

template <class Value>
bool run_typed(const context& ctx, const spmv_request& request) {
  bool all_right = true;
  for (const std::string& file : request.files) {
    const auto m =
        io::read_matrix_market<Value>(file, {.bytes_of_a_row = sizeof(Value), .bytes_of_a_column = sizeof(Value)});
    all_right = run_matrix(ctx, request, file, m) && all_right;
  }
  if (!request.files.empty()) return all_right;
  std::vector<matrix_kind> kinds = request.large ? large_matrix_kinds() : matrix_kinds();
  if (!request.large) kinds.insert(kinds.end(), stand_ins().begin(), stand_ins().end());
  for (const matrix_kind& kind : kinds) {
    io::csr_matrix<double> made = kind.make(request.quick);
    io::csr_matrix<Value> m;
    m.rows = made.rows;
    m.columns = made.columns;
    m.row_offsets = std::move(made.row_offsets);
    m.column_indices = std::move(made.column_indices);
    m.values.assign(made.values.begin(), made.values.end());
    all_right = run_matrix(ctx, request, kind.name, m) && all_right;
  }
  return all_right;
}

}  // namespace

bool run_spmv(const context& ctx, const spmv_request& request) {
  fmt::print("sparse matrix-vector products, {}{}{}, {}\n", request.narrow ? "f32" : "f64",
             request.wide_sums ? ", sums of f64" : "", request.transposed ? ", transposed" : "",
             platform_of(ctx).machine);
  return request.narrow ? run_typed<float>(ctx, request) : run_typed<double>(ctx, request);
}

}  // namespace sheaf::bench
