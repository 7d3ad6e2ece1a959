#include "core/startable.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/forks.hpp"

namespace sheaf::core {
namespace {

// What is known of the teams that the calling thread is the first of: OpenMP keeps the threads of the last team for
// each such thread, ends those that a smaller one leaves over, and starts what a larger one lacks.
struct known_teams {
  std::uint32_t forks = 0;
  int largest = 1;
  int last = 1;
};
thread_local known_teams teams;

// Bytes of the stack that the variable asks for, as libgomp reads it: in KiB unless it says otherwise.
std::optional<std::uint64_t> stack_bytes_of(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  std::string text(value);
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  std::uint64_t number = 0;
  const char* const behind = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), behind, number);
  const std::string_view unit(end, static_cast<std::size_t>(behind - end));
  if (problem != std::errc() || unit.size() > 1) return std::nullopt;
  const auto place = std::string_view("bkmg").find(unit.empty() ? 'k' : static_cast<char>(std::tolower(unit[0])));
  if (place == std::string_view::npos || number > ~std::uint64_t{0} >> (10 * place)) return std::nullopt;
  return number << (10 * place);
}

// Attributes of threads as OpenMP starts them.
class thread_attributes {
 public:
  thread_attributes() {
    pthread_attr_init(&attributes_);
    auto stack = stack_bytes_of("OMP_STACKSIZE");
    if (!stack) stack = stack_bytes_of("GOMP_STACKSIZE");
    if (stack) pthread_attr_setstacksize(&attributes_, *stack);  // one that is too small is left aside
  }
  ~thread_attributes() { pthread_attr_destroy(&attributes_); }
  thread_attributes(const thread_attributes&) = delete;
  thread_attributes& operator=(const thread_attributes&) = delete;

  const pthread_attr_t* get() const noexcept { return &attributes_; }
  std::uint64_t stack_bytes() const noexcept {
    std::size_t bytes = 0;
    pthread_attr_getstacksize(&attributes_, &bytes);
    return bytes;
  }

 private:
  pthread_attr_t attributes_;
};

struct waiting_thread {
  std::mutex* may_end = nullptr;
  pthread_t handle{};
  pid_t id = 0;
};

void* wait_and_end(void* argument) {
  auto& self = *static_cast<waiting_thread*>(argument);
  self.id = gettid();
  const std::lock_guard ends(*self.may_end);
  return nullptr;
}

// A thread that has been joined may count against limits for a moment still, until the system does not know it.
void wait_until_gone(pid_t thread) {
  constexpr int most_looks = 10'000;
  for (int look = 0; look < most_looks && tgkill(getpid(), thread, 0) == 0; ++look) sched_yield();
}

// Starts threads that live at the same time, and ends them. Returns how many there were, and why not all.
struct start_outcome {
  int started = 0;
  int reason = 0;
};
start_outcome start_together(int wanted, const thread_attributes& attributes) {
  std::mutex may_end;
  std::vector<waiting_thread> threads(static_cast<std::size_t>(wanted));
  start_outcome outcome;
  {
    const std::lock_guard waits(may_end);
    while (outcome.started < wanted && outcome.reason == 0) {
      waiting_thread& next = threads[static_cast<std::size_t>(outcome.started)];
      next.may_end = &may_end;
      outcome.reason = pthread_create(&next.handle, attributes.get(), wait_and_end, &next);
      if (outcome.reason == 0) ++outcome.started;
    }
  }
  threads.resize(static_cast<std::size_t>(outcome.started));
  for (const waiting_thread& thread : threads) pthread_join(thread.handle, nullptr);
  for (const waiting_thread& thread : threads) wait_until_gone(thread.id);
  return outcome;
}

template <class Resource>
std::optional<std::uint64_t> finite_limit(Resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The limit of the innermost control group that has one.
std::optional<std::uint64_t> most_of_group() {
  std::ifstream groups("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  while (true) {
    if (const auto most = number_in("/sys/fs/cgroup" + group + "/pids.max")) return most;
    if (group.empty()) return number_in("/sys/fs/cgroup/pids/pids.max");
    group.resize(std::min(group.size() - 1, group.rfind('/')));
  }
}

std::string limits_text(std::uint64_t stack_bytes) {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "" : "; ") + limit; };
  if (const auto most = finite_limit(RLIMIT_NPROC)) add(fmt::format("{} processes of a user (ulimit -u)", *most));
  if (const auto most = most_of_group()) add(fmt::format("{} in the control group (pids.max)", *most));
  if (const auto most = finite_limit(RLIMIT_AS)) {
    add(fmt::format("{} bytes of address space (ulimit -v), of which a thread's stack takes {}", *most, stack_bytes));
  }
  if (!text.empty()) return text;
  if (const auto most = number_in("/proc/sys/kernel/threads-max")) add(fmt::format("{} on this system", *most));
  return text.empty() ? "not known" : text;
}

[[noreturn]] void throw_with_limits(int wanted, int started, int reason, std::uint64_t stack_bytes) {
  throw error(error_code::backend_unavailable,
              fmt::format("{} threads are wanted, but only {} could be started: {}. Limits here: {}. --threads N and "
                          "SHEAF_THREADS=N set fewer",
                          wanted, started, std::strerror(reason), limits_text(stack_bytes)));
}

void try_out(int threads) {
  const int wanted = std::min(threads, omp_get_thread_limit());
  if (omp_get_active_level() >= omp_get_max_active_levels()) return;  // regions inside regions have one thread
  if (wanted <= teams.largest) return;
  const thread_attributes attributes;
  const start_outcome outcome = start_together(wanted - teams.last, attributes);
  if (outcome.reason != 0) {
    throw_with_limits(wanted, teams.last + outcome.started, outcome.reason, attributes.stack_bytes());
  }
  teams.largest = wanted;
}

}  // namespace

int startable(int threads) {
  if (threads <= 1) return threads;
  if (const std::uint32_t forks = forks_so_far(); forks != teams.forks) teams = {forks};
  if (threads > teams.largest) try_out(threads);
  teams.last = std::min(threads, teams.largest);
  return threads;
}

void start_team(int threads) {
  std::atomic<int> started = 0;  // a region that does nothing need not be one
#pragma omp parallel num_threads(core::startable(threads))
  started.fetch_add(1, std::memory_order_relaxed);
}

void throw_unstartable(int wanted, int started, int reason) {
  throw_with_limits(wanted, started, reason, thread_attributes().stack_bytes());
}

}  // namespace sheaf::core
