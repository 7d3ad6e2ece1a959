#pragma once

#include <functional>

#include "lab/harness/scale_out/results.hpp"

namespace sheaf::bench::scale_out {

/// Calls `work` on each rank of a place, which is a thread of this process, with the rank's device current.
/// @throws error(backend_unavailable), and what the first rank threw
void on_ranks(const place& where, int threads, const std::function<void(const distributed::group&)>& work);

/// A group of the calling thread alone.
distributed::group group_of_one(const context& ctx);

/// A number of each rank. Collective.
std::vector<double> numbers_of_ranks(const distributed::group& ranks, double mine);
/// The sum of each rank's, modulo 2^64. Collective.
std::uint64_t sum_of_ranks(const distributed::group& ranks, std::uint64_t mine);

}  // namespace sheaf::bench::scale_out
