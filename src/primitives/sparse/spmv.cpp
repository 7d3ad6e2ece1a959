#include "primitives/sparse/spmv.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf {
namespace primitives {

std::span<const spmv_variant> spmv_variants() { return list_of<spmv_variant>(); }

movement gather_of_columns(const spmv_problem& problem) noexcept {
  movement gather;
  gather.backend = problem.backend;
  gather.count = problem.entries;
  gather.indexed_count = problem.columns;
  gather.record_bytes = gather.sequential_stride_bytes = gather.indexed_stride_bytes = problem.value_bytes();
  gather.word_bytes = static_cast<std::uint32_t>(problem.value_bytes());
  gather.index = problem.column;
  gather.pattern = problem.pattern;
  return gather;
}

namespace {

/// A column or offset with its sign, and whether it lies below 0 or too high.
std::string shown(const core::index_report& report, std::uint64_t bits) {
  return report.is_signed != 0 ? fmt::to_string(static_cast<std::int64_t>(bits)) : fmt::to_string(bits);
}
const char* where(const core::index_report& report) {
  return report.is_signed != 0 && static_cast<std::int64_t>(report.value) < 0 ? "outside" : "past";
}

std::string bad_begin(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: row {} begins at {}, {} the matrix's {} entries", wording.call, report.position,
                     shown(report, report.value), where(report), report.limit);
}

std::string bad_end(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: row {} ends at {}, {} the matrix's {} entries", wording.call, report.position,
                     shown(report, report.value), where(report), report.limit);
}

std::string backwards(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: row {} begins at {} and ends at {}, before it begins", wording.call, report.position,
                     shown(report, report.value), shown(report, report.limit));
}

std::string bad_column(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: column_indices[{}], of row {}, is {}, {} the matrix's {} columns", wording.call,
                     report.position, report.row, shown(report, report.value), where(report), report.limit);
}

constexpr core::index_wording csr_wording[5][4] = {{{"spmv", "", "", "", bad_begin},
                                                    {"spmv", "", "", "", bad_end},
                                                    {"spmv", "", "", "", backwards},
                                                    {"spmv", "", "", "", bad_column}},
                                                   {{"prepare_spmv", "", "", "", bad_begin},
                                                    {"prepare_spmv", "", "", "", bad_end},
                                                    {"prepare_spmv", "", "", "", backwards},
                                                    {"prepare_spmv", "", "", "", bad_column}},
                                                   {{"conjugate_gradient", "", "", "", bad_begin},
                                                    {"conjugate_gradient", "", "", "", bad_end},
                                                    {"conjugate_gradient", "", "", "", backwards},
                                                    {"conjugate_gradient", "", "", "", bad_column}},
                                                   {{"spmm", "", "", "", bad_begin},
                                                    {"spmm", "", "", "", bad_end},
                                                    {"spmm", "", "", "", backwards},
                                                    {"spmm", "", "", "", bad_column}},
                                                   {{"prepare_spmm", "", "", "", bad_begin},
                                                    {"prepare_spmm", "", "", "", bad_end},
                                                    {"prepare_spmm", "", "", "", backwards},
                                                    {"prepare_spmm", "", "", "", bad_column}}};

constexpr std::uint64_t most_numbers = std::uint64_t{1} << 59;  // of 8 bytes

void require_count(std::string_view call, std::string_view what, std::uint64_t count, std::string_view of) {
  if (count > most_numbers) refuse("{}: {} has {} {}, more than memory can hold", call, what, count, of);
}

void require_vector_shape(std::string_view call, std::string_view what, const_values values, std::uint64_t count,
                          value_type type, std::string_view of) {
  require_type(call, what, values.type, value_type::f64);
  if (values.type != type) {
    refuse("{}: {} has values of type {}, but the matrix has {}", call, what, name(values.type), name(type));
  }
  if (values.count != count) refuse("{}: {} has {} values for {} {}", call, what, values.count, count, of);
}

void require_vector_shapes(std::string_view call, const spmv_problem& p, const_values x, const_values y) {
  const std::string_view across = p.transposed ? "rows" : "columns";
  const std::string_view down = p.transposed ? "columns" : "rows";
  require_vector_shape(call, "x", x, p.x_count(), p.value, across);
  require_vector_shape(call, "y", y, p.y_count(), p.value, down);
}

spmv_problem describe(const context& ctx, const csr_view& a, const spmv_options& options) {
  require_csr_shape(spmv_call, a);
  require_enumerator(spmv_call, "the order", options.order, reduction_order::unordered);
  spmv_problem p = describe_spmv(spmv_call, ctx, a, options.transposed, options.sums, options.pattern);
  p.order = options.order;
  p.reads_y = options.beta != 0;
  return p;
}

}  // namespace

const core::index_wording& wording_of(csr_call call, csr_fault fault) noexcept {
  return csr_wording[static_cast<int>(call)][static_cast<int>(fault)];
}

void require_csr_lists(std::string_view call, const csr_view& a) {
  require_index_type(call, a.row_begins.type, "row_begins");
  require_index_type(call, a.row_ends.type, "row_ends");
  require_index_type(call, a.column_indices.type, "column_indices");
  require_count(call, "the matrix", a.rows, "rows");
  require_count(call, "the matrix", a.columns, "columns");
  require_count(call, "the matrix", a.values.count, "values");
  if (a.column_indices.count != a.values.count) {
    refuse("{}: column_indices has {} entries, but values has {}", call, a.column_indices.count, a.values.count);
  }
  if (!a.has_row_ends) {
    if (a.row_begins.count != a.rows + 1) {
      refuse("{}: {} row offsets for {} rows, not one more", call, a.row_begins.count, a.rows);
    }
    return;
  }
  if (a.row_begins.count != a.rows || a.row_ends.count != a.rows) {
    refuse("{}: {} row begins and {} row ends for {} rows", call, a.row_begins.count, a.row_ends.count, a.rows);
  }
  if (a.row_begins.type != a.row_ends.type) refuse("{}: row begins and row ends are of different types", call);
}

void require_csr_shape(std::string_view call, const csr_view& a) {
  require_enumerator(call, "the type of the matrix's values", a.values.type, value_type::f64);
  if (a.values.type != value_type::f32 && a.values.type != value_type::f64) {
    refuse("{}: the matrix has values of an integer type, not f32 or f64", call);
  }
  require_csr_lists(call, a);
}

void require_csr_memory(std::string_view call, const context& ctx, const csr_view& a) {
  const auto require_list = [&](index_span list, std::string_view what) {
    require_memory(call, ctx, list.data, list.count * bytes(list.type), what);
    require_aligned(call, list.data, bytes(list.type), what);
  };
  require_list(a.row_begins, a.has_row_ends ? "row_begins" : "row_offsets");
  if (a.has_row_ends) require_list(a.row_ends, "row_ends");
  require_list(a.column_indices, "column_indices");
  require_memory(call, ctx, a.values.data, a.values.count * bytes(a.values.type), "values");
  require_aligned(call, a.values.data, bytes(a.values.type), "values");
}

void require_vectors(std::string_view call, const context& ctx, const spmv_problem& p, const csr_view& a,
                     const_values x, values y) {
  require_vector_shapes(call, p, x, y);
  const std::uint64_t width = p.value_bytes();
  require_memory(call, ctx, x.data, x.count * width, "x");
  require_aligned(call, x.data, width, "x");
  require_memory(call, ctx, y.data, y.count * width, "y");
  require_aligned(call, y.data, width, "y");
  require_no_overlap(call, y.data, y.count * width, "y", x.data, x.count * width, "x");
  require_apart(call, y, "y", a);
}

void require_apart(std::string_view call, const_values v, std::string_view what, const csr_view& a) {
  const auto require = [&](const void* data, std::uint64_t array_bytes, std::string_view array) {
    require_no_overlap(call, v.data, v.count * bytes(v.type), what, data, array_bytes, array);
  };
  const auto require_list = [&](index_span list, std::string_view array) {
    require(list.data, list.count * bytes(list.type), array);
  };
  require_list(a.row_begins, a.has_row_ends ? "row_begins" : "row_offsets");
  if (a.has_row_ends) require_list(a.row_ends, "row_ends");
  require_list(a.column_indices, "column_indices");
  require(a.values.data, a.values.count * bytes(a.values.type), "values");
}

spmv_problem describe_spmv(std::string_view call, const context& ctx, const csr_view& a, bool transposed,
                           spmv_sums sums, access_pattern pattern) {
  require_enumerator(call, "sums", sums, spmv_sums::f64);
  spmv_problem problem;
  problem.backend = ctx.backend();
  problem.rows = a.rows;
  problem.columns = a.columns;
  problem.entries = a.values.count;
  problem.value = a.values.type;
  problem.offset = a.row_begins.type;
  problem.column = a.column_indices.type;
  problem.has_row_ends = a.has_row_ends;
  problem.transposed = transposed;
  problem.sums = a.values.type == value_type::f64 ? spmv_sums::as_values : sums;
  problem.pattern = pattern;
  return problem;
}

}  // namespace primitives

using namespace primitives;

void spmv(const context& ctx, const csr_view& a, const_values x, values y, const spmv_options& options) {
  const spmv_problem p = describe(ctx, a, options);
  require_csr_memory(spmv_call, ctx, a);
  require_vectors(spmv_call, ctx, p, a, x, y);
  if (p.y_count() == 0) return;
  plan::execute(spmv_call, spmv_variants(), p, ctx, options.variant, {a, x.data, y.data, options.alpha, options.beta});
}

explanation explain_spmv(const context& ctx, const csr_view& a, const_values x, values y, const spmv_options& options) {
  const spmv_problem p = describe(ctx, a, options);
  require_vector_shapes(spmv_call, p, x, y);
  return plan::explain(spmv_call, spmv_variants(), p, ctx, options.variant);
}

}  // namespace sheaf
