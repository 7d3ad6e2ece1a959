#include "lab/description/reduce/problem.hpp"
#include "lab/description/sparse/problem.hpp"
#include "lab/peers/movement.hpp"
#include "lab/peers/sparse/cusparse.hpp"

namespace sheaf::bench::peers::device {
namespace {

/// The views of a row's arrays; of no arrays for their shapes.
using make_views = std::function<jobs::dense_views(const jobs::array_set& arrays)>;

std::vector<contender> by_algorithms(const context& ctx, const workspace& arrays, const make_views& views,
                                     bool transposed) {
  const csr_view shape = views({}).a;
  std::vector<contender> all;
  for (const cusparse_algorithm& algorithm : cusparse_dense_algorithms()) {
    if (!has_cusparse_dense_product(ctx, shape, transposed, algorithm)) continue;
    const auto handle = std::make_shared<cusparse_handle>();
    contender c{.who = std::string(algorithm.row_name),
                // An allowance: what it asks for is known once it has the matrix.
                .kept_bytes_of_copy = 16 * shape.rows + shape.values.count,
                .wait = [ctx] { wait(ctx); }};
    all.push_back(with_made(
        std::move(c),
        [=, &arrays](std::uint64_t copy) {
          if (!*handle) *handle = make_cusparse_handle(ctx);
          const jobs::dense_views v = views(arrays.all(copy));
          return cusparse_dense_product(ctx, *handle, v.a, v.x, v.y, transposed, algorithm);
        },
        [](const std::function<void()>& product) { product(); }));
  }
  return all;
}

buffer filled_with_ones(const context& ctx, std::uint64_t count, value_type type) {
  buffer ones(ctx, count * bytes(type));
  const auto fill = [&]<class Value>(Value one) {
    const std::vector<Value> numbers(count, one);
    copy_bytes(ctx, ones.data(), numbers.data(), count * sizeof(Value));
  };
  type == value_type::f64 ? fill(1.0) : fill(1.0F);
  return ones;
}

}  // namespace

std::vector<contender> cusparse_dense_rows(const context& ctx, const problem& problem, const workspace& arrays) {
  const auto views = [problem](const jobs::array_set& of) { return jobs::views_of_dense(problem, of); };
  return by_algorithms(ctx, arrays, views, problem.part<primitives::sparse_part>().is_transposed);
}

// Without weights the matrix has as many ones, which are made before the row is timed.
std::vector<contender> cusparse_segments(const context& ctx, const problem& problem, const workspace& arrays) {
  const auto& rows = problem.part<primitives::rows_part>();
  const bool is_float = problem.value == value_type::f32 || problem.value == value_type::f64;
  if (problem.part<primitives::reduce_part>().op != reduction::add || !is_float || rows.out) return {};
  const auto ones = std::make_shared<buffer>();
  const auto views = [=](const jobs::array_set& of) {
    const jobs::segment_views v = jobs::views_of_segments(problem, of);
    const const_values weights =
        rows.has_weights ? v.weights : const_values(ones->data(), problem.count, problem.value);
    return jobs::dense_views{csr_view(v.out.count, v.table.count, v.offsets, v.index, weights), v.table, v.out};
  };
  std::vector<contender> all = by_algorithms(ctx, arrays, views, false);
  if (rows.has_weights) return all;
  if (!all.empty()) all.front().kept_bytes_of_copy += problem.count * bytes(problem.value);  // of all
  for (contender& c : all) {
    c.prepare = [ctx, problem, ones, prepare = c.prepare](std::uint64_t copies) {
      if (ones->data() == nullptr) *ones = filled_with_ones(ctx, problem.count, problem.value);
      prepare(copies);
    };
    c.release = [ones, release = c.release] {
      release();
      *ones = buffer();
    };
  }
  return all;
}

}  // namespace sheaf::bench::peers::device
