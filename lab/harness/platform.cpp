#include "lab/harness/platform.hpp"

#include <fstream>

#include <fmt/format.h>
#include <sheaf/machine.hpp>
#include <sheaf/version.hpp>

#include "core/host.hpp"

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
  p.cache_bytes = core::host_cache_levels().back();
  p.memory_bytes = available_memory();
}

// What a backend's own library says of it. A backend without a row is timed by the host's clock and described by its
// profile.
struct device_functions {
  backend_kind backend;
  void (*describe)(const context& ctx, platform& platform);
  std::unique_ptr<queue_clock> (*make_queue_clock)(const context& ctx);
  std::shared_ptr<std::byte[]> (*host_memory)(const context& ctx, std::uint64_t bytes);
};

const device_functions* functions_of(backend_kind backend) {
  static const std::vector<device_functions> rows {
    {backend_kind::cpu, describe_host, nullptr, nullptr},
#if SHEAF_HAS_CUDA
        {backend_kind::cuda, device::describe, device::make_queue_clock, device::pinned_memory},
#endif
  };
  for (const device_functions& row : rows) {
    if (row.backend == backend) return &row;
  }
  return nullptr;
}

}  // namespace

platform platform_of(const context& ctx) {
  platform platform;
  platform.versions["sheaf"] = SHEAF_VERSION;
  platform.versions["compiler"] = __VERSION__;
  if (const device_functions* const known = functions_of(ctx.backend())) {
    known->describe(ctx, platform);
  } else {
    platform.machine = ctx.profile().name;
    platform.cache_bytes = ctx.profile().cache_bytes;
    platform.memory_bytes = ctx.profile().memory_bytes / 2;
  }
  return platform;
}

std::unique_ptr<queue_clock> make_queue_clock(const context& ctx) {
  const device_functions* const known = functions_of(ctx.backend());
  return known != nullptr && known->make_queue_clock != nullptr ? known->make_queue_clock(ctx) : nullptr;
}

std::shared_ptr<std::byte[]> host_memory(const context& ctx, std::uint64_t bytes) {
  const device_functions* const known = functions_of(ctx.backend());
  if (known != nullptr && known->host_memory != nullptr) return known->host_memory(ctx, bytes);
  return std::make_shared<std::byte[]>(bytes);
}

void make_current([[maybe_unused]] const context& ctx) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) device::make_current(ctx);
#endif
}

}  // namespace sheaf::bench
