#pragma once

#include <span>
#include <string_view>

#include <sheaf/records.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

namespace sheaf {

namespace primitives {

/// The output is the sequential side, the table the indexed side.
struct gather_problem : movement {
  friend bool operator==(const gather_problem&, const gather_problem&) = default;
};

struct gather_buffers {
  const_records table;
  index_span index;
  records out;
};

using gather_variant = plan::variant<gather_problem, gather_buffers>;

/// All variants of this build, in the order of gather.cpp.
std::span<const gather_variant> gather_variants();

/// The problem that a gather of these views is. Checks nothing: data may be null.
gather_problem describe_gather(const context& ctx, const_records table, index_span index, records out,
                               access_pattern pattern = access_pattern::unknown(), bounds checking = bounds::check);

/// Queues the variant that the planner chooses, or the one called `forced`: gather() without the check of arguments,
/// for primitives and backends that gather views of their own. The views must fit as gather() asks, in ctx's memory,
/// and `problem` must describe them.
/// @throws error(no_variant) if none can run, error(bad_argument) if none is called `forced`.
void run_gather(const context& ctx, const gather_problem& problem, const gather_buffers& buffers,
                std::string_view forced = {});

}  // namespace primitives

// Variants, which the backends define.
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
