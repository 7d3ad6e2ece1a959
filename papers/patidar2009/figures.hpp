#pragma once

#include "papers/run.hpp"

// Sections 3 to 5 of Patidar, Narayanan: Scalable Split and Gather Primitives for the GPU (2009), measured on one GPU
// of a Tesla S1070 with 4 GB of memory. Its figures are drawn without numbers; the numbers of its text are printed.
namespace sheaf::bench::papers::patidar2009 {

/// State that the figures of a run share.
struct paper_run : study {
  std::vector<input_result> input_results = {};  ///< of the steps of figure 4, and of table 2
};

/// Sorts: of numbers of this many bits, of pairs with keys and values of 32 bits, of records by their first bytes.
problem number_sort(std::uint64_t count, std::uint32_t bits);
problem pair_sort(std::uint64_t count);
problem record_sort(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t key_bytes);
/// A split of records by this many low bits of the record.
problem record_split(std::uint64_t count, std::uint64_t record_bytes, std::uint32_t bits,
                     std::string_view what = "split");
/// A split of record numbers by an array of keys of 32, 64 or 96 bits, whose low bits are the category.
problem index_split(std::uint64_t count, std::uint32_t bits, std::string_view what);

/// "cpu.two_step" or "cuda.two_step", by the session's backend.
std::string own_name(const session& session, std::string_view form);

/// Measures the planner's choice, the peers, and the paper's split of many categories or of indexes (iterated_split).
std::vector<result> measure_iterated(paper_run& run, session& session, int figure, const problem& problem);
const result* iterated_of(const session& session, const std::vector<result>& found);

/// Of figure 4: prints the steps of the basic split by the length of its segments.
void steps_by_segment(paper_run& run, session& session, std::uint64_t count, std::uint64_t record_bytes);

void figure_2(paper_run& run);
void figure_4(paper_run& run);
void figure_5(paper_run& run);
void figure_6(paper_run& run);
void figure_8(paper_run& run);
void figure_9(paper_run& run);
void figure_10(paper_run& run);
void figure_11(paper_run& run);
void figure_12(paper_run& run);
void figure_13(paper_run& run);
void figure_14(paper_run& run);
void figure_15(paper_run& run);
void table_1(paper_run& run);
/// Not a table of the paper: what section 3.4 proposes.
void table_2(paper_run& run);

}  // namespace sheaf::bench::papers::patidar2009
