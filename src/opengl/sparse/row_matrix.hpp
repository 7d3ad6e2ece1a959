#pragma once

#include "opengl/device/textures.hpp"
#include "opengl/movement/draw_points.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {

/// A matrix in textures, for fragments that each loop over a row. Column and value of an entry are one texel.
class row_matrix {
 public:
  /// Host memory that the constructor needs.
  static std::uint64_t scratch_bytes(const primitives::spmv_problem& problem) noexcept;

  /// Rows and columns that there are not are left out.
  row_matrix(opengl_state& state, const primitives::spmv_problem& problem, const csr_view& a, std::byte* scratch);

  bool has_faults() const noexcept { return has_faults_; }
  std::uint64_t bytes() const noexcept { return rows_.bytes() + entries_.bytes(); }

  /// Writes the sums of the products of all entries with x to all pixels.
  void draw(opengl_state& state, const primitives::spmv_problem& problem, const source_array& x,
            const std::vector<tile_target>& sums) const;

 private:
  bool has_faults_ = false;
  std::uint64_t longest_row_ = 0;
  layered_texture rows_;
  layered_texture entries_;
};

/// The program of products by such fragments, linked if this is its first use.
const program& row_program(opengl_state& state);

}  // namespace sheaf::opengl
