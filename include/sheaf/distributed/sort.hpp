#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/export.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/sort.hpp>

namespace sheaf::distributed {

/// How a result whose order decides where rows lie is spread over the ranks.
enum class balance : std::uint8_t {
  exact,   ///< as layout::even: rows of equal keys are split by their position
  by_key,  ///< as near to that as it can be with all rows of equal keys on one rank
};

/// Records in memory of their own, where the group's context works.
struct owned_records {
  buffer memory;
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 0;

  operator const_records() const { return {memory.data(), count, record_bytes}; }
  operator records() { return {memory.data(), count, record_bytes}; }
  /// Not for memory of a device.
  template <class T>
  std::span<const T> as() const {
    return {memory.as<T>(), static_cast<std::size_t>(count)};
  }
};

struct sorted_records {
  owned_records rows;  ///< this rank's
  layout where;        ///< of the whole result
};

struct sorted_pairs {
  owned_records keys;
  std::vector<owned_records> values;  ///< arrays in the order in which they were given
  layout where;
};

/// Sorts rows that lie on all ranks by a key that lies in them, stably: rows of equal keys keep the order of ranks, and
/// within a rank that of its rows. Collective.
/// @param in   this rank's rows, where ranks.local() works; ranks may have any number
/// @param key  the same on all ranks; its fields lie inside a row
/// The result is that of sheaf::sort_records of all rows in the order of ranks, cut as `parts` says: with
/// balance::exact it has the same bits, part by part, for any numbers of rows of ranks, on the CPU and on CUDA.
/// Histograms of the keys' digits give the exact keys and ties at which ranks end; on CUDA rows are counted by parts
/// that a sample chooses, and the part in which a rank ends is sorted by all that have rows of it, or, for odd keys,
/// the end is selected among sorted rows (Varman et al. 1991). Rows travel once, in groups, each of which is sorted as
/// it arrives.
/// @throws error(bad_argument) as sheaf::sort_records does, or if ranks disagree; and what every call on a group may
/// throw. The work is done when the call returns. Source: Siebert and Wolf 2010 for exact splitting.
SHEAF_API sorted_records sort_records(const group& ranks, const_records in, const sort_key& key,
                                      balance parts = balance::exact);

/// Sorts up to 8 arrays of values by keys in an array of their own, likewise. @param values  as many as keys, each
SHEAF_API sorted_pairs sort_pairs(const group& ranks, const_records keys, const sort_key& key,
                                  std::span<const const_records> values, balance parts = balance::exact);

/// sort_records for a range of numbers that are their own keys.
template <sort_key_range Keys>
sorted_records sort_keys(const group& ranks, const Keys& keys, bool descending = false,
                         balance parts = balance::exact) {
  return sort_records(ranks, keys, sort_key::of<std::ranges::range_value_t<Keys>>(descending), parts);
}

}  // namespace sheaf::distributed
