#include "core/host.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>

namespace sheaf::core {
namespace {

constexpr std::uint64_t usual_line_bytes = 64;
constexpr std::uint64_t usual_cache_bytes = std::uint64_t{32} << 20;

// The value after "key :" in a text table of Linux, or empty.
std::string table_value(const char* path, std::string_view key) {
  std::ifstream table(path);
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with(key)) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? std::string{} : line.substr(value);
  }
  return {};
}

template <class T>
T first_word(const std::string& path, T otherwise) {
  std::ifstream file(path);
  T value{};
  return file >> value ? value : otherwise;
}

std::uint64_t from_system(int name) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// Reads "48K", as sysfs writes it.
std::uint64_t bytes_of(const std::string& text) {
  std::uint64_t bytes = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && bytes < std::uint64_t{1} << 40; ++i) {
    bytes = bytes * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  if (i < text.size() && text[i] == 'K') bytes <<= 10;
  if (i < text.size() && text[i] == 'M') bytes <<= 20;
  return bytes;
}

std::string cache_folder(int index) { return "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index); }

// Bytes of files that the control group has in memory and has not used lately: the system drops them for others.
std::uint64_t group_cached_bytes() {
  std::ifstream table("/sys/fs/cgroup/memory.stat");
  std::uint64_t bytes = 0;
  for (std::string key; table >> key >> bytes;) {
    if (key == "inactive_file") return bytes;
  }
  return 0;
}

// Memory that the control group of this process has left; no limit where there is no group.
std::uint64_t group_bytes_left() {
  const auto most = first_word<std::uint64_t>("/sys/fs/cgroup/memory.max", ~std::uint64_t{0});  // "max": no limit
  if (most == ~std::uint64_t{0}) return most;
  const auto taken = first_word<std::uint64_t>("/sys/fs/cgroup/memory.current", 0);
  const std::uint64_t used = taken - std::min(taken, group_cached_bytes());
  return most - std::min(most, used);
}

// Address space that this process may still take; no limit where none is set.
std::uint64_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::uint64_t{0};
  const auto used = first_word<std::uint64_t>("/proc/self/statm", 0) * from_system(_SC_PAGESIZE);
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

}  // namespace

std::string host_name() {
  std::string name = table_value("/proc/cpuinfo", "model name");
  std::erase_if(name, [](char c) { return c < ' ' || c > '~'; });
  return name.empty() ? "CPU" : name.substr(0, 200);
}

std::uint64_t host_memory_bytes() { return from_system(_SC_PHYS_PAGES) * from_system(_SC_PAGESIZE); }

std::uint64_t host_available_bytes() {
  std::uint64_t available = from_system(_SC_AVPHYS_PAGES) * from_system(_SC_PAGESIZE);
  if (const std::string text = table_value("/proc/meminfo", "MemAvailable"); !text.empty()) {
    available = bytes_of(text) * 1024;
  }
  return std::min({available, group_bytes_left(), address_space_left()});
}

std::vector<std::uint64_t> host_cache_levels() {
  std::map<int, std::uint64_t> levels;
  for (int index = 0;; ++index) {
    const std::string folder = cache_folder(index);
    const int level = first_word(folder + "/level", 0);
    if (level == 0) break;
    if (first_word<std::string>(folder + "/type", "") == "Instruction") continue;
    if (const auto bytes = bytes_of(first_word<std::string>(folder + "/size", "")); bytes > 0) levels[level] = bytes;
  }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  if (levels.empty()) {
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int level = 0; level < 3; ++level) {
      if (const std::uint64_t bytes = from_system(names[level]); bytes > 0) levels[level] = bytes;
    }
  }
#endif
  std::vector<std::uint64_t> bytes;
  bytes.reserve(levels.size());
  for (const auto& [level, size] : levels) bytes.push_back(size);
  std::ranges::sort(bytes);
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  if (bytes.empty()) bytes.push_back(usual_cache_bytes);
  return bytes;
}

std::uint64_t host_line_bytes() { return first_word(cache_folder(0) + "/coherency_line_size", usual_line_bytes); }

}  // namespace sheaf::core
