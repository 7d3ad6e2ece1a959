#include <deque>

#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/requests.hpp"
#include "lab/harness/sparse/calls.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/peers/sparse/cusparse.hpp"
#include "lab/peers/sparse/eigen.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

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
  const double begin = now();
  run();
  ctx.wait();
  return now() - begin;
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
  std::deque<prepared_spmv> all;
  const auto prepare = [&](std::string_view variant) {
    all.push_back(prepare_spmv(
        ctx, a, expected_runs,
        {.transposed = options.transposed, .sums = options.sums, .order = options.order, .variant = variant}));
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

/// A matrix, and what products by it read and write.
template <class Value>
struct placed_spmv {
  placed_spmv(const context& ctx, const io::csr_matrix<Value>& m, bool transposed)
      : matrix(ctx, m),
        x(vector_for<Value>(transposed ? m.rows : m.columns)),
        placed_x(ctx, x.data(), x.size()),
        y(ctx, transposed ? m.columns : m.rows) {}

  const csr_view& a() const { return matrix.view; }
  const_values from() const { return {placed_x.data(), x.size(), const_values(x).type}; }

  placed_matrix<Value> matrix;
  std::vector<Value> x;
  placed_array<Value> placed_x;
  placed_result<Value> y;
};

template <class Value>
void add_ours(const context& ctx, const placed_spmv<Value>& of, const spmv_options& options,
              std::vector<sparse_contender>& all) {
  const auto product = [&ctx, &of, options](const std::string& variant) {
    return [&ctx, &of, options, variant] {
      spmv_options by_variant = options;
      by_variant.variant = variant;
      spmv(ctx, of.a(), of.from(), of.y.view(), by_variant);
    };
  };
  all.push_back({"sheaf", product({})});
  for (const variant_estimate& v : explain_spmv(ctx, of.a(), of.from(), of.y.view(), options).variants) {
    if (!v.applicable || v.chosen || v.variant.starts_with("reference.")) continue;
    all.push_back({v.variant, product(v.variant)});
  }
}

void print_preparations(const std::deque<prepared_spmv>& all) {
  for (const prepared_spmv& prepared : all) {
    const spmv_preparation& report = prepared.report();
    fmt::print("  {} prepared in {:.3f} ms, keeps {} bytes, pays after {} runs of {}\n", report.variant,
               report.preparation_seconds * 1e3, report.kept_bytes, report.pays_after_runs, report.product);
  }
}

/// Prints a row for each contender, whose answer is checked. Returns whether all are right.
template <class Value>
bool judge(const io::csr_matrix<Value>& matrix, placed_spmv<Value>& of, bool transposed,
           const std::vector<sparse_contender>& all) {
  const csr_view in_host(matrix.rows, matrix.columns, matrix.row_offsets, matrix.columns_of_entries(), matrix.values);
  bool all_right = true;
  for (const sparse_contender& contender : all) {
    of.y.wipe();
    contender.run();
    const auto mistake = jobs::product_mistake(in_host, const_values(of.x), const_values(of.y.read()),
                                               {1, 0, nullptr, transposed, context::cpu().threads()});
    const double entries = std::max(1.0, static_cast<double>(matrix.entries()));
    fmt::print("  {:<32} {:8.3f} ms {:7.3f} ns a nonzero  {}\n", contender.who, contender.seconds * 1e3,
               contender.seconds * 1e9 / entries, mistake ? "WRONG: " + *mistake : "ok");
    all_right = all_right && !mistake;
  }
  return all_right;
}

template <class Value>
bool run_matrix(const context& ctx, const spmv_request& request, const std::string& name,
                const io::csr_matrix<Value>& matrix) {
  placed_spmv<Value> of(ctx, matrix, request.transposed);
  const spmv_options options{.transposed = request.transposed,
                             .sums = request.wide_sums ? spmv_sums::f64 : spmv_sums::as_values,
                             .order = request.unordered ? reduction_order::unordered : reduction_order::deterministic};
  std::vector<sparse_contender> all;
  add_ours(ctx, of, options, all);
  const std::deque<prepared_spmv> all_prepared = prepared_products(ctx, of.a(), request, options);
  for (const prepared_spmv& prepared : all_prepared) {
    const bool is_choice = &prepared == &all_prepared.front();
    all.push_back({(is_choice ? "prepared, " : "prepared by ") + prepared.report().variant,
                   [&] { prepared.run(of.from(), of.y.view()); }});
  }
  if (!request.wide_sums) add_peers(ctx, of.a(), of.from(), of.y.view(), request.transposed, all);
  const std::unique_ptr<queue_clock> clock = make_queue_clock(ctx);
  keep_least_seconds(all, request.seconds,
                     [&](const sparse_contender& c) { return seconds_of(ctx, clock.get(), c.run); });
  fmt::print("{}: {} rows, {} columns, {} nonzeros\n", name, matrix.rows, matrix.columns, matrix.entries());
  print_preparations(all_prepared);
  return judge(matrix, of, request.transposed, all);
}

std::vector<matrix_kind> kinds_for(const spmv_request& request) {
  if (request.large) return large_matrix_kinds();
  if (request.unseen) return unseen_matrix_kinds();
  std::vector<matrix_kind> kinds = matrix_kinds();
  kinds.insert(kinds.end(), stand_ins().begin(), stand_ins().end());
  return kinds;
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
  for (const matrix_kind& kind : kinds_for(request)) {
    io::csr_matrix<double> made = kind.make(request.quick);
    io::csr_matrix<Value> matrix;
    matrix.rows = made.rows;
    matrix.columns = made.columns;
    matrix.row_offsets = std::move(made.row_offsets);
    matrix.column_indices = std::move(made.column_indices);
    matrix.values.assign(made.values.begin(), made.values.end());
    all_right = run_matrix(ctx, request, kind.name, matrix) && all_right;
  }
  return all_right;
}

}  // namespace

bool run_spmv(const context& ctx, const spmv_request& request) {
  fmt::print("sparse matrix-vector products, {}{}{}{}, {}\n", request.narrow ? "f32" : "f64",
             request.wide_sums ? ", sums of f64" : "", request.transposed ? ", transposed" : "",
             request.unordered ? ", in any order" : "", platform_of(ctx).machine);
  return request.narrow ? run_typed<float>(ctx, request) : run_typed<double>(ctx, request);
}

}  // namespace sheaf::bench
