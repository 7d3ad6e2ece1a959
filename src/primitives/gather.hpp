#pragma once

#include <span>

#include <sheaf/records.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

namespace sheaf {

namespace primitives {

/// near is the output, far the table.
struct gather_problem : movement {
  friend bool operator==(const gather_problem&, const gather_problem&) = default;
};

struct gather_buffers {
  const_records table;
  index_span index;
  records out;
};

using gather_variant = plan::variant<gather_problem, gather_buffers>;

/// Every way to gather that this build has.
std::span<const gather_variant> gather_variants();

}  // namespace primitives

// What the backends define.
namespace reference {
extern const primitives::gather_variant gather_serial;
}
namespace cpu {
extern const primitives::gather_variant gather_direct;
extern const primitives::gather_variant gather_bucketed;
extern const primitives::gather_variant gather_multipass;
}  // namespace cpu
namespace cuda {
extern const primitives::gather_variant gather_adaptive;
extern const primitives::gather_variant gather_direct;
extern const primitives::gather_variant gather_collective;
extern const primitives::gather_variant gather_thread_per_record;
extern const primitives::gather_variant gather_multipass;
extern const primitives::gather_variant gather_bucketed;
}  // namespace cuda

}  // namespace sheaf
