#pragma once

#include "core/host_state.hpp"

namespace sheaf::core {

/// The state of a CPU context.
class cpu_state final : public host_state {
 public:
  explicit cpu_state(int thread_count);

 protected:
  std::string_view lost_in_a_fork() const noexcept override;
  std::string_view works_on() const noexcept override { return "the CPU"; }
};

/// The state of a context that is known to be the CPU's.
inline cpu_state& cpu(const context& ctx) { return static_cast<cpu_state&>(ctx.state()); }

}  // namespace sheaf::core
