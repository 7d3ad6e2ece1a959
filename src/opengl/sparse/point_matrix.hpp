#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "opengl/device/buffer_texture.hpp"
#include "opengl/device/objects.hpp"
#include "opengl/device/state.hpp"
#include "opengl/movement/draw_points.hpp"
#include "opengl/sparse/entry_cursor.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {

/// What resolves the indirection of a product by points.
enum class point_form : std::uint8_t {
  texture_lookup,  ///< by the fragment
  color_table,     ///< by the fragment, in a table of one row that stands for the color table
  vertex_index,    ///< x is the array of vertices
  packed,          ///< texture lookups, four entries to a point
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
point_piece next_piece(const opengl_state& state, const primitives::spmv_problem& p, point_form form,
                       entry_cursor& cursor);

/// The program of a form's products, linked if this is its first use.
const program& program_of(opengl_state& state, point_form form);

/// x on the device, as a form looks it up, and the program that does, in use.
class point_product {
 public:
  point_product(opengl_state& state, const primitives::spmv_problem& p, point_form form, const source_array& x);
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
