#pragma once

#include "primitives/executor.hpp"
#include "primitives/reduce/rows.hpp"

namespace sheaf::primitives {

/// The executor that a preparation makes: reductions of rows by the inspected list, which it does not refer to.
class prepared_reduction {
 public:
  virtual ~prepared_reduction() = default;
  /// The views are checked, and buffers.index has no data.
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
};

/// What plans know of a preparation. Rows lie side by side on both sides; record_bytes is a guess of their width.
struct prepare_scatter_reduce_problem : movement {
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_scatter_reduce_problem&, const prepare_scatter_reduce_problem&) = default;
};

inline plan::measured_place place_of(const prepare_scatter_reduce_problem& p) noexcept {
  return place_of_movement("prepare_scatter_reduce", p);
}

/// A bad index is reported in this wording, and the preparation throws it.
inline constexpr core::index_wording prepare_scatter_reduce_wording{"prepare_scatter_reduce", "index", "the output's",
                                                                    "rows"};

struct prepare_scatter_reduce_buffers {
  index_span index;
  std::shared_ptr<prepared_reduction>* made;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_scatter_reduce_decision {
  double run_seconds = 0;  ///< predicted time of one run

  void tell(plan::told& to) const { to.add("run_seconds", run_seconds); }
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_scatter_reduce_variant = plan::variant<prepare_scatter_reduce_problem, prepare_scatter_reduce_buffers>;

/// All variants of this build. "kept" copies the list, and each run is a scatter_reduce by the copy.
std::span<const prepare_scatter_reduce_variant> prepare_scatter_reduce_variants();

class checked_reduction final : public checked_executor<prepared_reduction, prepare_scatter_reduce_problem> {
 public:
  using checked_executor::checked_executor;
  void run(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b) override;
};

constexpr std::string_view prepare_scatter_reduce_call = "prepare_scatter_reduce";
constexpr std::string_view prepared_scatter_reduce_call = "prepared_scatter_reduce";  ///< what errors of runs say

}  // namespace sheaf::primitives
