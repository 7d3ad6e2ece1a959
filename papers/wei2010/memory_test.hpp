#pragma once

#include <sheaf/context.hpp>

#include "lab/inputs/pattern_function.hpp"

// The memory test of section 4.4 on both backends. Its CUDA half is compiled by nvcc, so nothing of the figures' is
// included here.
namespace sheaf::bench::papers::wei2010 {

/// The stride of the paper's tables.
constexpr std::uint64_t usual_stride = 1001;

/// The memory test of section 4.4: walkers that each access so many words of 64 bits, one after the other.
struct memory_test {
  std::uint64_t blocks = 1;       ///< on CUDA thread blocks, on the CPU threads
  std::uint64_t threads = 1;      ///< walkers of a block; on the CPU they take turns in one thread
  std::uint64_t accesses = 1024;  ///< of each walker
  bool at_random = false;         ///< each word at a random place; else `stride` words behind the one before
  bool writes = false;            ///< writes each word after it was read
  std::uint64_t stride = usual_stride;

  std::uint64_t walkers() const { return blocks * threads; }
  std::uint64_t total() const { return walkers() * accesses; }
};

/// The word that a walker begins with: at a random place, as splitters of a list are.
SHEAF_HOST_DEVICE inline std::uint64_t first_word(std::uint64_t walker, std::uint64_t words) {
  return inputs::mix(walker) & (words - 1);
}

/// The word of a later access, which does not depend on what was read. At random, a linear congruential generator goes
/// through all words before it repeats one.
SHEAF_HOST_DEVICE inline std::uint64_t next_word(bool at_random, std::uint64_t word, std::uint64_t stride,
                                                 std::uint64_t words) {
  const std::uint64_t next = at_random ? word * 6364136223846793005U + 1442695040888963407U : word + stride;
  return next & (words - 1);
}

/// Queues the test on `words` words, a power of two, of which word i holds i, and adds all that is read to *sum.
void queue_memory_test(const context& ctx, const memory_test& test, std::uint64_t* data, std::uint64_t words,
                       std::uint64_t* sum);

/// The CUDA half, linked only where the CUDA backend is built.
namespace device {
void queue_memory_test(const context& ctx, const memory_test& test, std::uint64_t* data, std::uint64_t words,
                       std::uint64_t* sum);
std::uint64_t multiprocessors(const context& ctx);
}  // namespace device

}  // namespace sheaf::bench::papers::wei2010
