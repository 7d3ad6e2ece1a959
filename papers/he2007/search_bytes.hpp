#pragma once

#include "plan/he2007.hpp"

// The bandwidth of the hash search that section 4.2 of the paper estimates: bytes by the model's cache misses and of
// the internal arrays, over the time.
namespace sheaf::bench::papers::he2007 {

/// A search of the paper's hash table (figure 17): headers, which say where each bucket begins in an array of entries,
/// key and record ID side by side.
struct search_sizes {
  std::uint64_t probes = 0;   ///< search keys
  std::uint64_t records = 0;  ///< of the table, each with a key of its own
  std::uint64_t matches = 0;  ///< records that are found, at most one by each probe
  std::uint64_t key_bytes = 4;
  std::uint64_t number_bytes = 4;  ///< of a place, a number of results or a record ID
  std::uint64_t record_bytes = 8;
  double load = 0.99;        ///< entries for each header
  std::uint64_t chunks = 1;  ///< of the table, for each of which all keys are read: those of the CPU's search
  std::uint64_t passes = 1;  ///< of the gather
};

/// Bytes that the four steps move to and from memory: arrays that are read or written in order, whole, and blocks of
/// the model in which accesses at random (case I) miss.
double search_bytes(const search_sizes& search, const plan::he2007::parameters& parameters) noexcept;

}  // namespace sheaf::bench::papers::he2007
