#include "distributed/sparse/cost.hpp"

#include <algorithm>

#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/machine_profile.hpp>
#include <sheaf/spmv.hpp>

#include "distributed/fitted_cost.hpp"

namespace sheaf::distributed {
namespace {

constexpr double sums_of_an_iteration = 2;  // of curvature, and of the residual

/// matrix_part::multiply(): values that others need are gathered and sent, interior rows are multiplied meanwhile, and
/// then the rows of the boundary. On devices the host waits for the values of others, so that an exchange takes its
/// least time beside the product, but for what the host does of it meanwhile.
void add_product(call_cost& cost, int ranks, const system_shape& of, double product, const link_rates& link) {
  if (ranks == 1) return cost.add("product", product);
  if (!link.are_devices) {
    cost.add("product", product);
    cost.add("halo", halo_bytes(of) / link.bytes_per_second + 2 * link.message_seconds);
    return;
  }
  const double travels = halo_bytes(of) / link.bytes_per_second;
  cost.add("product, beside the halo", std::max(product, travels));
  cost.add("halo", link.exchange_behind(product, 0));
  cost.add("launches", fitted::product_seconds);
}

/// The constructor of matrix_part: rows are looked at, columns are renumbered, and other ranks are asked for values of
/// x.
void add_preparation(call_cost& cost, int ranks, const system_shape& of, double inspection, const link_rates& link) {
  constexpr double messages = 6;
  constexpr double waits = 9;
  cost.add("inspection", inspection + waits * link.wait_seconds);
  if (ranks == 1) return;
  cost.add("requests",
           link.exchange(static_cast<double>(of.halo) * sizeof(std::uint32_t)) + messages * link.message_seconds);
}

}  // namespace

double halo_bytes(const system_shape& of) noexcept { return static_cast<double>(of.halo) * sizeof(double); }

double sum_bytes(const system_shape& of, int ranks) noexcept {
  const double blocks = static_cast<double>(of.rows) / static_cast<double>(system_block_rows);
  return ranks == 1 ? 0 : sums_of_an_iteration * blocks * sizeof(double) * share_of_others(ranks);
}

call_cost product_cost(int ranks, const system_shape& of, const system_steps& on_one, const link_rates& link) {
  call_cost cost;
  if (!of.is_prepared) add_preparation(cost, ranks, of, on_one.inspection, link);
  if (ranks > 1) cost.add("messages", link.message_seconds);
  add_product(cost, ranks, of, on_one.product, link);
  return cost;
}

call_cost iteration_cost(int ranks, const system_shape& of, const system_steps& on_one, const link_rates& link) {
  call_cost cost;
  if (ranks == 1) {
    cost.add("iteration", on_one.iteration);
    return cost;
  }
  cost.add("vectors", std::max(0.0, on_one.iteration - on_one.product));
  add_product(cost, ranks, of, on_one.product, link);
  const double latency = link.are_devices ? link.exchange_seconds : ranks * link.message_seconds;
  cost.add("sums of blocks", sums_of_an_iteration * latency + sum_bytes(of, ranks) / link.bytes_per_second);
  return cost;
}

system_steps planned_steps(const context& ctx, const system_shape& of, int ranks) {
  const std::uint64_t rows = of.rows / static_cast<std::uint64_t>(ranks);
  const std::uint64_t entries = of.entries / static_cast<std::uint64_t>(ranks);
  const csr_view a(rows, rows, index_span(nullptr, rows + 1, index_type::u64),
                   index_span(nullptr, entries, index_type::u32), const_values(nullptr, entries, value_type::f64));
  const const_values x(nullptr, rows, value_type::f64);
  const values y(nullptr, rows, value_type::f64);
  // Columns are read twice and written once, offsets read twice, and words of the sets of columns, of a quarter of a
  // byte for each column, are cleared, counted and listed.
  const double inspected = static_cast<double>(entries) * 3 * sizeof(std::uint32_t) +
                           static_cast<double>(rows) * 2 * sizeof(std::uint64_t) + static_cast<double>(of.rows);
  return {chosen_seconds(explain_spmv(ctx, a, x, y)), chosen_seconds(explain_conjugate_gradient(ctx, a, x, y)),
          inspected / ctx.profile().copy_bytes_per_second};
}

double product_seconds(const context& ctx, const system_shape& of, int ranks, const link_rates& link) {
  return product_cost(ranks, of, planned_steps(ctx, of, ranks), link).seconds();
}

double iteration_seconds(const context& ctx, const system_shape& of, int ranks, const link_rates& link) {
  return iteration_cost(ranks, of, planned_steps(ctx, of, ranks), link).seconds();
}

}  // namespace sheaf::distributed
