#pragma once

#include "primitives/backends.hpp"

namespace sheaf {

// Forms of the papers that are variants of a primitive. Each is defined in <paper>/<backend>, in the file that has its
// name.
namespace cuda {

extern const primitives::gather_variant gather_thread_per_record;
extern const primitives::scatter_variant scatter_thread_per_record;
extern const primitives::split_variant split_one_step;
extern const primitives::split_variant split_two_step;
extern const primitives::sort_variant sort_bitonic;
extern const primitives::sort_variant sort_msd_bitonic;

}  // namespace cuda

namespace papers {

/// Those of all papers and of the backends of this build. All run by name only, so that a program that adds them to
/// the lists (primitives::add_variants) still chooses as the library does.
extern const primitives::backend_variants variants;

}  // namespace papers
}  // namespace sheaf
