#include "primitives/reduce/gather.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf {
namespace primitives {

std::span<const gather_reduce_variant> gather_reduce_variants() { return list_of<gather_reduce_variant>(); }

namespace {

std::string shown_offset(const core::index_report& report, std::uint64_t bits) {
  return report.is_signed != 0 ? fmt::to_string(static_cast<std::int64_t>(bits)) : fmt::to_string(bits);
}

std::string bad_bound(const core::index_report& report, std::string_view what) {
  const bool is_negative = report.is_signed != 0 && static_cast<std::int64_t>(report.value) < 0;
  return fmt::format("gather_reduce: segment {} {} at {}, {} the index's {} entries", report.position, what,
                     shown_offset(report, report.value), is_negative ? "outside" : "past", report.limit);
}
std::string bad_begin_of_segment(const core::index_wording&, const core::index_report& report) {
  return bad_bound(report, "begins");
}
std::string bad_end_of_segment(const core::index_wording&, const core::index_report& report) {
  return bad_bound(report, "ends");
}
std::string backwards_segment(const core::index_wording&, const core::index_report& report) {
  return fmt::format("gather_reduce: segment {} begins at {} and ends at {}, before it begins", report.position,
                     shown_offset(report, report.value), shown_offset(report, report.limit));
}

constexpr core::index_wording segment_wording[4] = {{"gather_reduce", "", "", "", bad_begin_of_segment},
                                                    {"gather_reduce", "", "", "", bad_end_of_segment},
                                                    {"gather_reduce", "", "", "", backwards_segment},
                                                    {"gather_reduce", "index", "the table's", "rows"}};

bool is_segment(std::uint64_t begin, std::uint64_t end, std::uint64_t entries) {
  return begin <= end && end <= entries;
}

void require_weights(const_value_rows table, index_span index, const_value_rows out, reduction op,
                     const_values weights) {
  constexpr std::string_view call = gather_reduce_call;
  if (weights.count == 0) return;
  require_enumerator(call, "the type of weights", weights.type, value_type::bf16);
  if (op != reduction::add && op != reduction::mean) {
    refuse("{}: weights go with add and mean, not with {}", call, name(op));
  }
  if (!is_float(table.type))
    refuse("{}: weights go with floats, but table has values of type {}", call, name(table.type));
  if (weights.type != table.type && weights.type != sum_type(out.type, op)) {
    refuse("{}: weights has values of type {}, but table has {}", call, name(weights.type), name(table.type));
  }
  if (weights.count != index.count) {
    refuse("{}: weights has {} values for {} entries of index", call, weights.count, index.count);
  }
}

void require_gather_shapes(const_value_rows table, index_span index, index_span offsets, const_value_rows out,
                           reduction op, const gather_reduce_options& options) {
  constexpr std::string_view call = gather_reduce_call;
  require_enumerator(call, "the reduction", op, reduction::count);
  if (op == reduction::subtract) refuse("{}: the reduction is subtract, which it does not have", call);
  require_enumerator(call, "start", options.start, reduction_start::identity);
  require_index_type(call, index.type, "index");
  require_index_type(call, offsets.type, "offsets");
  require_rows(call, table, "table");
  require_rows(call, out, "out");
  require_combinable(call, table, "table", out, op);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / 16;
  if (index.count > most) refuse("{}: index has {} entries, more than memory can hold", call, index.count);
  if (out.count > most || offsets.count != out.count + 1) {
    refuse("{}: {} offsets for {} rows of out, not one more", call, offsets.count, out.count);
  }
  require_weights(table, index, out, op, options.weights);
}

void require_gather_memory(const context& ctx, const_value_rows table, index_span index, index_span offsets,
                           const_value_rows out, reduction op, const_values weights) {
  constexpr std::string_view call = gather_reduce_call;
  require_rows_memory(call, ctx, out, "out");
  const auto require_apart = [&](const void* data, std::uint64_t array_bytes, std::string_view what) {
    require_no_overlap(call, out.data, extent(records_of(out)), "out", data, array_bytes, what);
  };
  const auto require_array = [&](const void* data, std::uint64_t count, std::uint64_t width, std::string_view what) {
    require_memory(call, ctx, data, count * width, what);
    require_aligned(call, data, width, what);
    require_apart(data, count * width, what);
  };
  require_array(index.data, index.count, bytes(index.type), "index");
  require_array(offsets.data, offsets.count, bytes(offsets.type), "offsets");
  require_array(weights.data, weights.count, bytes(weights.type), "weights");
  if (op == reduction::count) return;
  require_rows_memory(call, ctx, table, "table");
  require_apart(table.data, extent(records_of(table)), "table");
}

gather_reduce_problem describe_gather_reduce(const context& ctx, const_value_rows table, index_span index,
                                             index_span offsets, const_value_rows out, reduction op,
                                             const gather_reduce_options& options) {
  gather_reduce_problem p;
  p.backend = ctx.backend();
  p.count = index.count;
  p.indexed_count = table.count;
  p.record_bytes = table.values_per_row * bytes(table.type);
  p.indexed_stride_bytes = table.stride_bytes;
  p.word_bytes = word_bytes_of(table);
  p.index = index.type;
  p.pattern = options.pattern;
  p.bounds = options.bounds;
  p.segments = out.count;
  p.offset = offsets.type;
  p.in = table.type;
  p.out = out.type;
  p.values_per_row = table.values_per_row;
  p.out_stride_bytes = out.stride_bytes;
  p.op = op;
  p.start = options.start;
  p.has_weights = options.weights.count != 0;
  p.weight = p.has_weights ? options.weights.type : value_type::f32;
  p.out_word_bytes = word_bytes_of(out);
  return p;
}

}  // namespace

const core::index_wording& wording_of(segment_fault fault) noexcept { return segment_wording[static_cast<int>(fault)]; }

core::index_report find_segment_fault(const gather_reduce_problem& p, const gather_reduce_buffers& b,
                                      std::uint64_t call) {
  core::index_report report{.call = call, .limit = p.count, .is_signed = is_signed(p.offset) ? 1U : 0U};
  for (std::uint64_t s = 0; s < p.segments; ++s) {
    const std::uint64_t begin = bits_at(b.offsets, s);
    const std::uint64_t end = bits_at(b.offsets, s + 1);
    if (is_segment(begin, end, p.count)) continue;
    report.position = s;
    report.value = begin;
    if (begin > p.count) {
      report.wording = &wording_of(segment_fault::begin);
    } else if (end > p.count) {
      report.wording = &wording_of(segment_fault::end);
      report.value = end;
    } else {
      report.wording = &wording_of(segment_fault::backwards);
      report.limit = end;
    }
    return report;
  }
  // Offsets without a fault ascend, so that all segments together are one range of the list.
  if (p.segments == 0 || p.bounds == bounds::trust) return {};
  const std::uint64_t end = bits_at(b.offsets, p.segments);
  for (std::uint64_t j = bits_at(b.offsets, 0); j < end; ++j) {
    const std::uint64_t row = bits_at(b.index, j);
    if (row < p.indexed_count) continue;
    return {.call = call,
            .position = j,
            .value = row,
            .limit = p.indexed_count,
            .wording = &wording_of(segment_fault::index),
            .is_signed = is_signed(p.index) ? 1U : 0U};
  }
  return {};
}

}  // namespace primitives

using namespace primitives;

void gather_reduce(const context& ctx, const_value_rows table, index_span index, index_span offsets, value_rows out,
                   reduction op, const gather_reduce_options& options) {
  require_gather_shapes(table, index, offsets, out, op, options);
  require_gather_memory(ctx, table, index, offsets, out, op, options.weights);
  if (out.count == 0) return;
  const auto problem = describe_gather_reduce(ctx, table, index, offsets, out, op, options);
  plan::execute(gather_reduce_call, gather_reduce_variants(), problem, ctx, options.variant,
                {table, index, offsets, out, options.weights});
}

explanation explain_gather_reduce(const context& ctx, const_value_rows table, index_span index, index_span offsets,
                                  value_rows out, reduction op, const gather_reduce_options& options) {
  require_gather_shapes(table, index, offsets, out, op, options);
  const auto problem = describe_gather_reduce(ctx, table, index, offsets, out, op, options);
  return plan::explain(gather_reduce_call, gather_reduce_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
