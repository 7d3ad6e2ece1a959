#include "bench/harness/platform.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sheaf/machine.hpp>
#include <sheaf/version.hpp>

namespace sheaf::bench {
namespace {

// The value after "key :" in one of Linux's text tables, or empty.
std::string table_value(const char* path, const std::string& key) {
  std::ifstream table(path);
  for (std::string line; std::getline(table, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? std::string{} : line.substr(value);
  }
  return {};
}

std::uint64_t available_memory() {
  const std::string kibibytes = table_value("/proc/meminfo", "MemAvailable");
  const std::uint64_t bytes = kibibytes.empty() ? std::uint64_t{1} << 30 : std::stoull(kibibytes) * 1024;
  return bytes / 10 * 8;  // other processes keep a fifth
}

void describe_host(const context& ctx, platform& p) {
  const std::string model = table_value("/proc/cpuinfo", "model name");
  p.machine = fmt::format("{}, {} threads", model.empty() ? "CPU" : model, ctx.threads());
  p.cache_bytes = ctx.profile().cache_bytes;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  p.cache_bytes = std::max(p.cache_bytes, static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE))));
#endif
  p.memory_bytes = available_memory();
}

}  // namespace

platform platform_of(const context& ctx) {
  platform p;
  p.versions["sheaf"] = SHEAF_VERSION;
  p.versions["compiler"] = __VERSION__;
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) {
    device::describe(ctx, p);
    return p;
  }
#endif
  describe_host(ctx, p);
  return p;
}

std::unique_ptr<queue_clock> make_queue_clock(const context& ctx) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::make_queue_clock(ctx);
#endif
  (void)ctx;
  return nullptr;
}

std::shared_ptr<std::byte[]> host_memory(const context& ctx, std::uint64_t bytes) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::pinned_memory(ctx, bytes);
#endif
  (void)ctx;
  return std::make_shared<std::byte[]>(bytes);
}

}  // namespace sheaf::bench
