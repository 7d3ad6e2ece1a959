#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace sheaf::tests {

/// Whether tests that take minutes and tens of gigabytes are asked for.
inline bool large_tests_are_asked_for() {
  const char* asked = std::getenv("SHEAF_LARGE");
  return asked != nullptr && std::string_view(asked) == "1";
}

inline std::uint64_t available_host_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (in >> word) {
    if (word == "MemAvailable:" && in >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace sheaf::tests
