#include "opengl/sparse/row_matrix.hpp"

#include "core/scratch_offsets.hpp"
#include "opengl/device/errors.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

constexpr program_files row_files{"pixels.vert", "", "spmv_rows.frag"};

// Longer rows are summed by several draws (draw_loops).
constexpr std::uint32_t entries_of_a_loop = std::uint32_t{1} << 15;

struct row_range {
  std::uint32_t begin;
  std::uint32_t end;
};

struct matrix_entry {
  std::uint32_t column;
  float value;
};

std::uint64_t range_bytes(const spmv_problem& p) noexcept { return core::scratch_aligned(p.rows * sizeof(row_range)); }

}  // namespace

const program& row_program(opengl_state& state) { return state.program_of(row_files); }

std::uint64_t row_matrix::scratch_bytes(const spmv_problem& p) noexcept {
  return range_bytes(p) + core::scratch_aligned(p.entries * sizeof(matrix_entry));
}

row_matrix::row_matrix(opengl_state& state, const spmv_problem& problem, const csr_view& a, std::byte* scratch)
    : rows_(state, "spmv: the rows", pair_texels, problem.rows),
      entries_(state, "spmv: the entries", pair_texels, problem.entries) {
  auto* const ranges = reinterpret_cast<row_range*>(scratch);
  auto* const entries = reinterpret_cast<matrix_entry*>(scratch + range_bytes(problem));
  const auto* const values = static_cast<const float*>(a.values.data);
  const primitives::host_rows rows(problem, a);
  primitives::with_entries(a.column_indices, [&](const auto* column) {
    const auto is_column = [&](std::uint64_t place) {
      return static_cast<std::uint64_t>(column[place]) < problem.columns;
    };
    // Places that belong to no row may hold anything.
    for (std::uint64_t place = 0; place < problem.entries; ++place) {
      entries[place] = {is_column(place) ? static_cast<std::uint32_t>(column[place]) : no_record, values[place]};
    }
    for (std::uint64_t row = 0; row < problem.rows; ++row) {
      ranges[row] = {0, 0};
      has_faults_ |= !rows.is_row(row);
      if (!rows.is_row(row)) continue;
      const std::uint64_t begin = rows.begin(row);
      const std::uint64_t end = rows.end(row);
      ranges[row] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
      longest_row_ = std::max(longest_row_, end - begin);
      has_faults_ |= std::any_of(entries + begin, entries + end,
                                 [](const matrix_entry& entry) { return entry.column == no_record; });
    }
  });
  rows_.upload(ranges);
  entries_.upload(entries);
}

void row_matrix::draw(opengl_state& state, const spmv_problem& problem, const source_array& x,
                      const std::vector<tile_target>& sums) const {
  const program& multiply = row_program(state);
  multiply.use();
  const layered_texture texels(state, "spmv: x", float_texels, problem.x_count());
  texels.upload(x);
  rows_.bind(0, multiply, "rows");
  entries_.bind(1, multiply, "entries");
  texels.bind(2, multiply, "x");
  multiply.set("x_count", static_cast<std::uint32_t>(problem.x_count()));
  for (const tile_target& target : sums) {
    draw_to(multiply, target);
    draw_loops(multiply, longest_row_, entries_of_a_loop);
  }
  require_no_error("spmv: draws of rows");
}

}  // namespace sheaf::opengl
