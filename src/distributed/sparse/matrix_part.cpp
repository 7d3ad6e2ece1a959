#include "distributed/sparse/matrix_part.hpp"

#include <sheaf/gather.hpp>

#include "distributed/collectives.hpp"
#include "distributed/grid.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::distributed {
namespace {

using primitives::rank_row_block;

/// A run of fewer interior rows is not worth a call of its own.
constexpr std::uint64_t least_interior_rows = 4096;

/// A matrix as the host reads it. Values are not there on a device.
struct seen_matrix {
  csr_view a;
  buffer begins, ends, columns;

  seen_matrix(const group_state& state, const csr_view& of) : a(of) {
    a.row_begins = seen_list(state, of.row_begins, begins);
    if (of.has_row_ends) a.row_ends = seen_list(state, of.row_ends, ends);
    a.column_indices = seen_list(state, of.column_indices, columns);
  }
};

}  // namespace

matrix_part::matrix_part(group_state& state, const csr_view& a, const layout& rows, const layout& columns,
                         spmv_sums sums, primitives::csr_call by, std::uint64_t call)
    : rank_(state.rank), prepared_by_(call), rows_(rows), columns_(columns), sums_(sums), a_(a) {
  // Rows with ends of their own are copied before they are looked at, which only good ones can be.
  core::index_report fault;
  if (a.has_row_ends) fault = fault_of(state, a, by, call);
  const buffer columns_copy = a.has_row_ends && !fault.found() ? take_rows(state, a) : buffer();
  std::unique_ptr<column_inspector> inspector;
  column_inspector::look seen;
  if (!fault.found()) {
    inspector = inspector_of(state, {a_, columns_.begin(rank_), columns_.count(rank_)});
    seen = inspector->look_at_rows();
    if (seen.has_fault) fault = fault_of(state, a, by, call);
    if (seen.has_fault && !fault.found())
      throw error(error_code::internal, "a fault of a matrix, which the host does not find");
  }
  throw_fault(state, a, fault, by);
  note_sizes(state, seen.longest_row);
  find_runs(state, seen.has_remote);
  const column_list halo = inspector->remote();
  ask_for(state, halo, call);
  own_ = inspector->own(boundary_blocks());
  const std::uint64_t most = std::max(columns_.count(rank_), halo_ + own_.count);
  local_type_ = most <= ~std::uint32_t{0} ? index_type::u32 : index_type::u64;
  local_columns_ = inspector->renumbered(local_type_, halo_below_);
  problem_.column = local_type_;
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

/// What is wrong with the matrix, as the host finds it.
core::index_report matrix_part::fault_of(const group_state& state, const csr_view& a, primitives::csr_call by,
                                         std::uint64_t call) const {
  const seen_matrix seen(state, a);
  return primitives::find_fault(problem_of(seen.a), seen.a, by, call);
}

// A row's fault comes before any entry's, whichever rank has it.
void matrix_part::throw_fault(group_state& state, const csr_view& a, core::index_report report,
                              primitives::csr_call by) const {
  enum kind : std::uint64_t { nothing, column, row };
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

/// Copies rows with ends of their own one behind the other, as the host finds them: they may share entries, of which an
/// interior row and another would want different columns. Returns the columns.
buffer matrix_part::take_rows(const group_state& state, const csr_view& a) {
  const seen_matrix seen(state, a);
  const primitives::host_rows rows(problem_of(seen.a), seen.a);
  const buffer begins(state.host, (a.rows + 1) * sizeof(std::uint64_t));
  std::uint64_t* const offsets = begins.as<std::uint64_t>();
  offsets[0] = 0;
  for (std::uint64_t r = 0; r < a.rows; ++r) offsets[r + 1] = offsets[r] + rows.end(r) - rows.begin(r);
  const std::uint64_t entries = offsets[a.rows];
  const buffer columns(state.host, entries * sizeof(std::uint64_t));
  const buffer places(state.host, entries * sizeof(std::uint64_t));
  for (std::uint64_t r = 0; r < a.rows; ++r) {
    for (std::uint64_t i = 0, count = offsets[r + 1] - offsets[r]; i < count; ++i) {
      columns.as<std::uint64_t>()[offsets[r] + i] = primitives::bits_at(seen.a.column_indices, rows.begin(r) + i);
      places.as<std::uint64_t>()[offsets[r] + i] = rows.begin(r) + i;
    }
  }
  const std::uint64_t width = bytes(a.values.type);
  values_copy_ = buffer(state.ctx, entries * width);
  if (entries > 0) {
    const buffer index = brought(state, places.data(), places.size());
    sheaf::gather(state.ctx, const_records(a.values.data, a.values.count, width),
                  index_span(index.data(), entries, index_type::u64), records(values_copy_.data(), entries, width));
  }
  offsets_copy_ = brought(state, offsets, begins.size());
  buffer columns_copy = brought(state, columns.data(), columns.size());
  a_ = csr_view(a.rows, a.columns, index_span(offsets_copy_.data(), a.rows + 1, index_type::u64),
                index_span(columns_copy.data(), entries, index_type::u64),
                const_values(values_copy_.data(), entries, a.values.type));
  return columns_copy;
}

/// What decides the order of sums: the entries of all rows, without places that belong to none.
void matrix_part::note_sizes(group_state& state, std::uint64_t longest_row) {
  problem_ = problem_of(a_);
  problem_.backend = state.ctx.backend();
  problem_.whole.longest_row = longest_row;
  problem_.whole.rows = rows_.count();
  std::uint64_t entries = 0;
  if (a_.rows > 0) {
    const std::vector<std::uint64_t> ends = numbers_at(state, a_.row_begins, {0, a_.rows});
    entries = ends[1] - ends[0];
  }
  for (const std::uint64_t of_rank : all_gather(state, entries)) problem_.whole.entries += of_rank;
}

void matrix_part::find_runs(const group_state& state, const std::vector<unsigned char>& has_remote) {
  const auto add = [&](std::uint64_t first, std::uint64_t last, bool is_interior) {
    if (first == last) return;
    if (!runs_.empty() && runs_.back().is_interior == is_interior) {
      runs_.back().last = last;
    } else {
      runs_.push_back({.first = first, .last = last, .is_interior = is_interior});
    }
  };
  const std::uint64_t blocks = has_remote.size();
  for (std::uint64_t block = 0; block < blocks;) {
    std::uint64_t end = block;
    while (end < blocks && has_remote[end] == has_remote[block]) ++end;
    const std::uint64_t first = block * rank_row_block;
    const std::uint64_t last = std::min(a_.rows, end * rank_row_block);
    const bool is_whole = last - first == a_.rows;
    add(first, last, has_remote[block] == 0 && (is_whole || last - first >= least_interior_rows));
    block = end;
  }
  std::vector<std::uint64_t> firsts;
  for (const run_of_rows& run : runs_) firsts.push_back(run.first);
  const std::vector<std::uint64_t> begins = numbers_at(state, a_.row_begins, firsts);
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].places = a_.column_indices.count - begins[i];
}

/// Of each block of rows, whether it lies in a run that waits for values of other ranks.
std::vector<unsigned char> matrix_part::boundary_blocks() const {
  std::vector<unsigned char> is_boundary(primitives::row_blocks_of(a_.rows));
  for (const run_of_rows& run : runs_) {
    if (run.is_interior) continue;
    std::fill(is_boundary.begin() + static_cast<std::ptrdiff_t>(run.first / rank_row_block),
              is_boundary.begin() + static_cast<std::ptrdiff_t>(primitives::row_blocks_of(run.last)), 1);
  }
  return is_boundary;
}

/// Tells other ranks which values of x this one needs of them.
void matrix_part::ask_for(group_state& state, const column_list& halo, std::uint64_t call) {
  const core::index_wording& wording =
      primitives::wording_of(primitives::csr_call::spmv, primitives::csr_fault::column);
  const auto keep = [&](auto& way) {
    way.finish_requests();
    requested_ = way.requested();
    requested_begins_.assign(way.requested_begins().begin(), way.requested_begins().end());
    asked_begins_.assign(way.asked_begins().begin(), way.asked_begins().end());
    requested_memory_.emplace(way.take_requested());
  };
  halo_ = halo.count;
  if (state.goes_by_primitives) {
    const std::vector<std::uint64_t> counts = all_gather(state, halo.count);
    const device_owners owners(state, columns_, *std::max_element(counts.begin(), counts.end()));
    device_routing way(state, owners, list_part{halo.span(), 0}, call, wording);
    keep(way);
  } else {
    routing way(state, owner_finder(columns_), list_part{halo.span(), 0}, call, wording);
    keep(way);
  }
  halo_below_ = asked_begins_[static_cast<std::size_t>(rank_)];
}

primitives::spmv_problem matrix_part::problem_of(const run_of_rows& run) const noexcept {
  primitives::spmv_problem problem = problem_;
  problem.rows = run.last - run.first;
  problem.columns = run.is_interior ? columns_.count(rank_) : halo_ + own_.count;
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
  const std::uint64_t sent = requested_begins_.back();
  const message_buffer served(state, sent * width, state.ctx);
  const message_buffer gathered(state, (halo_ + own_.count) * width, state.ctx);
  if (sent > 0) sheaf::gather(state.ctx, own, requested_, records(served.data(), sent, width));
  const auto to = parts_to(served.data(), requested_begins_, width, state.rank);
  auto from = parts_from(gathered.data(), asked_begins_, width, state.rank);
  for (std::size_t r = static_cast<std::size_t>(state.rank) + 1; r < from.size(); ++r)
    from[r].data += own_.count * width;
  std::optional<array_exchange> halo;
  if (!state.is_on_device() && state.size >= state.bounds.two_level_ranks) {
    exchange_parts(state, to, from);
  } else {
    halo.emplace(state, to, from);
  }
  if (own_.count > 0) {
    sheaf::gather(state.ctx, own, own_.span(), records(gathered.data() + halo_below_ * width, own_.count, width));
  }
  multiply_runs(state.ctx, true, x, y, alpha, beta);
  if (halo) halo->finish();
  multiply_runs(state.ctx, false, gathered.data(), y, alpha, beta);
}

spmv_preparation matrix_part::report() const noexcept {
  spmv_preparation out{halo_, requested_begins_.back(), 0};
  for (const run_of_rows& run : runs_) out.interior_rows += run.is_interior ? run.last - run.first : 0;
  return out;
}

}  // namespace sheaf::distributed
