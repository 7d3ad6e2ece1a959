#include "distributed/sparse/matrix_part.hpp"

#include <cstring>

#include <sheaf/gather.hpp>

#include "distributed/collectives.hpp"
#include "distributed/grid.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::distributed {
namespace {

/// Rows that are interior or not together.
constexpr std::uint64_t rows_of_block = 256;
/// A run of fewer interior rows is not worth a call of its own.
constexpr std::uint64_t least_interior_rows = 4096;

/// A list as the host reads it: itself, or a copy that `copied` then owns.
index_span seen_list(const group_state& state, index_span list, buffer& copied) {
  if (!state.goes_by_primitives || list.count == 0) return list;
  copied = buffer(state.host, list.count * bytes(list.type));
  copy_bytes(state.ctx, copied.data(), list.data, copied.size());
  return {copied.data(), list.count, list.type};
}

/// A copy of host memory where the context works.
buffer brought(const group_state& state, const void* data, std::uint64_t byte_count) {
  buffer to(state.ctx, byte_count);
  copy_bytes(state.ctx, to.data(), data, byte_count);
  return to;
}

}  // namespace

matrix_part::matrix_part(group_state& state, const csr_view& a, const layout& rows, const layout& columns,
                         spmv_sums sums, primitives::csr_call by, std::uint64_t call)
    : rank_(state.rank), prepared_by_(call), rows_(rows), columns_(columns), sums_(sums) {
  seen_matrix seen = see(state, a);
  require_no_fault(state, seen.a, by, call);
  take_rows(state, a, seen);
  note_sizes(state, seen.a);
  find_halo(state, seen.a, call);
  write_columns(state, seen.a);
}

matrix_part::seen_matrix matrix_part::see(const group_state& state, const csr_view& a) {
  seen_matrix seen;
  seen.a = a;
  seen.a.row_begins = seen_list(state, a.row_begins, seen.begins);
  if (a.has_row_ends) seen.a.row_ends = seen_list(state, a.row_ends, seen.ends);
  seen.a.column_indices = seen_list(state, a.column_indices, seen.columns);
  return seen;
}

primitives::spmv_problem matrix_part::problem_of(const csr_view& a) const noexcept {
  primitives::spmv_problem problem;
  problem.rows = a.rows;
  problem.columns = a.columns;
  problem.entries = a.column_indices.count;
  problem.value = a.values.type;
  problem.offset = a.row_begins.type;
  problem.column = a.column_indices.type;
  problem.has_row_ends = a.has_row_ends;
  problem.sums = a.values.type == value_type::f64 ? spmv_sums::as_values : sums_;
  return problem;
}

// A row's fault comes before any entry's, whichever rank has it.
void matrix_part::require_no_fault(group_state& state, const csr_view& a, primitives::csr_call by, std::uint64_t call) {
  enum kind : std::uint64_t { nothing, column, row };
  core::index_report report = primitives::find_fault(problem_of(a), a, by, call);
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
void matrix_part::take_rows(group_state& state, const csr_view& a, seen_matrix& seen) {
  a_ = a;
  if (!a.has_row_ends) return;
  const primitives::host_rows rows(problem_of(seen.a), seen.a);
  buffer begins(state.host, (a.rows + 1) * sizeof(std::uint64_t));
  std::uint64_t* const offsets = begins.as<std::uint64_t>();
  offsets[0] = 0;
  for (std::uint64_t r = 0; r < a.rows; ++r) offsets[r + 1] = offsets[r] + rows.end(r) - rows.begin(r);
  const std::uint64_t entries = offsets[a.rows];
  buffer columns(state.host, entries * sizeof(std::uint64_t));
  for (std::uint64_t r = 0; r < a.rows; ++r) {
    for (std::uint64_t i = 0, count = offsets[r + 1] - offsets[r]; i < count; ++i)
      columns.as<std::uint64_t>()[offsets[r] + i] = primitives::bits_at(seen.a.column_indices, rows.begin(r) + i);
  }
  const csr_view without_gaps(a.rows, a.columns, index_span(offsets, a.rows + 1, index_type::u64),
                              index_span(columns.data(), entries, index_type::u64),
                              const_values(nullptr, entries, a.values.type));
  take_values(state, a, seen.a, without_gaps);
  a_ = without_gaps;
  offsets_copy_ = brought(state, offsets, begins.size());
  a_.row_begins.data = offsets_copy_.data();
  a_.values.data = values_copy_.data();
  seen.a = without_gaps;
  seen.begins = std::move(begins);
  seen.columns = std::move(columns);
}

/// Copies the values of rows that may lie anywhere, row by row.
void matrix_part::take_values(const group_state& state, const csr_view& a, const csr_view& seen,
                              const csr_view& without_gaps) {
  const primitives::host_rows rows(problem_of(seen), seen);
  const auto* const offsets = static_cast<const std::uint64_t*>(without_gaps.row_begins.data);
  const std::uint64_t width = bytes(a.values.type);
  const std::uint64_t entries = without_gaps.values.count;
  values_copy_ = buffer(state.ctx, entries * width);
  if (entries == 0) return;
  const buffer places(state.host, entries * sizeof(std::uint64_t));
  for (std::uint64_t r = 0; r < a.rows; ++r) {
    for (std::uint64_t i = 0, count = offsets[r + 1] - offsets[r]; i < count; ++i)
      places.as<std::uint64_t>()[offsets[r] + i] = rows.begin(r) + i;
  }
  const buffer index = brought(state, places.data(), places.size());
  sheaf::gather(state.ctx, const_records(a.values.data, a.values.count, width),
                index_span(index.data(), entries, index_type::u64), records(values_copy_.data(), entries, width));
}

/// What decides the order of sums: the entries of all rows, without places that belong to none.
void matrix_part::note_sizes(group_state& state, const csr_view& a) {
  problem_ = problem_of(a);
  problem_.backend = state.ctx.backend();
  const primitives::host_rows rows(problem_, a);
  std::uint64_t entries = 0;
  for (std::uint64_t r = 0; r < a.rows; ++r) {
    const std::uint64_t length = rows.end(r) - rows.begin(r);
    entries += length;
    problem_.whole.longest_row = std::max(problem_.whole.longest_row, length);
  }
  problem_.whole.rows = rows_.count();
  for (const std::uint64_t of_rank : all_gather(state, entries)) problem_.whole.entries += of_rank;
}

void matrix_part::find_runs(const std::vector<bool>& has_remote_column) {
  const auto add = [&](std::uint64_t first, std::uint64_t last, bool is_interior) {
    if (first == last) return;
    if (!runs_.empty() && runs_.back().is_interior == is_interior) {
      runs_.back().last = last;
    } else {
      runs_.push_back({.first = first, .last = last, .is_interior = is_interior});
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

void matrix_part::find_halo(group_state& state, const csr_view& a, std::uint64_t call) {
  const primitives::host_rows rows(problem_of(a), a);
  const std::uint64_t begin = columns_.begin(state.rank);
  const std::uint64_t count = columns_.count(state.rank);
  const std::uint64_t entries = a.column_indices.count;
  std::vector<bool> has_remote((a.rows + rows_of_block - 1) / rows_of_block);
  halo_ = column_set(columns_.count(), entries);
  own_ = column_set(count, entries);
  primitives::with_entries(a.column_indices, [&](const auto* column) {
    for (std::uint64_t r = 0; r < a.rows; ++r) {
      for (std::uint64_t place = rows.begin(r), end = rows.end(r); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]);
        if (c - begin < count) continue;
        has_remote[r / rows_of_block] = true;
        halo_.add(c);
      }
    }
    find_runs(has_remote);
    for (run_of_rows& run : runs_) run.places = entries - rows.begin(run.first);
    for (const run_of_rows& run : runs_) {
      if (run.is_interior || run.first == run.last) continue;
      for (std::uint64_t place = rows.begin(run.first), end = rows.end(run.last - 1); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]) - begin;
        if (c < count) own_.add(c);
      }
    }
  });
  halo_.finish(state.host);
  own_.finish(state.host);
  halo_below_ = halo_.number(begin);
  way_ = std::make_unique<routing>(state, owner_finder(columns_), list_part{index_span(halo_.list()), 0}, call,
                                   primitives::wording_of(primitives::csr_call::spmv, primitives::csr_fault::column));
  way_->finish_requests();
  const auto listed = [&](index_span list) {
    if (!state.goes_by_primitives || list.count == 0) return index_list{buffer(), list};
    index_list out{brought(state, list.data, list.count * bytes(list.type)), list};
    out.entries.data = out.memory.data();
    return out;
  };
  requested_ = listed(way_->requested());
  own_list_ = listed(index_span(own_.list()));
}

void matrix_part::write_columns(const group_state& state, const csr_view& a) {
  const std::uint64_t begin = columns_.begin(state.rank);
  const std::uint64_t count = columns_.count(state.rank);
  const std::uint64_t most = std::max(count, halo_.size() + own_.size());
  local_type_ = most <= ~std::uint32_t{0} ? index_type::u32 : index_type::u64;
  const std::uint64_t places = a.column_indices.count;
  buffer written(state.host, places * bytes(local_type_));
  if (places > 0) std::memset(written.data(), 0, written.size());
  const primitives::host_rows rows(problem_of(a), a);
  const auto write = [&](auto* to, const auto* column) {
    for (const run_of_rows& run : runs_) {
      for (std::uint64_t place = rows.begin(run.first), end = rows.end(run.last - 1); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]);
        std::uint64_t local = c - begin;
        if (!run.is_interior) {
          if (local < count) {
            local = halo_below_ + own_.number(local);
          } else {
            const std::uint64_t at = halo_.number(c);
            local = at < halo_below_ ? at : own_.size() + at;
          }
        }
        to[place] = static_cast<std::remove_cvref_t<decltype(*to)>>(local);
      }
    }
  };
  primitives::with_entries(a.column_indices, [&](const auto* column) {
    local_type_ == index_type::u32 ? write(written.as<std::uint32_t>(), column)
                                   : write(written.as<std::uint64_t>(), column);
  });
  halo_.keep_list_alone();
  own_.keep_list_alone();
  local_columns_ = state.goes_by_primitives ? brought(state, written.data(), written.size()) : std::move(written);
  problem_.column = local_type_;
}

primitives::spmv_problem matrix_part::problem_of(const run_of_rows& run) const noexcept {
  primitives::spmv_problem problem = problem_;
  problem.rows = run.last - run.first;
  problem.columns = run.is_interior ? columns_.count(rank_) : halo_.size() + own_.size();
  problem.whole.places = run.places;
  return problem;
}

csr_view matrix_part::rows_of(const run_of_rows& run) const noexcept {
  const primitives::spmv_problem problem = problem_of(run);
  const index_span begins(static_cast<const std::byte*>(a_.row_begins.data) + run.first * bytes(a_.row_begins.type),
                          problem.rows + 1, a_.row_begins.type);
  return {problem.rows, problem.columns, begins, index_span(local_columns_.data(), problem.entries, local_type_),
          a_.values};
}

// A preparation may take memory for all entries, whichever rows it is of: so there are few, of runs that are worth it.
void matrix_part::prepare_runs(const group_state& state) {
  constexpr std::uint64_t most_runs = 4;
  constexpr std::uint64_t products = 100;
  if (!state.goes_by_primitives) return;
  for (run_of_rows& run : runs_) {
    if (run.last - run.first < std::max(least_interior_rows, a_.rows / most_runs)) continue;
    primitives::prepare_spmv_problem problem{problem_of(run), products};
    problem.product.reads_y = true;
    try {
      plan::execute(primitives::prepare_spmv_call, primitives::prepare_spmv_variants(), problem, state.ctx, {},
                    {rows_of(run), &run.prepared});
    } catch (const error& thrown) {
      if (thrown.code() != error_code::out_of_memory) throw;
      run.prepared = nullptr;  // products do without
    }
  }
}

void matrix_part::multiply_runs(const context& ctx, bool interior, const void* x, void* y, double alpha,
                                double beta) const {
  const std::uint64_t width = bytes(value());
  for (const run_of_rows& run : runs_) {
    if (run.is_interior != interior) continue;
    primitives::spmv_problem problem = problem_of(run);
    problem.reads_y = beta != 0;
    std::byte* const to = static_cast<std::byte*>(y) + run.first * width;
    if (run.prepared) {
      run.prepared->run(ctx, const_values(x, problem.columns, value()), values(to, problem.rows, value()), alpha, beta);
    } else {
      plan::execute(primitives::spmv_call, primitives::spmv_variants(), problem, ctx, {},
                    {rows_of(run), x, to, alpha, beta});
    }
  }
}

void matrix_part::multiply(group_state& state, const void* x, void* y, double alpha, double beta) const {
  const std::uint64_t width = bytes(value());
  const const_records own(x, columns_.count(state.rank), width);
  const std::uint64_t sent = way_->requested_count();
  const message_buffer served(state, sent * width, state.ctx);
  const message_buffer gathered(state, (halo_.size() + own_.size()) * width, state.ctx);
  if (sent > 0) sheaf::gather(state.ctx, own, requested_.entries, records(served.data(), sent, width));
  const auto to = parts_to(served.data(), way_->requested_begins(), width, state.rank);
  auto from = parts_from(gathered.data(), way_->asked_begins(), width, state.rank);
  for (std::size_t r = static_cast<std::size_t>(state.rank) + 1; r < from.size(); ++r)
    from[r].data += own_.size() * width;
  std::optional<array_exchange> halo;
  if (!state.is_on_device() && state.size >= state.bounds.two_level_ranks) {
    exchange_parts(state, to, from);
  } else {
    halo.emplace(state, to, from);
  }
  if (own_.size() > 0) {
    sheaf::gather(state.ctx, own, own_list_.entries,
                  records(gathered.data() + halo_below_ * width, own_.size(), width));
  }
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
