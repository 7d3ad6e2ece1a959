#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "primitives/edges/edge_sum.hpp"

namespace sheaf {

namespace primitives {

/// The executor that a preparation makes: sums over the inspected edges. It may point into the arrays of ends.
class prepared_edges {
 public:
  virtual ~prepared_edges() = default;
  /// The views are checked. Components, types and function of `p` may be others than those prepared for.
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
  /// Name of the variant, of edge_sum or of a preparation, whose work a run does. It may be another preparation than
  /// the one that was planned, because only the edges show whether that one's form suits them.
  virtual std::string_view run_variant() const = 0;
};

/// What a prepared_edge_sum holds: an executor, behind the comparison of each run's views with what was prepared.
class checked_edges final : public prepared_edges {
 public:
  checked_edges(std::shared_ptr<prepared_edges> work, const edge_sum_problem& p, const edge_view& edges)
      : work_(std::move(work)), p_(p), edges_(edges) {}
  void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) override;
  std::uint64_t kept_bytes() const override { return work_->kept_bytes(); }
  std::string_view run_variant() const override { return work_->run_variant(); }

  /// A run with the caller's views, of which `p` has all but the type of the values and the number of weights.
  void run_views(const context& ctx, edge_sum_problem p, const_values node_values, const_values weights, values result,
                 const detail::host_edge_function* on_host, const detail::device_edge_function* on_device);

  const edge_sum_problem& problem() const noexcept { return p_; }
  prepared_edges& executor() const noexcept { return *work_; }

 private:
  std::shared_ptr<prepared_edges> work_;
  edge_sum_problem p_;
  edge_view edges_;
};

/// What a prepared_edge_sum holds. @throws error(bad_argument) if that was moved from
checked_edges& checked(const std::shared_ptr<prepared_edges>& work);

/// What plans know of a preparation.
struct prepare_edge_sum_problem {
  edge_sum_problem sum;          ///< a run as most are
  std::uint32_t dimensions = 0;  ///< of the coordinates; 0: there are none
  value_type coordinate = value_type::f64;
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_edge_sum_problem&, const prepare_edge_sum_problem&) = default;
};

/// run() reports bad ends in the words of edge_call::prepare_edge_sum.
struct prepare_edge_sum_buffers {
  edge_view edges;
  const void* coordinates = nullptr;                ///< null where there are none
  std::shared_ptr<prepared_edges>* made = nullptr;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_edge_sum_decision {
  double run_seconds = 0;  ///< predicted time of one run
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_edge_sum_variant = plan::variant<prepare_edge_sum_problem, prepare_edge_sum_buffers>;

/// All variants of this build. "kept" keeps the views, and each run is the sum that was chosen once.
std::span<const prepare_edge_sum_variant> prepare_edge_sum_variants();

constexpr std::string_view prepare_edge_sum_call = "prepare_edge_sum";
constexpr std::string_view prepared_edge_sum_call = "prepared_edge_sum";

/// Memory of a preparation. @throws error(out_of_memory): "prepare_edge_sum: <what> take <bytes> bytes, ..."
buffer edge_memory(const context& ctx, std::string_view what, std::uint64_t bytes);

}  // namespace primitives
}  // namespace sheaf
