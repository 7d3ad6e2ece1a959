#include "distributed/ranks.hpp"

namespace sheaf::tests {

void on_ranks(const std::function<void(const distributed::group&)>& test, const distributed::limits& bounds) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    SCOPED_TRACE(std::to_string(ranks) + " threads");
    EXPECT_NO_THROW(distributed::run_in_one_process(ranks, 1, bounds, test));
    if (testing::Test::HasFailure()) return;
  }
}

bool ranks_are_threads() { return true; }

}  // namespace sheaf::tests
