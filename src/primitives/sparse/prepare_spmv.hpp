#pragma once

#include "plan/cheapest.hpp"
#include "primitives/executor.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::primitives {

/// The executor that a preparation makes: products by the inspected matrix. It may point into the matrix's arrays.
class prepared_product {
 public:
  virtual ~prepared_product() = default;
  /// x and y are checked. The result has at least one value.
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const_values x, values y, double alpha, double beta) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
  /// What a run is, where only the matrix's data decided it; empty: what the plan said.
  virtual std::string_view product() const { return {}; }
  /// Whether the matrix's data showed that there is nothing to gain, so that a run is what product() is unprepared.
  virtual bool is_unprepared() const { return false; }
  /// Whether the matrix's data showed a form that other preparations do not beat, so that none is made and timed beside
  /// it.
  virtual bool has_no_rival() const { return false; }
};

class checked_product final : public checked_executor<prepared_product, spmv_problem> {
 public:
  checked_product(std::shared_ptr<prepared_product> work, const spmv_problem& p, const csr_view& a)
      : checked_executor(std::move(work), p), a_(a) {}
  void run(const context& ctx, const_values x, values y, double alpha, double beta) override;

 private:
  csr_view a_;
};

/// What plans know of a preparation.
struct prepare_spmv_problem {
  spmv_problem product;  ///< a run; reads_y is true
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_spmv_problem&, const prepare_spmv_problem&) = default;
};

/// run() reports faults of the matrix in the wording of csr_call::prepare_spmv.
struct prepare_spmv_buffers {
  csr_view a;
  std::shared_ptr<prepared_product>* made;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_spmv_decision {
  double run_seconds = 0;    ///< predicted time of one run
  std::string_view product;  ///< name of the spmv variant that a run is

  void tell(plan::told& to) const { to.add("run_seconds", run_seconds).add("product", product); }
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_spmv_variant = plan::variant<prepare_spmv_problem, prepare_spmv_buffers>;

/// All variants of this build. "kept" keeps the views, and each run is the product that was chosen once.
std::span<const prepare_spmv_variant> prepare_spmv_variants();

constexpr std::string_view prepare_spmv_call = "prepare_spmv";
constexpr std::string_view prepared_spmv_call = "prepared_spmv";  ///< what errors of runs say

/// Memory that a preparation keeps; see memory_of_preparation().
inline buffer prepared_memory(const context& ctx, std::string_view what, std::uint64_t bytes) {
  return memory_of_preparation(ctx, prepare_spmv_call, what, bytes);
}

/// The order of a matrix's columns as its preparation finds it, by which it then plans: unknown where a sample does not
/// say. @throws error(bad_argument) for arrays that are not in ctx's memory
access_pattern order_that_a_preparation_finds(const context& ctx, const csr_view& a, bool transposed);

using made_product = made_executor<prepared_product, spmv_preparation>;

/// Times runs of what was made and of the unprepared product, and puts the latter in its place where it is faster.
/// @throws error(out_of_memory) if there is no memory for the vectors that are multiplied
void keep_the_faster(const context& ctx, const prepare_spmv_problem& problem, const csr_view& a, made_product& made);

}  // namespace sheaf::primitives
