#pragma once

#include "distributed/cost.hpp"

namespace sheaf::distributed {

/// How the GPUs with numbers 0 to count - 1 reach each other, by the slowest of their pairs. Those that this process
/// does not see are taken to be linked.
gpu_access access_between_gpus(int count) noexcept;

}  // namespace sheaf::distributed
