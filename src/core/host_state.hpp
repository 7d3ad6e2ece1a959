#pragma once

#include "core/context_state.hpp"
#include "core/host_pool.hpp"

namespace sheaf::core {

/// The state of a context whose calls take arrays in host memory. Work is done when a call returns; wait() reports bad
/// indices, as on every backend.
class host_state : public context_state {
 public:
  void wait() override;
  work_status status() override;
  bool is_done_on_return() const noexcept override { return true; }
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  void fill(void* to, unsigned char value, std::uint64_t bytes) override;
  void require_reachable(const void* first, std::string_view call, std::string_view what) const override;

  /// Keeps the report if it is the first by (call, position). The thread that called the library calls this, once for
  /// each worker.
  void keep_first(const index_report& report) noexcept;

 protected:
  host_state(backend_kind kind, std::string name);
  /// Where work runs, for messages: "the CPU".
  virtual std::string_view works_on() const noexcept = 0;

 private:
  host_pool pool_;
  index_report first_report_;
};

}  // namespace sheaf::core
