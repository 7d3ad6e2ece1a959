#include "core/host_state.hpp"

#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/memory_space.hpp"

namespace sheaf::core {

host_state::host_state(backend_kind kind, std::string name)
    : context_state(kind, std::move(name), {host_pool::allocate_from, host_pool::return_to, &pool_}) {}

void host_state::wait() {
  if (!first_report_.found()) return;
  const index_report report = std::exchange(first_report_, index_report{});
  throw error(error_code::bad_index, message(report));
}

work_status host_state::status() { return first_report_.found() ? work_status::failed : work_status::done; }

void host_state::fill(void* to, unsigned char value, std::uint64_t bytes) {
  if (bytes > 0) std::memset(to, value, bytes);
}

void host_state::copy(void* to, const void* from, std::uint64_t bytes) { std::memcpy(to, from, bytes); }

void host_state::require_reachable(const void* first, std::string_view call, std::string_view what) const {
  const memory_place place = place_of(first);
  if (place.space == memory_space::device) {
    throw error(error_code::bad_argument,
                fmt::format("{}: {} is in the memory of CUDA device {}, but the context works on {}", call, what,
                            place.device, works_on()));
  }
}

void host_state::keep_first(const index_report& report) noexcept {
  if (report.found() && report.before(first_report_)) first_report_ = report;
}

}  // namespace sheaf::core
