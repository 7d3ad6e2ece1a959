#pragma once

#include <vector>

#include <sheaf/records.hpp>

#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/tile.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {

/// A table in textures, and the program whose fragments look its records up, in use.
class table_lookup {
 public:
  table_lookup(opengl_state& state, const_records table);

  /// Writes the records that a tile of the list names to the output's tile, and zeros where a number names none.
  /// @param list  the record numbers of the tile
  void gather(const texture& list, const tile& t, records out) const;

 private:
  struct part {
    tile where;
    texture texels;
  };

  texel_format texels_;
  const program& program_;
  std::vector<part> parts_;
};

}  // namespace sheaf::opengl
