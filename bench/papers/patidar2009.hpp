#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/papers/run.hpp"

// Sections 3 to 5 of Patidar, Narayanan: Scalable Split and Gather Primitives for the GPU (2009), measured on one GPU
// of a Tesla S1070 with 4 GB of memory. Its pictures give no numbers; those that its text gives are printed.
namespace sheaf::bench::papers::patidar2009 {

/// What the figures of a run share.
struct study {
  sessions& on;
  const request& asked;
  std::vector<result> results = {};

  /// papers::measured, and keeps the results.
  std::vector<result> measure(session& s, int figure, const problem& p, std::vector<contender> who);
  /// The planner's choice and its peers.
  std::vector<result> measure_choice(session& s, int figure, const problem& p);
  /// These many millions of records, as far as they are useful on the backend; small ones for a quick run.
  std::vector<std::uint64_t> counts(const session& s, const std::vector<std::uint64_t>& millions) const;
};

/// A sort of numbers of this many bits, of pairs of a key and a value of 32 bits, of records by the first bytes.
problem number_sort(std::uint64_t count, std::uint32_t bits);
problem pair_sort(std::uint64_t count);
problem record_sort(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t key_bytes);
/// A split of records with the key inside, by this many of its bits.
problem record_split(std::uint64_t count, std::uint64_t record_bytes, std::uint32_t bits,
                     primitive what = primitive::split);
/// A split of numbers by keys of 32 bits apart.
problem index_split(std::uint64_t count, std::uint32_t bits, primitive what);

void figure_2(study& all);
void figure_4(study& all);
void figure_5(study& all);
void figure_6(study& all);
void figure_8(study& all);
void figure_9(study& all);
void figure_10(study& all);
void figure_11(study& all);
void figure_12(study& all);
void figure_13(study& all);
void figure_14(study& all);
void figure_15(study& all);
void table_1(study& all);

}  // namespace sheaf::bench::papers::patidar2009
