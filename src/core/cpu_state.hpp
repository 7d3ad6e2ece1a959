#pragma once

#include "core/context_state.hpp"
#include "core/host_pool.hpp"

namespace sheaf::core {

/// The state of a CPU context. Work is done when a call returns; wait() reports bad indices, as on every backend.
class cpu_state final : public context_state {
 public:
  explicit cpu_state(int thread_count);

  void wait() override;
  work_status status() override;
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  void fill(void* to, unsigned char value, std::uint64_t bytes) override;
  void require_reachable(const void* first, std::string_view call, std::string_view what) const override;

  /// Keeps the report if it is the first by (call, position). The thread that called the library calls this, once for
  /// each worker.
  void keep_first(const index_report& report) noexcept;

 protected:
  std::string_view lost_in_a_fork() const noexcept override;

 private:
  host_pool pool_;
  index_report first_report_;
};

/// The state of a context that is known to be the CPU's.
inline cpu_state& cpu(const context& ctx) { return static_cast<cpu_state&>(ctx.state()); }

}  // namespace sheaf::core
