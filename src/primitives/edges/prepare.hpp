#pragma once

#include "primitives/edges/edge_sum.hpp"
#include "primitives/executor.hpp"

namespace sheaf::primitives {

/// The executor that a preparation makes: sums over the inspected edges. It may point into the arrays of ends.
class prepared_edges {
 public:
  virtual ~prepared_edges() = default;
  /// The views are checked. Components, types and function of `problem` may be others than those prepared for.
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const edge_sum_problem& problem, const edge_sum_buffers& buffers) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
  /// Name of the variant, of edge_sum or of a preparation, whose work a run does. It may be another preparation than
  /// the one that was planned, because only the edges show whether that one's form suits them.
  virtual std::string_view run_variant() const = 0;
};

class checked_edges final : public checked_executor<prepared_edges, edge_sum_problem> {
 public:
  checked_edges(std::shared_ptr<prepared_edges> work, const edge_sum_problem& p, const edge_view& edges)
      : checked_executor(std::move(work), p), edges_(edges) {}
  void run(const context& ctx, const edge_sum_problem& problem, const edge_sum_buffers& buffers) override;
  std::string_view run_variant() const override { return executor().run_variant(); }

  /// A run with the caller's views, of which `problem` has all but the type of the values and the number of weights.
  void run_views(const context& ctx, edge_sum_problem problem, const_values node_values, const_values weights,
                 values result, const detail::host_edge_function* on_host,
                 const detail::device_edge_function* on_device);

 private:
  edge_view edges_;
};

/// What plans know of a preparation.
struct prepare_edge_sum_problem {
  edge_sum_problem sum;          ///< a run as most are
  std::uint32_t dimensions = 0;  ///< of the coordinates; 0: there are none
  value_type coordinate = value_type::f64;
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_edge_sum_problem&, const prepare_edge_sum_problem&) = default;
};

/// run() reports bad ends in the wording of edge_call::prepare_edge_sum.
struct prepare_edge_sum_buffers {
  edge_view edges;
  const void* coordinates = nullptr;                ///< null where there are none
  std::shared_ptr<prepared_edges>* made = nullptr;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_edge_sum_decision {
  double run_seconds = 0;  ///< predicted time of one run

  void tell(plan::told& to) const { to.add("run_seconds", run_seconds); }
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_edge_sum_variant = plan::variant<prepare_edge_sum_problem, prepare_edge_sum_buffers>;

/// All variants of this build. "kept" keeps the views, and each run is the sum that was chosen once.
std::span<const prepare_edge_sum_variant> prepare_edge_sum_variants();

constexpr std::string_view prepare_edge_sum_call = "prepare_edge_sum";
constexpr std::string_view prepared_edge_sum_call = "prepared_edge_sum";

/// Memory of a preparation; see memory_of_preparation().
inline buffer edge_memory(const context& ctx, std::string_view what, std::uint64_t bytes) {
  return memory_of_preparation(ctx, prepare_edge_sum_call, what, bytes);
}

}  // namespace sheaf::primitives
