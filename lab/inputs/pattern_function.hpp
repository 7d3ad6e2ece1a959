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

/// A pseudo-random permutation of [0, n): a Feistel network of four rounds over the next even number of bits, applied
/// again until the result lies below n (cycle walking).
SHEAF_HOST_DEVICE inline std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
  unsigned half = 1;
  while (half < 32 && (std::uint64_t{1} << (2 * half)) < n) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mix(right + (seed << 8) + round) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
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
    case pattern_kind::clustered: {
      const std::uint64_t first = i % n / order.parameter * order.parameter;
      const std::uint64_t window = n - first < order.parameter ? n - first : order.parameter;
      return first + permute(i % n - first, window, order.seed + first);
    }
  }
  return 0;
}

}  // namespace sheaf::inputs
