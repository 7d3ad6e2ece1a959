#pragma once

#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::gather_variant gather_direct;
extern const primitives::gather_variant gather_collective;
extern const primitives::gather_variant gather_multipass;
extern const primitives::gather_variant gather_adaptive;
extern const primitives::gather_variant gather_bucketed;

extern const primitives::scatter_variant scatter_direct;
extern const primitives::scatter_variant scatter_collective;
extern const primitives::scatter_variant scatter_multipass;
extern const primitives::scatter_variant scatter_adaptive;
extern const primitives::scatter_variant scatter_bucketed;
extern const primitives::scatter_variant scatter_last_writer;
extern const primitives::scatter_variant scatter_bucketed_last;

extern const primitives::prepare_variant prepare_scheduled;

}  // namespace sheaf::cuda
