#pragma once

#include "papers/he2007/sweeps.hpp"

// Sections 1, 3.5 and 4.1 to 4.3 of He, Govindaraju, Luo, Smith: Efficient Gather and Scatter Operations on Graphics
// Processors (SC 2007), measured on a G80 with 392 KB of cache and a bandwidth of 69.2 GB/s.
namespace sheaf::bench::papers::he2007 {

constexpr std::uint64_t tuple_bytes = 8;  ///< the paper's default
constexpr std::uint64_t widest_tuple_bytes = 16;

/// The array size of a figure that does not vary the size.
struct fixed_size {
  std::uint64_t count = 0;
  std::string note;  ///< how the size compares with the paper's
};

/// Multi-pass scatter by number of passes, which figure 9 prints and figure 10 starts from.
struct pass_sweep {
  std::vector<std::uint64_t> passes;
  std::vector<result> rows;  ///< a result for each number of passes; empty where memory does not suffice
  result single;             ///< result of the fastest form that knows one pass only, and has no regions
  times_by_passes times;
};

/// The 2007 model of a session's machine, and the scans from which it has B_seq.
struct scanned_model {
  plan::he2007::parameters parameters;
  std::vector<plan::he2007::timed_scan> scans;
};

/// State that the figures of a run share.
struct paper_run : study {
  std::vector<input_result> input_results = {};  ///< of matrices, in figures 19 and 20
  spread paper_accuracy = {};                    ///< accuracy of the 2007 model in figures 6 to 9
  spread our_accuracy = {};                      ///< accuracy of our plans in figures 6 to 9
  std::map<std::pair<const session*, std::uint64_t>, pass_sweep> sweeps = {};
  std::map<const session*, scanned_model> models = {};

  /// The paper's 128 MB of tuples, which have 2^24. At the paper's size and beyond, where the last cache is larger than
  /// a G80's, also the size that is as many times the cache as 128 MB were on the G80, but at most 4 GB (1 GB on the
  /// CPU); and at the size of the device the largest that memory holds.
  std::vector<fixed_size> fixed_sizes(const session& session) const;
  /// Calls work(session, size) with the fixed sizes of each session, and prints which these are.
  template <class Work>
  void for_each_fixed_size(Work work) {
    for (session& s : sessions) {
      for (const fixed_size& size : fixed_sizes(s)) {
        print_place(s, size.note);
        work(s, size);
      }
    }
  }
  const pass_sweep& sweep_passes(session& session, std::uint64_t count);
  /// What the 2007 model knows of a session's machine. B_seq is that of Eq. 1 over copies of 2, 4, 8, ... MB, which are
  /// timed the first time that it is asked for.
  const plan::he2007::parameters& model_of(const session& session);
  /// The copies that model_of() has timed: bytes read and written.
  std::span<const plan::he2007::timed_scan> scans_of(const session& session);

  /// cheapest_single_pass() and, on all threads, the model's prediction.
  contender single_pass(const session& session, const problem& problem, int threads = 0);
  /// The paper's multi-pass variant, made to run this many passes over every segment.
  contender multi_pass(const session& session, const problem& problem, std::uint64_t passes,
                       std::uint64_t segments = 1);
  /// The time of a gather or scatter by the model, and the number of passes that it asks for.
  double modelled_seconds(const session& session, const problem& problem, std::uint64_t passes);
  std::uint64_t modelled_passes(const session& session, const problem& problem);
};

problem sequential(std::string_view what, std::uint64_t count);
problem at_random(std::string_view what, std::uint64_t count, std::uint64_t record_bytes = tuple_bytes);
/// A scatter to partitions, each of them filled in order, as a radix sort does. The partition of every tuple is drawn
/// at random, as in the paper and in its Eq. 7, but so that of every 16 tuples a partition it has 16: a draw without
/// replacement, whose values are functions of their places. 32 tuples then meet up to 2 % more partitions.
problem to_partitions(std::uint64_t partitions, std::uint64_t count);

/// Prints how that draw differs from the paper's.
void print_draw();
/// Prints what the model knows of a session's machine, and what misses together in its case II: the threads of a warp
/// on a GPU, on a CPU the accesses that a core has under way.
void print_letters(paper_run& run, const session& session);

/// A one-pass call: the cheapest variant that does not inspect the list, told the pattern. It runs on all threads of
/// the session unless a number of CPU threads is given.
contender cheapest_single_pass(const session& session, const problem& problem, int threads = 0);
/// Whether calls on one thread of a CPU are measured beside those on all threads.
bool has_one_thread_beside(const session& session);
/// The planner's choice for a caller who tells the pattern.
contender chosen(const session& session, const problem& problem);
/// The number of passes that our multi-pass variant plans.
std::uint64_t planned_passes(const session& session, const problem& problem);
/// The numbers of passes of a sweep at the session's size.
std::vector<std::uint64_t> swept_passes(const session& session, std::uint64_t modelled);

/// Section 3.2: bytes of the tuples on one side (the sequential and the random side have as many) over the time.
double effective_bandwidth(const result& result);
/// Bytes of the tuples on both sides and of the index list over the time.
double total_bandwidth(const result& result);
/// Keeps with a row the bytes that the 2007 model says are moved.
void add_bytes_by_misses(result& row, double bytes);

/// Measured and predicted, by the data size, the number of partitions and the number of passes.
void figure_1(paper_run& run);
void figure_6(paper_run& run);
void figure_7(paper_run& run);
void figure_8(paper_run& run);
void figure_9(paper_run& run);
/// The speedup by multi-pass scatters.
void figure_10(paper_run& run);
void figure_11(paper_run& run);
void figure_12(paper_run& run);
void figure_13(paper_run& run);
/// Radix sort by scatters.
void figure_15(paper_run& run);
void figure_16(paper_run& run);
/// Hash search.
void figure_18(paper_run& run);
/// Sparse matrix-vector products in conjugate gradient.
void figure_19(paper_run& run);
void figure_20(paper_run& run);

}  // namespace sheaf::bench::papers::he2007
