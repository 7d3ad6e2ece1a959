#pragma once

#include <memory>
#include <span>

#include <sheaf/prepared.hpp>
#include <sheaf/records.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

namespace sheaf {

namespace primitives {

/// What a preparation leaves: a gather (from the far side) or a scatter (to it) of the list that was studied.
class prepared_movement {
 public:
  virtual ~prepared_movement() = default;
  virtual void run(const context& ctx, const_records from, records to) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
};

enum class prepared_direction : std::uint8_t { gather, scatter };

/// Records lie side by side on both sides, aligned words if their width is one.
struct prepare_problem : movement {
  prepared_direction direction = prepared_direction::gather;
  sheaf::duplicates duplicates = sheaf::duplicates::any;
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_problem&, const prepare_problem&) = default;
};

struct prepare_buffers {
  index_span index;
  std::shared_ptr<prepared_movement>* made;
};

/// parameters of a plan: the predicted time of one run, in nanoseconds.
constexpr std::size_t run_nanoseconds = 0;

/// A variant's seconds are those of the preparation and of all expected runs.
using prepare_variant = plan::variant<prepare_problem, prepare_buffers>;

/// Every way to prepare that this build has; "kept" copies the list and leaves the rest to gather or scatter.
std::span<const prepare_variant> prepare_variants();

}  // namespace primitives

// What the backends define.
namespace cuda {
extern const primitives::prepare_variant prepare_scheduled;
}

}  // namespace sheaf
