#pragma once

#include "lab/inputs/pattern_function.hpp"
#include "papers/run.hpp"

// Section 4 of Wei, JaJa: Optimization of Linked List Prefix Computations on Multithreaded GPUs Using CUDA
// (UMIACS-TR-2010-08), measured on a Tesla C1060 with 4 GB of memory and on an Intel Clovertown of 8 cores. Figures
// without numbers in the text are drawn; 8 and 9 draw tables 3 and 4.
namespace sheaf::bench::papers::wei2010 {

/// State that the figures of a run share.
struct paper_run : study {
  /// 2^20 to 2^30 nodes; those that memory does not hold are skipped. The paper ends at 256 M, which fill its device.
  std::vector<std::uint64_t> counts(const session& session) const;
  /// A count of the paper's, or what the size gives in its place.
  std::uint64_t count(const session& session, std::uint64_t millions) const;
};

/// The stride of the paper's tables.
constexpr std::uint64_t usual_stride = 1001;
/// Every stride-th node from node 0 on, then from node 1 on, and so on. The paper's strides wrap around instead, which
/// makes no difference to stride 1001 but where a sweep ends. Of n nodes, stride n - 1 is 0, n/2, 1, n/2 + 1, ... here:
/// neighbours lie half the array apart. Strides n - d that wrap around would go back by d nodes each time, as `reverse`
/// does for d = 1.
primitives::input_pattern strided(std::uint64_t stride);
primitives::input_pattern in_order();
primitives::input_pattern at_random();

/// The paper's problem: nodes of 64 bits, half value and half successor, and sums of the values.
problem packed_sums(std::uint64_t nodes, const primitives::input_pattern& order);
/// What is called list ranking today: values of one each, which need not be read.
problem ranks(std::uint64_t nodes, const primitives::input_pattern& order);

/// "4.28 ns", or "-" for null.
std::string per_node(const result* result);

/// Kinds of lists, and time by the length of the list.
void figure_4(paper_run& run);
void figure_7(paper_run& run);
/// Steps, and what the numbers of sublists and of blocks do to them; the figures are of CUDA alone.
void table_2(paper_run& run);
void figure_5(paper_run& run);
void figure_6(paper_run& run);
/// Machines, and the scan of an array.
void figure_11(paper_run& run);
void figure_12(paper_run& run);
/// The memory test beside lists of stride 1001, and beside those of long strides.
void table_3(paper_run& run);
void table_4(paper_run& run);

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
