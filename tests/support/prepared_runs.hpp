#pragma once

#include <sheaf/spmv.hpp>

#include "support/contexts.hpp"
#include "support/trials/csr.hpp"

// Runs of products that were prepared for a matrix.
namespace sheaf::tests {

/// x and y of a product on a device.
struct placed_vectors {
  placed_vectors(const context& c, const sparse_rows& m, value_type of_values)
      : ctx(c),
        type(of_values),
        x(numbers(m.columns, type, x_at, false)),
        y(numbers(m.rows.size(), type, y_at, true)),
        placed_x(ctx, x),
        placed_y(ctx, y) {}

  void run(const prepared_spmv& prepared, double beta = 0) const {
    prepared.run(const_values_of(placed_x.view(), type), values_of(placed_y.view(), type), 1, beta);
  }

  context ctx;
  value_type type;
  image x, y;
  placed placed_x, placed_y;
};

/// What a run leaves in y, which is compared with the product.
inline image right_run(const context& ctx, const prepared_spmv& prepared, const sparse_rows& m, value_type type,
                       double beta, spmv_sums sums = spmv_sums::as_values) {
  const placed_vectors v(ctx, m, type);
  v.run(prepared, beta);
  ctx.wait();
  image found = v.y;
  found.bytes = v.placed_y.download();
  expect_near(found, expected_of(m, {.beta = beta, .sums = sums}, type), type);
  return found;
}

}  // namespace sheaf::tests
