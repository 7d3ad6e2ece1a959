#pragma once

#include "papers/run.hpp"
#include "papers/wei2010/memory_test.hpp"

// Section 4 of Wei, JaJa: Optimization of Linked List Prefix Computations on Multithreaded GPUs Using CUDA
// (UMIACS-TR-2010-08), measured on a Tesla C1060 with 4 GB of memory and on an Intel Clovertown of 8 cores. Figures
// without numbers in the text are drawn; 8 and 9 draw tables 3 and 4.
namespace sheaf::bench::papers::wei2010 {

/// State that the figures of a run share.
struct paper_run : study {
  std::vector<input_result> input_results = {};  ///< of steps
  /// 2^20 to 2^30 nodes; those that memory does not hold are left out, which is then said. The paper ends at 256 M,
  /// which fill its device.
  std::vector<std::uint64_t> counts(const session& session) const;
  /// A count of the paper's, or what the size gives in its place.
  std::uint64_t count(const session& session, std::uint64_t millions) const;
};

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
/// Steps, and what the numbers of sublists, of blocks and of threads do to them.
void table_2(paper_run& run);
void figure_5(paper_run& run);
void figure_6(paper_run& run);
/// Machines, and the scan of an array.
void figure_11(paper_run& run);
void figure_12(paper_run& run);
/// The memory test beside lists of stride 1001, and beside those of long strides.
void table_3(paper_run& run);
void table_4(paper_run& run);

}  // namespace sheaf::bench::papers::wei2010
