#pragma once

#include "primitives/executor.hpp"
#include "primitives/sparse/spmm.hpp"

namespace sheaf::primitives {

/// The executor that a preparation makes: products by the inspected matrix. It may point into the matrix's arrays.
class prepared_rows_product {
 public:
  virtual ~prepared_rows_product() = default;
  /// The problem and the views are those of a checked product by the prepared matrix.
  /// @throws error(out_of_memory) if a run takes scratch that is not to be had
  virtual void run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) = 0;
  virtual std::uint64_t kept_bytes() const = 0;
};

/// What plans know of a preparation: a guess of a run, with reads_y, and how many there will be.
struct prepare_spmm_problem {
  spmm_problem product;
  std::uint64_t expected_runs = 1;

  friend bool operator==(const prepare_spmm_problem&, const prepare_spmm_problem&) = default;
};

inline plan::measured_place place_of(const prepare_spmm_problem& p) noexcept {
  plan::measured_place place = place_of(p.product);
  place.primitive = "prepare_spmm";
  return place;
}

/// run() reports faults of the matrix in the wording of csr_call::prepare_spmm.
struct prepare_spmm_buffers {
  csr_view a;
  std::shared_ptr<prepared_rows_product>* made;  ///< where run puts the executor
};

/// What every preparation decides.
struct prepare_spmm_decision {
  double run_seconds = 0;  ///< predicted time of one run

  void tell(plan::told& to) const { to.add("run_seconds", run_seconds); }
};

/// The seconds of a plan are those of the preparation and of all expected runs.
using prepare_spmm_variant = plan::variant<prepare_spmm_problem, prepare_spmm_buffers>;

/// All variants of this build. "kept" keeps the view, and each run is a product that is planned then.
std::span<const prepare_spmm_variant> prepare_spmm_variants();

class checked_rows_product final : public checked_executor<prepared_rows_product, prepare_spmm_problem> {
 public:
  checked_rows_product(std::shared_ptr<prepared_rows_product> work, const prepare_spmm_problem& p, const csr_view& a)
      : checked_executor(std::move(work), p), a_(a) {}
  void run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) override;
  const csr_view& matrix() const noexcept { return a_; }

 private:
  csr_view a_;
};

constexpr std::string_view prepare_spmm_call = "prepare_spmm";
constexpr std::string_view prepared_spmm_call = "prepared_spmm";  ///< what errors of runs say

}  // namespace sheaf::primitives
