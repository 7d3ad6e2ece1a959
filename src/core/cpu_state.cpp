#include "core/cpu_state.hpp"

#include <omp.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/forks.hpp"
#include "core/host.hpp"

namespace sheaf::core {
namespace {

constexpr int most_threads = 4096;

bool is_set(const char* text) { return text != nullptr && *text != '\0'; }

// As many as a parallel region of the caller's own would have here: of a list in OMP_NUM_THREADS the number for this
// level, what omp_set_num_threads() said, and never more than OMP_THREAD_LIMIT. OpenMP has read its variables when the
// process began, and said what is wrong with them. Where nobody has named a number, it is that of the processors which
// this thread may run on, and they may have become fewer since then.
int threads_of_openmp() {
  const int wanted = std::min({omp_get_max_threads(), omp_get_thread_limit(), most_threads});
  return is_set(std::getenv("OMP_NUM_THREADS")) ? wanted : std::min(wanted, omp_get_num_procs());
}

int threads_from_environment() {
  const char* text = std::getenv("SHEAF_THREADS");
  if (!is_set(text)) return threads_of_openmp();
  char* end = nullptr;
  errno = 0;
  const long threads = std::strtol(text, &end, 10);
  if (*end != '\0' || errno != 0 || threads < 1 || threads > most_threads) {
    throw error(error_code::bad_argument,
                fmt::format("SHEAF_THREADS: '{}' is not a number from 1 to {}", text, most_threads));
  }
  return static_cast<int>(threads);
}

// Read once: contexts are made often, and the table of a machine with hundreds of processors is long.
const std::string& known_host_name() {
  static const std::string name = host_name();
  return name;
}

int checked_threads(int threads) {
  if (threads < 0 || threads > most_threads) {
    throw error(error_code::bad_argument, fmt::format("context::cpu: {} threads, not 0 to {}", threads, most_threads));
  }
  return threads == 0 ? threads_from_environment() : threads;
}

// OpenMP's threads stay behind in a fork, and its runtime may wait for them in the child for ever. So a process can
// have contexts of several threads only if none of its ancestors had one.
void require_threads_of_this_process() {
  static const std::uint32_t forks_before_threads = forks_so_far();
  if (forks_so_far() == forks_before_threads) return;
  throw error(error_code::backend_unavailable,
              "context::cpu: this process was forked from one that had made a context of several threads, and "
              "OpenMP's threads stayed there; use 1 thread, or make such contexts only after the fork");
}

}  // namespace

std::shared_ptr<context_state> make_cpu_state(int threads) { return std::make_shared<cpu_state>(threads); }

cpu_state::cpu_state(int thread_count) : host_state(backend_kind::cpu, known_host_name()) {
  threads = checked_threads(thread_count);
  if (threads > 1) require_threads_of_this_process();
  profile = profile.with_parallelism(static_cast<std::uint32_t>(threads));
}

std::string_view cpu_state::lost_in_a_fork() const noexcept {
  return threads > 1 ? "its OpenMP threads stayed with the parent" : "";
}

}  // namespace sheaf::core
