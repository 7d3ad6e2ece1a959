#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/plan.hpp>

#include "support/contexts.hpp"

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

#if SHEAF_HAS_CUDA
constexpr backend_kind large_backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind large_backends[] = {backend_kind::cpu};
#endif

/// A test of more than 2^32 records on one backend. It skips what the machine has no memory for.
class large_fixture : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1, taking minutes and much memory";
    ctx = GetParam() == backend_kind::cuda ? cuda_context() : context::cpu();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  /// Memory of the context, or nothing if too little of the host's would stay free. The checks take `host_bytes` more
  /// of the host's memory.
  std::optional<buffer> memory(std::uint64_t bytes, std::uint64_t host_bytes = 0) const {
    const std::uint64_t on_host = host_bytes + (ctx->backend() == backend_kind::cpu ? bytes : 0);
    if (available_host_bytes() < on_host + (std::uint64_t{2} << 30)) return std::nullopt;
    try {
      return buffer(*ctx, bytes);
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      return std::nullopt;
    }
  }

  /// Runs each applicable variant except the reference. A variant that lacks memory for its scratch is left out.
  template <class Run>
  void for_each_variant(const explanation& why, Run run) const {
    std::size_t runs = 0;
    for (const variant_estimate& v : why.variants) {
      if (!v.applicable || v.variant.starts_with("reference.")) continue;
      SCOPED_TRACE(v.variant);
      if (ctx->backend() == backend_kind::cpu && available_host_bytes() < v.scratch_bytes + (std::uint64_t{1} << 30)) {
        fmt::print("{}: not enough memory for {} bytes of scratch\n", v.variant, v.scratch_bytes);
        continue;
      }
      try {
        run(v.variant);
        ++runs;
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory) throw;
        fmt::print("{}: {}\n", v.variant, e.what());
      }
    }
    if (runs == 0) GTEST_SKIP() << "no variant had the memory";
  }

  /// Calls look(first, bytes) for pieces of device or host memory in order.
  template <class Look>
  void for_each_chunk(const std::byte* first, std::uint64_t bytes, Look look) const {
    constexpr std::uint64_t chunk_bytes = std::uint64_t{8} << 20;
    std::vector<std::byte> chunk(chunk_bytes);
    for (std::uint64_t first_byte = 0; first_byte < bytes; first_byte += chunk_bytes) {
      const std::uint64_t count = std::min(chunk_bytes, bytes - first_byte);
      copy_bytes(*ctx, chunk.data(), first + first_byte, count);
      look(first_byte, std::span<const std::byte>(chunk.data(), count));
      if (HasFatalFailure()) return;
    }
  }

  std::optional<context> ctx;
};

}  // namespace sheaf::tests
