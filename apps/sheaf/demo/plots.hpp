#pragma once

#include "apps/sheaf/demo/run.hpp"

// Plots of the demo's page, as SVG inside of HTML: both axes are logarithmic, and colours are variables of the page.
namespace sheaf::jobs {

/// Rates of random access by footprint, a curve for each width, under a copy's.
/// @param title  what is accessed: "Random reads"
/// @param cache_levels  footprints that are marked
/// @param copies  rates of copies of this machine, read plus written
/// @return an empty text without rates
std::string footprint_plot(std::string_view title, const std::vector<access_rate>& rates,
                           const std::vector<std::uint64_t>& cache_levels, const copy_limits& copies);

/// Predicted times of all rows by their measured ones. @return an empty text without rows
std::string prediction_plot(const demo_result& result);

}  // namespace sheaf::jobs
