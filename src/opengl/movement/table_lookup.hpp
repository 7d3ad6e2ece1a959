#pragma once

#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/tile.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {

/// The program of lookups in a table, linked if this is its first use.
const program& lookup_program(opengl_state& state);

/// A table in textures, and the program whose fragments look its records up, in use.
class table_lookup {
 public:
  table_lookup(opengl_state& state, const_records table);
  /// Of a table whose records lie side by side, in a buffer too.
  table_lookup(opengl_state& state, const source_array& table, std::uint64_t count, std::uint64_t record_bytes);

  /// The records that a tile of the list names, as pixels, and zeros where a number names none.
  /// @param list  the record numbers of the tile
  draw_target gathered(const texture& list, const tile& tile) const;

 private:
  struct part {
    tile where;
    texture texels;
  };

  template <class Array>
  table_lookup(opengl_state& state, const texel_format& texels, std::uint64_t count, const Array& table);

  texel_format texels_;
  const program& program_;
  std::vector<part> parts_;
};

}  // namespace sheaf::opengl
