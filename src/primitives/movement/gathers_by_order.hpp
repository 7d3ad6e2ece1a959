#pragma once

#include "plan/choose.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::primitives {

/// The gathers that a sort of row numbers ends with: the rows, if they are written, and each array of values. They are
/// planned with the sort and run as they were planned, one after another.
class gathers_by_order {
 public:
  /// Chooses them within what the sort leaves of its scope. `order` is the type of the row numbers.
  gathers_by_order(const sort_problem& sort, index_type order, const plan::scope& in);

  double seconds() const noexcept { return seconds_; }
  /// Most bytes of scratch of one of them.
  std::uint64_t scratch_bytes() const noexcept { return scratch_bytes_; }
  /// Why they cannot run, or null.
  const char* rejection() const noexcept { return rejection_; }

  /// Plans them as what a plan ends with. Their scratch begins at byte `begin` of its scratch, over what has had its
  /// use by then.
  /// @param start_seconds  what each takes to start behind the kernel before it
  static void end_plan(plan::planned& plan, const sort_problem& sort, index_type order, const plan::scope& in,
                       std::uint64_t begin, double start_seconds = 0);

  void run(const context& ctx, const sort_problem& sort, const sort_buffers& buffers, index_span order,
           std::byte* scratch) const;

 private:
  void add(const sort_problem& sort, const sorted_array& array, index_type order, const plan::scope& in);

  struct planned_gather {
    gather_problem problem;
    plan::choice<gather_variant> chosen;
  };
  std::vector<planned_gather> gathers_;
  double seconds_ = 0;
  std::uint64_t scratch_bytes_ = 0;
  const char* rejection_ = nullptr;
};

}  // namespace sheaf::primitives
