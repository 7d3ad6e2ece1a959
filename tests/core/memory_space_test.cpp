#include "core/memory_space.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/gather.hpp>

#include "support/expect_error.hpp"

namespace sheaf::tests::core_memory_space_test {
namespace {

using core::memory_space;
using core::place_of;

#if !SHEAF_HAS_CUDA
using pretend = void (*)(const void*, unsigned, unsigned, int);

constexpr unsigned host = 1;
constexpr unsigned device = 2;

/// Loads a library that goes by the driver's name; null where it is not there, as beside a test program that was moved.
pretend load_driver() {
  void* const library = dlopen(SHEAF_PRETENDED_DRIVER, RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<pretend>(dlsym(library, "sheaf_pretend"));
}

// Programs may load the driver after their first calls. The library stays loaded: it knows no address but these.
TEST(MemorySpace, IsAskedOfADriverOnceOneIsLoaded) {
  if (dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver already";
  static std::array<std::uint64_t, 4> memory{7, 8, 9, 10};
  EXPECT_EQ(place_of(&memory[0]).space, memory_space::host);
  const pretend say = load_driver();
  if (say == nullptr) GTEST_SKIP() << dlerror();
  say(&memory[0], device, 0, 3);
  say(&memory[1], device, 1, 2);
  say(&memory[2], host, 0, 0);
  EXPECT_EQ(place_of(&memory[0]).space, memory_space::device);
  EXPECT_EQ(place_of(&memory[0]).device, 3);
  EXPECT_EQ(place_of(&memory[1]).space, memory_space::managed);
  EXPECT_EQ(place_of(&memory[1]).device, 2);
  EXPECT_EQ(place_of(&memory[2]).space, memory_space::pinned);
  EXPECT_EQ(place_of(&memory[2]).device, -1);
  EXPECT_EQ(place_of(&memory[3]).space, memory_space::host) << "the driver knows nothing of it";
  EXPECT_FALSE(core::is_read_by_current_device(&memory[0]));
  EXPECT_TRUE(core::is_read_by_current_device(&memory[1]));
  EXPECT_FALSE(core::is_read_by_current_device(&memory[3]));

  // What a CPU context can read is taken, and the rest refused by the device's number.
  const context ctx = context::cpu(1);
  const std::uint32_t index[] = {0};
  std::uint64_t out[] = {0};
  const auto gather_from = [&](const std::uint64_t& table) { gather(ctx, {&table, 1, 8}, index, {out, 1, 8}); };
  for (const std::size_t reachable : {1, 2, 3}) {
    gather_from(memory[reachable]);
    EXPECT_EQ(out[0], memory[reachable]);
  }
  expect_error(error_code::bad_argument,
               "gather: table is in the memory of CUDA device 3, but the context works on the CPU",
               [&] { gather_from(memory[0]); });
}
#endif

}  // namespace
}  // namespace sheaf::tests::core_memory_space_test
