#include "primitives/reduce/contract.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/movement/found_order.hpp"
#include "primitives/operators/row_value.hpp"

namespace sheaf {
namespace primitives {

std::span<const scatter_reduce_variant> scatter_reduce_variants() { return list_of<scatter_reduce_variant>(); }

namespace {

constexpr std::string_view scatter_reduce_call = "scatter_reduce";

const_records as_records(const_values v) { return {v.data, v.count, bytes(v.type)}; }

/// Whether the reduction of numbers takes these; all others are rows of one value.
bool are_plain_numbers(const_values in, values out, reduction op) {
  return in.type == out.type && in.type <= value_type::f64 && op <= reduction::subtract;
}

void require_values(const_values in, values out, reduction op) {
  require_enumerator(scatter_reduce_call, "the type of in", in.type, value_type::bf16);
  require_enumerator(scatter_reduce_call, "the type of out", out.type, value_type::bf16);
  require_enumerator(scatter_reduce_call, "the reduction", op, reduction::count);
  if (op != reduction::count && !combines(in.type, out.type)) {
    refuse("{}: in has values of type {}, but out has {}", scatter_reduce_call, name(in.type), name(out.type));
  }
  require_aligned(scatter_reduce_call, in.data, bytes(in.type), "in");
  require_aligned(scatter_reduce_call, out.data, bytes(out.type), "out");
}

scatter_reduce_rows_options options_of_rows(const scatter_reduce_options& options) {
  return {.pattern = options.pattern, .bounds = options.bounds, .order = options.order, .variant = options.variant};
}

scatter_reduce_problem describe(const context& ctx, const_values in, index_span index, values out, reduction op,
                                const scatter_reduce_options& options) {
  return {describe_movement(ctx, as_records(in), index, as_records(out), options.pattern, options.bounds), in.type, op,
          options.order};
}

}  // namespace
}  // namespace primitives

void scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                    const scatter_reduce_options& options) {
  using namespace primitives;
  require_values(in, out, op);
  if (!are_plain_numbers(in, out, op)) {
    return scatter_reduce(ctx, const_value_rows(in), index, value_rows(out), op, options_of_rows(options));
  }
  require_fit(scatter_reduce_call, ctx, as_records(in), "in", index, as_records(out), "out",
              /*writes_sequential=*/false);
  if (index.count == 0) return;
  scatter_reduce_problem problem = describe(ctx, in, index, out, op, options);
  problem.pattern = order_of_call(ctx, index, out.count, options.pattern);
  plan::execute(scatter_reduce_call, scatter_reduce_variants(), problem, ctx, options.variant, {in, index, out});
}

explanation explain_scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                                   const scatter_reduce_options& options) {
  using namespace primitives;
  require_values(in, out, op);
  if (!are_plain_numbers(in, out, op)) {
    return explain_scatter_reduce(ctx, const_value_rows(in), index, value_rows(out), op, options_of_rows(options));
  }
  require_shapes(scatter_reduce_call, as_records(in), "in", index, as_records(out), "out");
  const auto problem = describe(ctx, in, index, out, op, options);
  return plan::explain(scatter_reduce_call, scatter_reduce_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
