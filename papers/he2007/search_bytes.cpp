#include "papers/he2007/search_bytes.hpp"

#include <algorithm>
#include <cmath>

namespace sheaf::bench::papers::he2007 {
namespace {

// Blocks of the misses of so many accesses at random to items. A gather writes what it reads, which is taken off.
double fetched_bytes(std::uint64_t accesses, std::uint64_t items, std::uint64_t item_bytes, std::uint64_t passes,
                     const plan::he2007::parameters& p) noexcept {
  const plan::he2007::sizes sizes{accesses, std::max<std::uint64_t>(1, items), item_bytes, 0};
  return plan::he2007::moved_bytes(plan::he2007::operation::gather, sizes, access_pattern::random(),
                                   static_cast<double>(passes), p) -
         static_cast<double>(accesses * item_bytes);
}

}  // namespace

// What each step moves. A thread keeps what it knows of its key (start and end, and what it has found) in registers.
//   1  reads the keys, once for each chunk, and at random the start of the bucket; the end is the next bucket's start
//   2  reads at random the entries of the bucket: those of other keys, as many as the load factor says, and the key's
//      own where there is one; writes the number of results
//   3  a prefix sum reads these numbers and writes places, which are read again where the record IDs are written to L
//   4  reads L, once for each pass, and at random the records; writes the records
double search_bytes(const search_sizes& search, const plan::he2007::parameters& parameters) noexcept {
  if (search.probes == 0) return 0;
  const std::uint64_t headers =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(search.records) / search.load));
  const std::uint64_t entry_bytes = search.key_bytes + search.number_bytes;
  const double entries = search.load + static_cast<double>(search.matches) / static_cast<double>(search.probes);
  const std::uint64_t bucket_bytes =
      std::max<std::uint64_t>(1, std::lround(entries * static_cast<double>(entry_bytes)));

  const double keys = static_cast<double>(search.chunks * search.probes * search.key_bytes);
  const double starts = fetched_bytes(search.probes, headers, search.number_bytes, search.chunks, parameters);
  const double buckets = fetched_bytes(search.probes, search.records * entry_bytes / bucket_bytes, bucket_bytes,
                                       search.chunks, parameters);
  constexpr std::uint64_t times_counts = 2;  // written and read, as the places are
  const double counts_and_places = static_cast<double>(2 * times_counts * search.probes * search.number_bytes);
  const double ids = static_cast<double>(search.matches * search.number_bytes);
  const plan::he2007::sizes gathered{search.matches, search.records, search.record_bytes,
                                     search.matches * search.number_bytes};
  const double records = plan::he2007::moved_bytes(plan::he2007::operation::gather, gathered, access_pattern::random(),
                                                   static_cast<double>(search.passes), parameters);
  return keys + starts + buckets + counts_and_places + ids + records;
}

}  // namespace sheaf::bench::papers::he2007
