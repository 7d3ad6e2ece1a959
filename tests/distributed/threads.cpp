#include "distributed/ranks.hpp"

namespace sheaf::tests {

void on_ranks(const std::function<void(const distributed::group&)>& test, const distributed::limits& bounds) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr int counts[] = {1, 3, 4};  // Address sanitizer looks at each access, not at each number of ranks
#else
  constexpr int counts[] = {1, 2, 3, 4, 5, 8};
#endif
  for (const int ranks : counts) {
    SCOPED_TRACE(std::to_string(ranks) + " threads");
    EXPECT_NO_THROW(distributed::run_in_one_process(ranks, 1, bounds, test));
    if (testing::Test::HasFailure()) return;
  }
}

bool ranks_are_threads() { return true; }

bool takes_both_ways() { return true; }

}  // namespace sheaf::tests
