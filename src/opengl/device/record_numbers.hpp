#pragma once

#include "opengl/device/state.hpp"
#include "primitives/movement/problem.hpp"

namespace sheaf::opengl {

/// The number of an index that names no record. No array has as many records.
constexpr std::uint32_t no_record = 0xffffffff;
constexpr std::uint64_t most_record_numbers = no_record;

/// Begins a call: writes the record numbers of an index list of any type as 32 bits, and no_record for those that name
/// none, which the shaders leave out. Reports the first of them to the context, unless the caller vouches for the list.
void write_record_numbers(opengl_state& state, const primitives::movement& movement, index_span index,
                          const core::index_wording& wording, std::uint32_t* numbers);

}  // namespace sheaf::opengl
