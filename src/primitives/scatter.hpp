#pragma once

#include <span>

#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

namespace sheaf {

namespace primitives {

/// The input is the sequential side, the output the indexed side.
struct scatter_problem : movement {
  sheaf::duplicates duplicates = sheaf::duplicates::any;

  friend bool operator==(const scatter_problem&, const scatter_problem&) = default;
};

struct scatter_buffers {
  const_records in;
  index_span index;
  records out;
};

using scatter_variant = plan::variant<scatter_problem, scatter_buffers>;

/// All variants of this build, in the order of scatter.cpp.
std::span<const scatter_variant> scatter_variants();

}  // namespace primitives

// Variants, which the backends define.
namespace reference {
extern const primitives::scatter_variant scatter_serial;
}
namespace cpu {
extern const primitives::scatter_variant scatter_direct;
extern const primitives::scatter_variant scatter_by_page;
extern const primitives::scatter_variant scatter_bucketed;
extern const primitives::scatter_variant scatter_multipass;
extern const primitives::scatter_variant scatter_owner;
}  // namespace cpu
namespace cuda {
extern const primitives::scatter_variant scatter_adaptive;
extern const primitives::scatter_variant scatter_direct;
extern const primitives::scatter_variant scatter_collective;
extern const primitives::scatter_variant scatter_thread_per_record;
extern const primitives::scatter_variant scatter_multipass;
extern const primitives::scatter_variant scatter_bucketed;
extern const primitives::scatter_variant scatter_last_writer;
}  // namespace cuda

}  // namespace sheaf
