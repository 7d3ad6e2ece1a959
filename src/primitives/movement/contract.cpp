#include <sheaf/gather.hpp>

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/movement/found_order.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

std::uint64_t movement::index_limit() const noexcept {
  if (bounds == sheaf::bounds::trust) return std::numeric_limits<std::uint64_t>::max();
  switch (index) {
    case index_type::i32: return std::min<std::uint64_t>(indexed_count, std::uint64_t{1} << 31);
    case index_type::i64: return std::min<std::uint64_t>(indexed_count, std::uint64_t{1} << 63);
    default: return indexed_count;
  }
}

void require_shapes(std::string_view call, const_records sequential, std::string_view sequential_name, index_span index,
                    const_records indexed, std::string_view indexed_name) {
  require_index_type(call, index.type, "index");
  require_shape(call, sequential, sequential_name);
  require_shape(call, indexed, indexed_name);
  if (sequential.record_bytes != indexed.record_bytes) {
    refuse("{}: {} has records of {} bytes, but {} has {}", call, sequential_name, sequential.record_bytes,
           indexed_name, indexed.record_bytes);
  }
  if (sequential.count != index.count) {
    refuse("{}: index has {} entries, but {} has {} records", call, index.count, sequential_name, sequential.count);
  }
  if (index.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: index has {} entries, more than memory can hold", call, index.count);
  }
}

void require_fit(std::string_view call, const context& ctx, const_records sequential, std::string_view sequential_name,
                 index_span index, const_records indexed, std::string_view indexed_name, bool writes_sequential) {
  require_shapes(call, sequential, sequential_name, index, indexed, indexed_name);
  const std::uint64_t index_bytes = index.count * bytes(index.type);
  require_aligned(call, index.data, bytes(index.type), "index");
  require_memory(call, ctx, sequential.data, extent(sequential), sequential_name);
  require_memory(call, ctx, index.data, index_bytes, "index");
  require_memory(call, ctx, indexed.data, extent(indexed), indexed_name);
  require_no_overlap(call, sequential.data, extent(sequential), sequential_name, indexed.data, extent(indexed),
                     indexed_name);
  const const_records written = writes_sequential ? sequential : indexed;
  require_no_overlap(call, written.data, extent(written), writes_sequential ? sequential_name : indexed_name,
                     index.data, index_bytes, "index");
}

movement describe_movement(const context& ctx, const_records sequential, index_span index, const_records indexed,
                           access_pattern pattern, bounds checking) {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(sequential.data) |
                             reinterpret_cast<std::uintptr_t>(indexed.data) | sequential.stride_bytes |
                             indexed.stride_bytes | sequential.record_bytes | 16;
  return {.backend = ctx.backend(),
          .count = index.count,
          .indexed_count = indexed.count,
          .record_bytes = sequential.record_bytes,
          .sequential_stride_bytes = sequential.stride_bytes,
          .indexed_stride_bytes = indexed.stride_bytes,
          .word_bytes = static_cast<std::uint32_t>(bits & (~bits + 1)),
          .index = index.type,
          .pattern = pattern,
          .bounds = checking};
}

access_pattern::kind sampled_order(const context& ctx, const movement& p, index_span index) {
  if (p.pattern != access_pattern::unknown()) return p.pattern.shape;
  return order_of_list(ctx, index, p.indexed_count, plan::list_sample::quick).shape;
}

std::span<const gather_variant> gather_variants() { return list_of<gather_variant>(); }
std::span<const scatter_variant> scatter_variants() { return list_of<scatter_variant>(); }

gather_problem describe_gather(const context& ctx, const_records table, index_span index, records out,
                               access_pattern pattern, bounds checking) {
  return {describe_movement(ctx, out, index, table, pattern, checking)};
}

namespace {

scatter_problem describe_scatter(const context& ctx, const_records in, index_span index, records out,
                                 const scatter_options& options) {
  return {describe_movement(ctx, in, index, out, options.pattern, options.bounds), options.duplicates};
}

}  // namespace
}  // namespace primitives

using namespace primitives;

void gather(const context& ctx, const_records table, index_span index, records out, const gather_options& options) {
  require_fit("gather", ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
  if (index.count == 0) return;
  const access_pattern order = order_of_call(ctx, index, table.count, options.pattern);
  const gather_problem problem = describe_gather(ctx, table, index, out, order, options.bounds);
  plan::execute("gather", gather_variants(), problem, ctx, options.variant, {table, index, out});
}

explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                           const gather_options& options) {
  require_shapes("gather", out, "out", index, table, "table");
  const gather_problem problem = describe_gather(ctx, table, index, out, options.pattern, options.bounds);
  return plan::explain("gather", gather_variants(), problem, ctx, options.variant);
}

void scatter(const context& ctx, const_records in, index_span index, records out, const scatter_options& options) {
  require_fit("scatter", ctx, in, "in", index, out, "out", /*writes_sequential=*/false);
  if (index.count == 0) return;
  scatter_problem problem = describe_scatter(ctx, in, index, out, options);
  problem.pattern = order_of_call(ctx, index, out.count, options.pattern);
  plan::execute("scatter", scatter_variants(), problem, ctx, options.variant, {in, index, out});
}

explanation explain_scatter(const context& ctx, const_records in, index_span index, records out,
                            const scatter_options& options) {
  require_shapes("scatter", in, "in", index, out, "out");
  const scatter_problem problem = describe_scatter(ctx, in, index, out, options);
  return plan::explain("scatter", scatter_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
