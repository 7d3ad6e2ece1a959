#include <sheaf/distributed/tcp.hpp>

#include "distributed/ranks.hpp"
#include "distributed/tcp/free_port.hpp"
#include "distributed/threads.hpp"

// The tests of calls on groups, on threads that TCP connects as it would processes.
namespace sheaf::tests {

void on_ranks(const std::function<void(const distributed::group&)>& test, const distributed::limits& bounds) {
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(std::to_string(ranks) + " threads over TCP");
    distributed::tcp_meeting meeting;
    meeting.port = free_port();
    const auto make = [&](int rank) {
      return distributed::group(context::cpu(1), distributed::tcp_transport(rank, ranks, meeting), bounds);
    };
    EXPECT_NO_THROW(distributed::run_on_threads(ranks, make, test));
    if (testing::Test::HasFailure()) return;
  }
}

bool ranks_are_threads() { return true; }

bool takes_both_ways() { return false; }

}  // namespace sheaf::tests
