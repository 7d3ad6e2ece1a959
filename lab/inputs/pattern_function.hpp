#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/host_device.hpp"
#include "lab/inputs/pattern.hpp"

namespace sheaf::inputs {

/// The finalizer of splitmix64, a bijection of 64-bit words.
SHEAF_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

SHEAF_HOST_DEVICE inline unsigned char record_byte(std::uint64_t seed, std::uint64_t record, std::uint64_t byte) {
  return static_cast<unsigned char>(mix(mix(seed ^ record) + byte / 8) >> (byte % 8 * 8));
}

/// Eight bytes of a record, the first byte in the lowest bits.
SHEAF_HOST_DEVICE inline std::uint64_t record_word(std::uint64_t seed, std::uint64_t record, std::uint64_t word) {
  return mix(mix(seed ^ record) + word);
}

/// Whether bytes in host memory are what fill_records writes for the record.
inline bool is_record(const std::byte* bytes, std::uint64_t record_bytes, std::uint64_t seed, std::uint64_t record) {
  for (std::uint64_t b = 0; b < record_bytes; b += 8) {
    const std::uint64_t word = record_word(seed, record, b / 8);
    if (std::memcmp(bytes + b, &word, std::min<std::uint64_t>(8, record_bytes - b)) != 0) return false;
  }
  return true;
}

/// A Feistel network of four rounds over the least even number of bits that has n values: a permutation of these, of
/// which permute() and its inverse keep those below n.
struct feistel_network {
  unsigned half = 1;  ///< bits of either half of a value
  std::uint64_t seed = 0;

  SHEAF_HOST_DEVICE std::uint64_t round_bits(std::uint64_t of, std::uint64_t round) const {
    return mix(of + (seed << 8) + round) & ((std::uint64_t{1} << half) - 1);
  }
  SHEAF_HOST_DEVICE std::uint64_t forward(std::uint64_t value) const {
    std::uint64_t left = value >> half;
    std::uint64_t right = value & ((std::uint64_t{1} << half) - 1);
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ round_bits(right, round);
      left = right;
      right = next;
    }
    return left << half | right;
  }
  SHEAF_HOST_DEVICE std::uint64_t backward(std::uint64_t value) const {
    std::uint64_t left = value >> half;
    std::uint64_t right = value & ((std::uint64_t{1} << half) - 1);
    for (std::uint64_t round = 4; round-- > 0;) {
      const std::uint64_t before = right ^ round_bits(left, round);
      right = left;
      left = before;
    }
    return left << half | right;
  }
};

SHEAF_HOST_DEVICE inline feistel_network network_over(std::uint64_t n, std::uint64_t seed) {
  feistel_network network;
  network.seed = seed;
  while (network.half < 32 && (std::uint64_t{1} << (2 * network.half)) < n) ++network.half;
  return network;
}

/// A pseudo-random permutation of [0, n): the network, applied again until the result lies below n (cycle walking).
SHEAF_HOST_DEVICE inline std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
  const feistel_network network = network_over(n, seed);
  do {
    i = network.forward(i);
  } while (i >= n);
  return i;
}

/// The i that permute(i, n, seed) is `place` of.
SHEAF_HOST_DEVICE inline std::uint64_t inverse_permute(std::uint64_t place, std::uint64_t n, std::uint64_t seed) {
  const feistel_network network = network_over(n, seed);
  do {
    place = network.backward(place);
  } while (place >= n);
  return place;
}

/// A permutation of [0, n) that interleaves `streams` ascending streams: step i / streams visits every stream once, in
/// random order if `shuffled`. More streams than entries are as many as entries. Applied again until the result lies
/// below n.
SHEAF_HOST_DEVICE inline std::uint64_t interleave_streams(std::uint64_t i, std::uint64_t n, std::uint64_t streams,
                                                          bool shuffled, std::uint64_t seed) {
  if (streams > n) streams = n;
  const std::uint64_t length = (n - 1) / streams + 1;
  do {
    const std::uint64_t step = i / streams;
    std::uint64_t stream = i % streams;
    if (shuffled) stream = permute(stream, streams, seed + step);
    i = stream * length + step;
  } while (i >= n);
  return i;
}

/// The places of pattern_kind::drawn: n records in partitions of n / partitions records, the first ones with one more.
/// Entries come in windows of 16 for each partition, in random order; the last window has what is left of each. More
/// partitions than records are as many as records.
struct drawn_windows {
  static constexpr std::uint64_t of_a_partition = 16;  ///< entries of a partition in a window

  std::uint64_t records;
  std::uint64_t partitions;
  std::uint64_t seed;
  std::uint64_t of_each;  ///< records of a partition, or one less
  std::uint64_t longer;   ///< partitions that have one record more

  SHEAF_HOST_DEVICE drawn_windows(std::uint64_t n, std::uint64_t partition_count, std::uint64_t pattern_seed)
      : records(n),
        partitions(partition_count < n ? partition_count : n),
        seed(pattern_seed),
        of_each(n / partitions),
        longer(n % partitions) {}

  SHEAF_HOST_DEVICE std::uint64_t window_entries() const { return of_a_partition * partitions; }
  /// The first entry of a window, and the number of its entries, which is 0 only past the last window.
  SHEAF_HOST_DEVICE std::uint64_t begin(std::uint64_t window) const { return window * window_entries(); }
  SHEAF_HOST_DEVICE std::uint64_t entries(std::uint64_t window) const {
    if (window < of_each / of_a_partition) return window_entries();
    return begin(window) < records ? records - begin(window) : 0;
  }
  /// The partition that the k-th entry of a window is drawn to. Members of a partition are every `partitions`-th slot
  /// of a window, which are permuted.
  SHEAF_HOST_DEVICE std::uint64_t partition(std::uint64_t window, std::uint64_t k) const {
    return permute(k, entries(window), mix(seed + window)) % partitions;
  }
  /// The record of a partition's entry, of which the window has `rank` before it.
  SHEAF_HOST_DEVICE std::uint64_t record(std::uint64_t window, std::uint64_t partition, std::uint64_t rank) const {
    const std::uint64_t first = partition * of_each + (partition < longer ? partition : longer);
    return first + window * of_a_partition + rank;
  }
  /// Entry i, in some 16 times the time of partition(): where the members of its partition are tells its rank. Whoever
  /// needs all entries of a window counts instead.
  SHEAF_HOST_DEVICE std::uint64_t entry(std::uint64_t i) const {
    const std::uint64_t window = i / window_entries();
    const std::uint64_t k = i - begin(window);
    const std::uint64_t all = entries(window);
    const std::uint64_t mine = partition(window, k);
    std::uint64_t rank = 0;
    for (std::uint64_t slot = mine; slot < all; slot += partitions) {
      rank += inverse_permute(slot, all, mix(seed + window)) < k ? 1 : 0;
    }
    return record(window, mine, rank);
  }
};

/// Entry i of the pattern's index list into n records. n > 0; distinct patterns need i < n.
SHEAF_HOST_DEVICE inline std::uint64_t pattern_entry(const pattern& order, std::uint64_t i, std::uint64_t n) {
  switch (order.kind) {
    case pattern_kind::identity: return i % n;
    case pattern_kind::reverse: return n - 1 - i % n;
    case pattern_kind::permutation: return permute(i % n, n, order.seed);
    case pattern_kind::same: return n / 2;
    case pattern_kind::uniform: return mix(order.seed * 0x2545f4914f6cdd1dU + i) % n;
    case pattern_kind::zipf: {
      // Density 1/x: the logarithm of the rank is uniform. A permutation spreads the ranks over the table.
      const double u = static_cast<double>(mix(order.seed * 0x2545f4914f6cdd1dU + i) >> 11) * 0x1p-53;
      auto rank = static_cast<std::uint64_t>(::exp2(u * ::log2(static_cast<double>(n)))) - 1;
      if (rank >= n) rank = n - 1;
      return permute(rank, n, order.seed + 1);
    }
    case pattern_kind::strided: return interleave_streams(i % n, n, (n - 1) / order.parameter + 1, false, 0);
    case pattern_kind::partitioned: return interleave_streams(i % n, n, order.parameter, true, order.seed);
    case pattern_kind::drawn: return drawn_windows(n, order.parameter, order.seed).entry(i % n);
    case pattern_kind::clustered: {
      const std::uint64_t first = i % n / order.parameter * order.parameter;
      const std::uint64_t window = n - first < order.parameter ? n - first : order.parameter;
      return first + permute(i % n - first, window, order.seed + first);
    }
  }
  return 0;
}

}  // namespace sheaf::inputs
