#pragma once

#include <utility>

#include "cuda/edges/buckets/phases.hpp"

// The order of a list in shared memory: by the nodes at the other ends, and then by what is carried. Short lists are
// sorted in registers, longer ones by a warp or by the block.
namespace sheaf::cuda {

/// Entries of a list that a thread sorts: as many as 64 registers hold.
constexpr std::uint32_t longest_in_registers(int carried) { return carried == 0 ? 32 : 16; }
constexpr std::uint32_t longest_of_warp = 1024;  ///< and a warp

/// An entry of a list: the other end, and the words that go with it. In shared memory, each of its words lies as many
/// words behind the one before as a part's lists have entries at most.
template <int Carried>
struct list_words {
  std::uint32_t word[1 + Carried];

  /// Behind every entry of a list: the other end is no node.
  __device__ __forceinline__ list_words() {
#pragma unroll
    for (std::uint32_t& w : word) w = ~0U;
  }
  __device__ __forceinline__ explicit list_words(const std::uint32_t* at) {
#pragma unroll
    for (int w = 0; w <= Carried; ++w) word[w] = at[w * list_capacity(Carried)];
  }
  __device__ __forceinline__ void store(std::uint32_t* at) const {
#pragma unroll
    for (int w = 0; w <= Carried; ++w) at[w * list_capacity(Carried)] = word[w];
  }
  __device__ __forceinline__ list_words of_lane(unsigned lane) const {
    list_words other;
#pragma unroll
    for (int w = 0; w <= Carried; ++w) other.word[w] = __shfl_sync(~0U, word[w], lane);
    return other;
  }
  /// By the other end, and then by the bits that go with it, so that entries which are alike contribute the same.
  friend __device__ __forceinline__ bool operator<(const list_words& a, const list_words& b) {
    if constexpr (Carried == 0) {
      return a.word[0] < b.word[0];
    } else {
      const std::uint64_t of_a = std::uint64_t{a.word[0]} << 32 | a.word[1];
      const std::uint64_t of_b = std::uint64_t{b.word[0]} << 32 | b.word[1];
      if constexpr (Carried == 1) return of_a < of_b;
      return of_a < of_b || (of_a == of_b && a.word[Carried] < b.word[Carried]);
    }
  }
};

template <int Carried>
__device__ __forceinline__ void put_in_order(list_words<Carried>& low, list_words<Carried>& high) {
  const list_words<Carried> a = low;
  const list_words<Carried> b = high;
  if constexpr (Carried == 0) {
    low.word[0] = min(a.word[0], b.word[0]);
    high.word[0] = max(a.word[0], b.word[0]);
  } else {
    const bool are_swapped = b < a;
#pragma unroll
    for (int w = 0; w <= Carried; ++w) {
      low.word[w] = are_swapped ? b.word[w] : a.word[w];
      high.word[w] = are_swapped ? a.word[w] : b.word[w];
    }
  }
}

/// The comparators of Batcher's odd-even merge sort of N words.
template <int N>
struct merge_network {
  template <class Use>
  static constexpr void for_each(Use use) {
    for (int p = 1; p < N; p *= 2) {
      for (int k = p; k >= 1; k /= 2) {
        for (int j = k % p; j <= N - 1 - k; j += 2 * k) {
          for (int i = 0; i < k && i < N - j - k; ++i) {
            if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) use(i + j, i + j + k);
          }
        }
      }
    }
  }
  static constexpr int count = [] {
    int comparators = 0;
    for_each([&](int, int) { ++comparators; });
    return comparators;
  }();
  struct comparator {
    int low;
    int high;
  };
  struct table {
    comparator at[count];
  };
  static constexpr table comparators = [] {
    table all{};
    int made = 0;
    for_each([&](int low, int high) { all.at[made++] = {low, high}; });
    return all;
  }();
  template <int C, class Entry>
  static __device__ __forceinline__ void compare(Entry (&entry)[N]) {
    constexpr comparator c = comparators.at[C];
    put_in_order(entry[c.low], entry[c.high]);
  }
  template <class Entry, int... C>
  static __device__ __forceinline__ void sort(Entry (&entry)[N], std::integer_sequence<int, C...>) {
    (compare<C>(entry), ...);
  }
};

/// Sorts a list of at most N entries in registers.
template <int N, int Carried>
__device__ __forceinline__ void sort_in_registers(std::uint32_t* list, std::uint32_t length) {
  list_words<Carried> entry[N];
#pragma unroll
  for (std::uint32_t k = 0; k < N; ++k) entry[k] = k < length ? list_words<Carried>(list + k) : list_words<Carried>();
  merge_network<N>::sort(entry, std::make_integer_sequence<int, merge_network<N>::count>{});
#pragma unroll
  for (std::uint32_t k = 0; k < N; ++k) {
    if (k < length) entry[k].store(list + k);
  }
}

/// Sorts a list of at most 32 entries, one in each lane of a warp (bitonic sort).
template <int Carried>
__device__ __forceinline__ void sort_in_lanes(std::uint32_t* list, std::uint32_t length) {
  const unsigned lane = threadIdx.x % 32;
  list_words<Carried> entry = lane < length ? list_words<Carried>(list + lane) : list_words<Carried>();
#pragma unroll
  for (unsigned run = 2; run <= 32; run *= 2) {
#pragma unroll
    for (unsigned step = run / 2; step > 0; step /= 2) {
      const list_words<Carried> other = entry.of_lane(lane ^ step);
      const bool takes_less = ((lane & step) == 0) == ((lane & run) == 0);
      if (takes_less ? other < entry : entry < other) entry = other;
    }
  }
  if (lane < length) entry.store(list + lane);
}

/// Sorts a list in shared memory by `threads` threads, which `meet` brings together (bitonic merge sort whose
/// comparators all ascend, so that words past the end, which would be the greatest, need not be there).
template <int Carried, class Meet>
__device__ __forceinline__ void sort_together(std::uint32_t* list, std::uint32_t length, unsigned thread,
                                              unsigned threads, Meet meet) {
  for (std::uint32_t run = 2; run < 2 * length; run *= 2) {
    for (std::uint32_t step = run / 2; step > 0; step /= 2) {
      meet();
      for (std::uint32_t n = thread;; n += threads) {
        const std::uint32_t low = n / step * (2 * step) + n % step;
        if (low >= length) break;
        // The first step of a run compares with the mirrored place in its other half.
        const std::uint32_t high = step == run / 2 ? low + run - 1 - 2 * (low % run) : low + step;
        if (high >= length) continue;
        const list_words<Carried> a(list + low);
        const list_words<Carried> b(list + high);
        if (b < a) {
          b.store(list + low);
          a.store(list + high);
        }
      }
    }
  }
  meet();
}

/// Sorts the lists of a part, each of which ends where `ends` says.
template <int Carried>
__device__ __forceinline__ void sort_lists(std::uint32_t* lists, const std::uint32_t* ends, std::uint32_t nodes) {
  constexpr std::uint32_t longest_of_thread = longest_in_registers(Carried);
  __shared__ std::uint32_t long_lists[list_capacity(Carried) / longest_of_warp];
  __shared__ std::uint32_t long_count;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) long_count = 0;
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < nodes; k += list_threads) {  // whole warps
    const std::uint32_t begin = k == 0 ? 0 : ends[k - 1];
    const std::uint32_t length = ends[k] - begin;
    if (length <= longest_of_thread / 2) {
      sort_in_registers<longest_of_thread / 2, Carried>(lists + begin, length);
    } else if (length <= longest_of_thread) {
      sort_in_registers<longest_of_thread, Carried>(lists + begin, length);
    } else if (length > longest_of_warp) {
      long_lists[atomicAdd(&long_count, 1U)] = k;
    }
    unsigned left = __ballot_sync(~0U, length > longest_of_thread && length <= longest_of_warp);
    for (; left != 0; left &= left - 1) {
      const int which = __ffs(static_cast<int>(left)) - 1;
      std::uint32_t* const list = lists + __shfl_sync(~0U, begin, which);
      const std::uint32_t entries = __shfl_sync(~0U, length, which);
      if constexpr (longest_of_thread < 32) {
        if (entries <= 32) {
          sort_in_lanes<Carried>(list, entries);
          continue;
        }
      }
      sort_together<Carried>(list, entries, lane, 32, [] { __syncwarp(); });
    }
  }
  __syncthreads();
  for (std::uint32_t n = 0; n < long_count; ++n) {
    const std::uint32_t k = long_lists[n];
    const std::uint32_t begin = k == 0 ? 0 : ends[k - 1];
    sort_together<Carried>(lists + begin, ends[k] - begin, threadIdx.x, list_threads, [] { __syncthreads(); });
  }
}

}  // namespace sheaf::cuda
