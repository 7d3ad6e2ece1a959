#include "distributed/sparse/matrix_part.hpp"

#include <algorithm>
#include <cstring>

#include <sheaf/gather.hpp>
#include <sheaf/sort.hpp>

#include "distributed/collectives.hpp"
#include "distributed/grid.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::distributed {
namespace {

/// Rows that are interior or not together.
constexpr std::uint64_t rows_of_block = 256;
/// A run of fewer interior rows is not worth a call of its own.
constexpr std::uint64_t least_interior_rows = 4096;

primitives::spmv_problem problem_of(const csr_view& a, spmv_sums sums) {
  primitives::spmv_problem problem;
  problem.rows = a.rows;
  problem.columns = a.columns;
  problem.entries = a.column_indices.count;
  problem.value = a.values.type;
  problem.offset = a.row_begins.type;
  problem.column = a.column_indices.type;
  problem.has_row_ends = a.has_row_ends;
  problem.sums = sums;
  return problem;
}

/// Ascending, without repetition.
void sort_unique(const context& ctx, std::vector<std::uint64_t>& list) {
  if (!std::is_sorted(list.begin(), list.end())) {
    std::vector<std::uint64_t> sorted(list.size());
    sheaf::sort_keys(ctx, list, sorted);
    list.swap(sorted);
  }
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

matrix_part::matrix_part(group_state& state, const csr_view& a, const layout& rows, const layout& columns,
                         spmv_sums sums, primitives::csr_call by, std::uint64_t call)
    : rank_(state.rank), prepared_by_(call), rows_(rows), columns_(columns), sums_(sums) {
  require_no_fault(state, a, sums, by, call);
  take_rows(state, a);
  find_halo(state, call);
  write_columns(state);
}

// A row's fault comes before any entry's, whichever rank has it.
void matrix_part::require_no_fault(group_state& state, const csr_view& a, spmv_sums sums, primitives::csr_call by,
                                   std::uint64_t call) {
  enum kind : std::uint64_t { nothing, column, row };
  core::index_report report = primitives::find_fault(problem_of(a, sums), a, by, call);
  const std::vector<std::uint64_t> entries = all_gather(state, a.column_indices.count);
  const bool is_column = report.wording == &primitives::wording_of(by, primitives::csr_fault::column);
  const std::vector<std::uint64_t> kinds = all_gather(state, !report.found() ? nothing : is_column ? column : row);
  const std::uint64_t worst = *std::max_element(kinds.begin(), kinds.end());
  if (worst == nothing) return;
  if (kinds[static_cast<std::size_t>(state.rank)] == worst) {
    if (is_column) {
      for (std::size_t r = 0; r < static_cast<std::size_t>(state.rank); ++r) report.position += entries[r];
      report.row += rows_.begin(state.rank);
    } else {
      report.position += rows_.begin(state.rank);
    }
    state.keep_first(report);
  }
  throw_first_report(state, [] {});
}

// Rows with ends of their own may share entries, of which an interior row and another would want different columns.
void matrix_part::take_rows(group_state& state, const csr_view& a) {
  a_ = a;
  if (!a.has_row_ends) return;
  const primitives::host_rows rows(problem_of(a, sums_), a);
  const std::uint64_t width = bytes(a.values.type);
  offsets_copy_ = buffer(state.ctx, (a.rows + 1) * sizeof(std::uint64_t));
  std::uint64_t* const offsets = offsets_copy_.as<std::uint64_t>();
  offsets[0] = 0;
  for (std::uint64_t r = 0; r < a.rows; ++r) offsets[r + 1] = offsets[r] + rows.end(r) - rows.begin(r);
  const std::uint64_t entries = offsets[a.rows];
  columns_copy_ = buffer(state.ctx, entries * sizeof(std::uint64_t));
  values_copy_ = buffer(state.ctx, entries * width);
  for (std::uint64_t r = 0; r < a.rows; ++r) {
    const std::uint64_t count = offsets[r + 1] - offsets[r];
    for (std::uint64_t i = 0; i < count; ++i)
      columns_copy_.as<std::uint64_t>()[offsets[r] + i] = primitives::bits_at(a.column_indices, rows.begin(r) + i);
    if (count > 0) {
      std::memcpy(values_copy_.data() + offsets[r] * width,
                  static_cast<const std::byte*>(a.values.data) + rows.begin(r) * width, count * width);
    }
  }
  a_ = csr_view(a.rows, a.columns, index_span(offsets, a.rows + 1, index_type::u64),
                index_span(columns_copy_.data(), entries, index_type::u64),
                const_values(values_copy_.data(), entries, a.values.type));
}

void matrix_part::find_runs(const std::vector<bool>& has_remote_column) {
  const auto add = [&](std::uint64_t first, std::uint64_t last, bool is_interior) {
    if (first == last) return;
    if (!runs_.empty() && runs_.back().is_interior == is_interior) {
      runs_.back().last = last;
    } else {
      runs_.push_back({first, last, is_interior});
    }
  };
  const std::uint64_t blocks = has_remote_column.size();
  for (std::uint64_t block = 0; block < blocks;) {
    std::uint64_t end = block;
    while (end < blocks && has_remote_column[end] == has_remote_column[block]) ++end;
    const std::uint64_t first = block * rows_of_block;
    const std::uint64_t last = std::min(a_.rows, end * rows_of_block);
    const bool is_whole = last - first == a_.rows;
    add(first, last, !has_remote_column[block] && (is_whole || last - first >= least_interior_rows));
    block = end;
  }
}

void matrix_part::find_halo(group_state& state, std::uint64_t call) {
  const primitives::host_rows rows(problem_of(a_, sums_), a_);
  const std::uint64_t begin = columns_.begin(state.rank);
  const std::uint64_t count = columns_.count(state.rank);
  std::vector<bool> has_remote((a_.rows + rows_of_block - 1) / rows_of_block);
  primitives::with_entries(a_.column_indices, [&](const auto* column) {
    for (std::uint64_t r = 0; r < a_.rows; ++r) {
      std::uint64_t last = ~std::uint64_t{0};
      for (std::uint64_t place = rows.begin(r), end = rows.end(r); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]);
        if (c - begin < count || c == last) continue;
        has_remote[r / rows_of_block] = true;
        halo_.push_back(last = c);
      }
    }
    sort_unique(state.ctx, halo_);
    find_runs(has_remote);
    for (const run_of_rows& run : runs_) {
      if (run.is_interior || run.first == run.last) continue;
      for (std::uint64_t place = rows.begin(run.first), end = rows.end(run.last - 1); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]) - begin;
        if (c < count && (own_.empty() || own_.back() != c)) own_.push_back(c);
      }
    }
  });
  sort_unique(state.ctx, own_);
  halo_below_ = static_cast<std::uint64_t>(std::lower_bound(halo_.begin(), halo_.end(), begin) - halo_.begin());
  way_ = std::make_unique<routing>(state, owner_finder(columns_), list_part{index_span(halo_), 0}, call,
                                   primitives::wording_of(primitives::csr_call::spmv, primitives::csr_fault::column));
  way_->finish_requests();
}

void matrix_part::write_columns(group_state& state) {
  const std::uint64_t begin = columns_.begin(state.rank);
  const std::uint64_t count = columns_.count(state.rank);
  const std::uint64_t most = std::max(count, halo_.size() + own_.size());
  local_type_ = most <= ~std::uint32_t{0} ? index_type::u32 : index_type::u64;
  const std::uint64_t places = a_.column_indices.count;
  local_columns_ = buffer(state.ctx, places * bytes(local_type_));
  if (places > 0) std::memset(local_columns_.data(), 0, local_columns_.size());
  const primitives::host_rows rows(problem_of(a_, sums_), a_);
  const auto in_list = [](const std::vector<std::uint64_t>& list, std::uint64_t n) {
    return static_cast<std::uint64_t>(std::lower_bound(list.begin(), list.end(), n) - list.begin());
  };
  const auto write = [&](auto* to, const auto* column) {
    for (const run_of_rows& run : runs_) {
      for (std::uint64_t place = rows.begin(run.first), end = rows.end(run.last - 1); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]);
        std::uint64_t local = c - begin;
        if (!run.is_interior) {
          if (local < count) {
            local = halo_below_ + in_list(own_, local);
          } else {
            const std::uint64_t at = in_list(halo_, c);
            local = at < halo_below_ ? at : own_.size() + at;
          }
        }
        to[place] = static_cast<std::remove_cvref_t<decltype(*to)>>(local);
      }
    }
  };
  primitives::with_entries(a_.column_indices, [&](const auto* column) {
    local_type_ == index_type::u32 ? write(local_columns_.as<std::uint32_t>(), column)
                                   : write(local_columns_.as<std::uint64_t>(), column);
  });
}

void matrix_part::multiply_runs(const context& ctx, bool interior, const void* x, void* y, double alpha,
                                double beta) const {
  const std::uint64_t width = bytes(value());
  const std::uint64_t count = interior ? columns_.count(rank_) : halo_.size() + own_.size();
  spmv_options options;
  options.alpha = alpha;
  options.beta = beta;
  options.sums = sums_;
  for (const run_of_rows& run : runs_) {
    if (run.is_interior != interior) continue;
    const std::uint64_t rows = run.last - run.first;
    const index_span begins(static_cast<const std::byte*>(a_.row_begins.data) + run.first * bytes(a_.row_begins.type),
                            rows + 1, a_.row_begins.type);
    const csr_view part(rows, count, begins, index_span(local_columns_.data(), a_.column_indices.count, local_type_),
                        a_.values);
    sheaf::spmv(ctx, part, const_values(x, count, value()),
                values(static_cast<std::byte*>(y) + run.first * width, rows, value()), options);
  }
}

void matrix_part::multiply(group_state& state, const void* x, void* y, double alpha, double beta) const {
  const std::uint64_t width = bytes(value());
  const const_records own(x, columns_.count(state.rank), width);
  message_buffer served(state, way_->requested_count() * width);
  message_buffer gathered(state, (halo_.size() + own_.size()) * width);
  if (way_->requested_count() > 0)
    sheaf::gather(state.ctx, own, way_->requested(), records(served.data(), way_->requested_count(), width));
  const auto to = parts_to(served.data(), way_->requested_begins(), width, state.rank);
  auto from = parts_from(gathered.data(), way_->asked_begins(), width, state.rank);
  for (std::size_t r = static_cast<std::size_t>(state.rank) + 1; r < from.size(); ++r)
    from[r].data += own_.size() * width;
  std::unique_ptr<exchange> halo;
  if (state.size >= state.bounds.two_level_ranks) {
    exchange_parts(state, to, from);
  } else {
    halo = std::make_unique<exchange>(state, to, from);
  }
  if (!own_.empty())
    sheaf::gather(state.ctx, own, own_, records(gathered.data() + halo_below_ * width, own_.size(), width));
  multiply_runs(state.ctx, true, x, y, alpha, beta);
  if (halo) halo->finish();
  multiply_runs(state.ctx, false, gathered.data(), y, alpha, beta);
}

spmv_preparation matrix_part::report() const noexcept {
  spmv_preparation out{halo_.size(), way_->requested_count(), 0};
  for (const run_of_rows& run : runs_) out.interior_rows += run.is_interior ? run.last - run.first : 0;
  return out;
}

}  // namespace sheaf::distributed
