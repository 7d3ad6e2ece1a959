#include "primitives/reduce/rows.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf {
namespace primitives {

std::span<const scatter_reduce_rows_variant> scatter_reduce_rows_variants() {
  return list_of<scatter_reduce_rows_variant>();
}

namespace {

constexpr std::string_view call_name = "scatter_reduce";

bool is_count_type(value_type type) {
  return type == value_type::u32 || type == value_type::i32 || type == value_type::u64 || type == value_type::i64;
}

std::uint64_t bytes_of_counts(const_values numbers) { return numbers.count * bytes(numbers.type); }

}  // namespace

std::uint32_t word_bytes_of(const_value_rows rows) noexcept {
  return widest_word(reinterpret_cast<std::uintptr_t>(rows.data) | rows.stride_bytes |
                     (rows.values_per_row * bytes(rows.type)));
}

void require_rows(std::string_view call, const_value_rows rows, std::string_view what, std::uint64_t most_values) {
  require_type(call, what, rows.type, value_type::bf16);
  if (rows.values_per_row == 0 || rows.values_per_row > most_values) {
    refuse("{}: {} has rows of {} values, not 1 to {}", call, what, rows.values_per_row, most_values);
  }
  const std::uint64_t width = bytes(rows.type);
  const std::uint64_t row_bytes = rows.values_per_row * width;
  if (rows.stride_bytes < row_bytes) {
    refuse("{}: {} has a stride of {} bytes, less than its rows' {}", call, what, rows.stride_bytes, row_bytes);
  }
  if (rows.stride_bytes % width != 0) {
    refuse("{}: {} has a stride of {} bytes, not a multiple of its values' {}", call, what, rows.stride_bytes, width);
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (rows.stride_bytes > most || (rows.count > 0 && rows.count - 1 > (most - row_bytes) / rows.stride_bytes)) {
    refuse("{}: {} has {} rows {} bytes apart, more than memory can hold", call, what, rows.count, rows.stride_bytes);
  }
}

void require_rows_memory(std::string_view call, const context& ctx, const_value_rows rows, std::string_view what) {
  require_memory(call, ctx, rows.data, extent(records_of(rows)), what);
  require_aligned(call, rows.data, bytes(rows.type), what);
}

void require_combinable(std::string_view call, const_value_rows in, std::string_view in_name, const_value_rows out,
                        reduction op) {
  if (in.values_per_row != out.values_per_row) {
    refuse("{}: {} has rows of {} values, but out has {}", call, in_name, in.values_per_row, out.values_per_row);
  }
  if (op != reduction::count && !combines(in.type, out.type)) {
    refuse("{}: {} has values of type {}, but out has {}", call, in_name, name(in.type), name(out.type));
  }
}

void require_reduction_shapes(std::string_view call, const_value_rows in, index_span index, const_value_rows out,
                              reduction op, reduction_start start, const_values counts) {
  require_enumerator(call, "the reduction", op, reduction::count);
  require_enumerator(call, "start", start, reduction_start::identity);
  require_index_type(call, index.type, "index");
  require_rows(call, in, "in");
  require_rows(call, out, "out");
  require_combinable(call, in, "in", out, op);
  if (in.count != index.count) {
    refuse("{}: index has {} entries, but in has {} rows", call, index.count, in.count);
  }
  if (index.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: index has {} entries, more than memory can hold", call, index.count);
  }
  if (counts.count == 0) return;
  require_enumerator(call, "the type of counts", counts.type, value_type::bf16);
  if (!is_count_type(counts.type)) {
    refuse("{}: counts has values of type {}, not u32, i32, u64 or i64", call, name(counts.type));
  }
  if (counts.count != out.count) {
    refuse("{}: counts has {} values for {} rows of out", call, counts.count, out.count);
  }
}

void require_reduction_memory(std::string_view call, const context& ctx, const_value_rows in, index_span index,
                              const_value_rows out, reduction op, const_values counts) {
  const std::uint64_t index_bytes = index.count * bytes(index.type);
  require_memory(call, ctx, index.data, index_bytes, "index");
  require_aligned(call, index.data, bytes(index.type), "index");
  require_rows_memory(call, ctx, out, "out");
  const std::uint64_t out_bytes = extent(records_of(out));
  require_no_overlap(call, out.data, out_bytes, "out", index.data, index_bytes, "index");
  const bool reads_in = op != reduction::count;
  if (reads_in) {
    require_rows_memory(call, ctx, in, "in");
    require_no_overlap(call, in.data, extent(records_of(in)), "in", out.data, out_bytes, "out");
  }
  if (counts.count == 0) return;
  require_memory(call, ctx, counts.data, bytes_of_counts(counts), "counts");
  require_aligned(call, counts.data, bytes(counts.type), "counts");
  require_no_overlap(call, counts.data, bytes_of_counts(counts), "counts", out.data, out_bytes, "out");
  require_no_overlap(call, counts.data, bytes_of_counts(counts), "counts", index.data, index_bytes, "index");
  if (reads_in) {
    require_no_overlap(call, counts.data, bytes_of_counts(counts), "counts", in.data, extent(records_of(in)), "in");
  }
}

scatter_reduce_rows_problem describe_rows(const context& ctx, const_value_rows in, index_span index,
                                          const_value_rows out, reduction op,
                                          const scatter_reduce_rows_options& options) {
  scatter_reduce_rows_problem p{
      describe_movement(ctx, records_of(in), index, records_of(out), options.pattern, options.bounds)};
  p.word_bytes = word_bytes_of(in);
  p.out_word_bytes = word_bytes_of(out);
  p.in = in.type;
  p.out = out.type;
  p.values_per_row = in.values_per_row;
  p.op = op;
  p.order = options.order;
  p.start = options.start;
  p.has_counts = options.counts.count != 0;
  p.counts = p.has_counts ? options.counts.type : value_type::u32;
  return p;
}

}  // namespace primitives

using namespace primitives;

void scatter_reduce(const context& ctx, const_value_rows in, index_span index, value_rows out, reduction op,
                    const scatter_reduce_rows_options& options) {
  require_enumerator(call_name, "the order", options.order, reduction_order::unordered);
  require_reduction_shapes(call_name, in, index, out, op, options.start, options.counts);
  require_reduction_memory(call_name, ctx, in, index, out, op, options.counts);
  const auto problem = describe_rows(ctx, in, index, out, op, options);
  // Rows of out that nothing comes to are written only where they do not keep what they hold.
  if (out.count == 0 && index.count == 0) return;
  if (index.count == 0 && problem.reads_out() && !problem.has_counts) return;
  plan::execute(scatter_reduce_rows_call, scatter_reduce_rows_variants(), problem, ctx, options.variant,
                {in, index, out, counts_of_buffers(options.counts)});
}

explanation explain_scatter_reduce(const context& ctx, const_value_rows in, index_span index, value_rows out,
                                   reduction op, const scatter_reduce_rows_options& options) {
  require_enumerator(call_name, "the order", options.order, reduction_order::unordered);
  require_reduction_shapes(call_name, in, index, out, op, options.start, options.counts);
  const auto problem = describe_rows(ctx, in, index, out, op, options);
  return plan::explain(scatter_reduce_rows_call, scatter_reduce_rows_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
