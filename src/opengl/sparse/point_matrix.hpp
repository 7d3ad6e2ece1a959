#pragma once

#include "opengl/device/objects.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/textures.hpp"
#include "opengl/movement/draw_points.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::opengl {

/// What resolves the indirection of a product by points.
enum class point_form : std::uint8_t {
  texture_lookup,  ///< by the fragment
  color_table,     ///< by the fragment, in a table of one row that stands for the color table
  vertex_index,    ///< x is the array of vertices
  packed,          ///< texture lookups, four entries to a point
};

/// Entries of one row, side by side.
template <unsigned Most>
struct entry_group {
  std::uint32_t row = 0;
  std::uint32_t count = 0;
  std::uint32_t columns[Most] = {};
  float values[Most] = {};
};

/// Goes through the entries of a matrix, row by row, and stops where the caller has no more room. Rows and columns that
/// there are not are left out.
class entry_cursor {
 public:
  entry_cursor(const primitives::spmv_problem& p, const csr_view& a) : rows_(p, a), a_(a), limit_(p.columns) {}

  bool is_done() const noexcept { return row_ == a_.rows; }
  bool has_met_faults() const noexcept { return has_met_faults_; }
  /// Groups that were emitted so far.
  std::uint64_t emitted() const noexcept { return emitted_; }

  /// Calls emit(group) for the next entries, in groups of `Most` or less of one row, at most `room` times. Returns how
  /// often.
  template <unsigned Most, class Emit>
  std::uint64_t visit(std::uint64_t room, Emit emit) {
    const std::uint64_t groups = primitives::with_entries(
        a_.column_indices, [&](const auto* columns) { return visit_as<Most>(columns, room, emit); });
    emitted_ += groups;
    return groups;
  }

 private:
  template <unsigned Most, class Column, class Emit>
  std::uint64_t visit_as(const Column* columns, std::uint64_t room, Emit emit) {
    const auto* const values = static_cast<const float*>(a_.values.data);
    std::uint64_t emitted = 0;
    for (; row_ < a_.rows; ++row_, is_in_row_ = false) {
      if (!rows_.is_row(row_)) {
        has_met_faults_ = true;
        continue;
      }
      if (!is_in_row_) place_ = rows_.begin(row_);
      is_in_row_ = true;
      entry_group<Most> group;
      group.row = static_cast<std::uint32_t>(row_);
      for (const std::uint64_t end = rows_.end(row_); place_ < end; ++place_) {
        if (emitted == room) return emitted;
        const auto column = static_cast<std::uint64_t>(columns[place_]);  // extends the sign
        if (column >= limit_) {
          has_met_faults_ = true;
          continue;
        }
        group.columns[group.count] = static_cast<std::uint32_t>(column);
        group.values[group.count] = values[place_];
        if (++group.count < Most) continue;
        emit(group);
        ++emitted;
        group.count = 0;
      }
      if (group.count == 0) continue;
      emit(group);
      ++emitted;
    }
    return emitted;
  }

  primitives::host_rows rows_;
  csr_view a_;
  std::uint64_t limit_;
  std::uint64_t row_ = 0;
  std::uint64_t place_ = 0;
  std::uint64_t emitted_ = 0;
  bool is_in_row_ = false;
  bool has_met_faults_ = false;
};

/// Entries of a matrix as points, on the device.
struct point_piece {
  std::uint64_t points = 0;
  std::uint64_t bytes = 0;
  vertex_array attributes;
  buffer_object vertices;                 ///< by vertex indexing: the element array
  std::optional<buffer_texture> entries;  ///< by vertex indexing: rows and values
};

/// The next entries of the cursor, as many as a buffer takes. Rows say pixels, or columns of a transposed product.
point_piece next_piece(const opengl_state& state, const primitives::spmv_problem& problem, point_form form,
                       entry_cursor& cursor);

/// The program of a form's products, linked if this is its first use.
const program& program_of(opengl_state& state, point_form form);

/// x on the device, as a form looks it up, and the program that does, in use.
class point_product {
 public:
  point_product(opengl_state& state, const primitives::spmv_problem& problem, point_form form, const source_array& x);
  ~point_product();
  point_product(point_product&&) = delete;

  /// Adds the products of a piece's entries to the sums.
  void draw(const opengl_state& state, const point_piece& piece, const std::vector<tile_target>& sums) const;

 private:
  struct looked_up;

  point_form form_;
  const program& program_;
  std::unique_ptr<looked_up> x_;
};

}  // namespace sheaf::opengl
