#pragma once

#include <functional>
#include <vector>

#include "primitives/enum_names.hpp"

// How large the inputs of the figures are, which `sheaf-bench papers --size` decides.
namespace sheaf::bench::papers {

enum class run_size : std::uint8_t {
  tiny,    ///< 4 K and 16 K records, each call once: it shows that everything runs, and the times mean nothing
  small,   ///< up to 2^20 records, medians of three rounds
  medium,  ///< the paper's sizes up to 2^24 records
  paper,   ///< the paper's sizes
  device,  ///< the paper's sizes, and on from there, twice as large each time, as far as memory goes
};
inline constexpr primitives::enum_name<run_size> run_sizes[] = {{"tiny", run_size::tiny},
                                                                {"small", run_size::small},
                                                                {"medium", run_size::medium},
                                                                {"paper", run_size::paper},
                                                                {"device", run_size::device}};
/// What a size means, in a line.
std::string_view meaning_of(run_size size);

/// 2^20, which papers call a million.
constexpr std::uint64_t million = std::uint64_t{1} << 20;
std::vector<std::uint64_t> in_millions(std::vector<std::uint64_t> numbers);

/// Whether memory holds a call on so many records: its input, its output and its scratch.
using fits_function = std::function<bool(std::uint64_t count)>;

/// The counts of records of a figure that varies them, ascending. Small and medium runs keep those of the paper's that
/// are not too many, in records or in bytes; a small run has two at least, if the bytes allow.
/// @param of_paper  the paper's counts, ascending
/// @param record_bytes  of a record of the figure; 0 leaves the bytes alone
/// @param fits  asked only at the size `device`
std::vector<std::uint64_t> counts_at(run_size size, const std::vector<std::uint64_t>& of_paper,
                                     std::uint64_t record_bytes, const fits_function& fits);
/// The count of a figure that does not vary it: the paper's, or the largest that the size allows.
std::uint64_t count_at(run_size size, std::uint64_t of_paper, const fits_function& fits);
/// The largest multiple of the count by a power of two that fits, or the count itself.
std::uint64_t doubled_while(std::uint64_t count, const fits_function& fits);

}  // namespace sheaf::bench::papers
