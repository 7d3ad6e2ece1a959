#pragma once

#include <functional>

#include <sheaf/distributed/group.hpp>

namespace sheaf::distributed {

/// Runs `work` on ranks that are threads of this process, each on the group that make(rank) makes there. Returns once
/// all have ended, and throws what the first of them threw.
void run_on_threads(int ranks, const std::function<group(int rank)>& make,
                    const std::function<void(const group&)>& work);

}  // namespace sheaf::distributed
