#pragma once

#include <sheaf/prepared.hpp>

#include "plan/list_order.hpp"
#include "primitives/executor.hpp"
#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// The executor that a preparation makes: a gather from the indexed side, or a scatter to it, by the inspected list.
class prepared_movement {
 public:
  virtual ~prepared_movement() = default;
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const_records from, records to) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
};

enum class prepared_direction : std::uint8_t { gather, scatter };

/// What plans know of a preparation. Records lie side by side on both sides, and are aligned words if their width is 1,
/// 2, 4, 8 or 16 bytes.
struct prepare_problem : movement {
  prepared_direction direction = prepared_direction::gather;
  sheaf::duplicates duplicates = sheaf::duplicates::any;
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_problem&, const prepare_problem&) = default;
};

struct prepare_buffers {
  index_span index;
  std::shared_ptr<prepared_movement>* made;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_decision {
  double run_seconds = 0;        ///< predicted time of one run
  std::uint64_t kept_bytes = 0;  ///< memory that the executor keeps

  void tell(plan::told& to) const { to.add("run_seconds", run_seconds).add("kept_bytes", kept_bytes); }
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_variant = plan::variant<prepare_problem, prepare_buffers>;

/// All variants of this build. "kept" copies the list, and each run is a gather or scatter by the copy.
std::span<const prepare_variant> prepare_variants();

class checked_movement final : public checked_executor<prepared_movement, prepare_problem> {
 public:
  using checked_executor::checked_executor;
  void run(const context& ctx, const_records from, records to) override;
};

constexpr std::string_view prepared_gather_call = "prepared_gather";
constexpr std::string_view prepared_scatter_call = "prepared_scatter";

/// The order of a list that names `records` records, found from runs of it on the host. Waits for ctx.
access_pattern order_of_list(const context& ctx, index_span index, std::uint64_t records,
                             plan::list_sample size = plan::list_sample::large);

}  // namespace sheaf::primitives
