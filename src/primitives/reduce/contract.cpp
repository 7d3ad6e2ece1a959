#include "primitives/reduce/contract.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf {
namespace primitives {

std::span<const scatter_reduce_variant> scatter_reduce_variants() { return list_of<scatter_reduce_variant>(); }

namespace {

constexpr std::string_view scatter_reduce_call = "scatter_reduce";

const_records as_records(const_values v) { return {v.data, v.count, bytes(v.type)}; }

void require_values(const_values in, values out, reduction op) {
  require_enumerator(scatter_reduce_call, "the type of in", in.type, value_type::f64);
  require_enumerator(scatter_reduce_call, "the type of out", out.type, value_type::f64);
  require_enumerator(scatter_reduce_call, "the reduction", op, reduction::subtract);
  if (in.type != out.type) {
    refuse("{}: in has values of type {}, but out has {}", scatter_reduce_call, name(in.type), name(out.type));
  }
  require_aligned(scatter_reduce_call, in.data, bytes(in.type), "in");
  require_aligned(scatter_reduce_call, out.data, bytes(out.type), "out");
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
  require_fit(scatter_reduce_call, ctx, as_records(in), "in", index, as_records(out), "out",
              /*writes_sequential=*/false);
  if (index.count == 0) return;
  const auto problem = describe(ctx, in, index, out, op, options);
  plan::execute(scatter_reduce_call, scatter_reduce_variants(), problem, ctx, options.variant, {in, index, out});
}

explanation explain_scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                                   const scatter_reduce_options& options) {
  using namespace primitives;
  require_values(in, out, op);
  require_shapes(scatter_reduce_call, as_records(in), "in", index, as_records(out), "out");
  const auto problem = describe(ctx, in, index, out, op, options);
  return plan::explain(scatter_reduce_call, scatter_reduce_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
