#pragma once

#include <cstdint>

#include <sheaf/csr.hpp>

#include "primitives/sparse/spmv.hpp"
#include "primitives/sparse/two_step.hpp"

// Section 4.3: a product W = M V in two steps. A gather brings V[columns[i]] to each entry i, in one pass or in
// several; then the products R[i] of each row's entries are summed, from pointerB to pointerE.
namespace sheaf::bench::papers::he2007 {

/// A product by the library's variant of two steps, whose gather makes this many passes: one pass is the variant
/// `direct` of the backend, several are the paper's `multipass`, where the planner would make another choice.
class two_step_product {
 public:
  /// @param a  in the context's memory, which must outlive the product
  /// @throws error(bad_argument) for no passes and for a matrix that spmv refuses; error(no_variant) where two steps
  /// cannot be planned, with the reason
  two_step_product(const context& ctx, const csr_view& a, std::uint64_t passes);

  /// Queues w = M v. @throws error(out_of_memory) if there is no scratch for R and for what the gather takes
  void operator()(const_values v, values w) const;

  /// That the gather makes; 0 where nothing is gathered.
  std::uint64_t passes() const;

 private:
  bool gathers() const noexcept { return problem_.y_count() > 0 && problem_.entries > 0 && problem_.columns > 0; }

  context ctx_;
  csr_view a_;
  primitives::spmv_problem problem_;
  const primitives::spmv_variant* variant_ = nullptr;
  plan::planned plan_;
};

}  // namespace sheaf::bench::papers::he2007
