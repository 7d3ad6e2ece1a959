#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "papers.hpp"

// Sections 3 and 4 of Patidar, Narayanan: Scalable Split and Gather Primitives for the GPU (2009), measured on one GPU
// of a Tesla S1070 with 4 GB of memory. Its pictures give no numbers; those that its text gives are printed.
namespace sheaf::bench::papers::patidar2009 {

constexpr std::uint64_t million = std::uint64_t{1} << 20;

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

/// A split of records with the key inside, by this many of its bits.
problem record_split(std::uint64_t count, std::uint64_t record_bytes, std::uint32_t bits,
                     primitive what = primitive::split);
/// A split of numbers by keys of 32 bits apart.
problem index_split(std::uint64_t count, std::uint32_t bits, primitive what);

/// Who took part, or null.
const result* find(const std::vector<result>& rows, std::string_view who);
/// The fastest who is not ours, or null.
const result* fastest_peer(const std::vector<result>& rows);
/// "12.3 ms", or "-" for null.
std::string time_of(const result* r);
/// The time of one over that of the other, "-" where one is null.
std::string ratio_of(const result* slow, const result* fast);
/// "16 M", "4 K"
std::string count_text(std::uint64_t count);

void figure_2(study& all);
void figure_4(study& all);
void figure_5(study& all);
void figure_6(study& all);
void figure_8(study& all);
void figure_9(study& all);
void figure_10(study& all);
void figure_11(study& all);
void figure_12(study& all);

}  // namespace sheaf::bench::papers::patidar2009
