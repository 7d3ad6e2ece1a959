#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort_tables.cuh"

// The end of a sort: a block takes a group of words into shared memory, sorts it there and writes it where it belongs.
// Words are put into 4096 bins by the highest bits in which they differ, and compared with the few others of their bin.
// Where bins are not few words, they are sorted digit by digit from the lowest bit that differs.
namespace sheaf::cuda {

struct finish_arguments {
  const void* buffers[3];
  const void* values[3];
  sort_tables tables;
  std::uint32_t key_low;
  std::uint32_t key_high;
  word_target target;
  void* values_to;
  std::uint32_t only_count;  ///< of words that are one group by themselves; 0: groups are in the tables
};

enum class finish_way { bins, bitonic };

constexpr int finish_bits = 12;
constexpr int finish_bins = 1 << finish_bits;
/// Words of a bin that are compared with each other at most.
constexpr std::uint32_t most_compared = 24;
/// A digit of the other way: counters of all warps take the room of the bins.
constexpr int local_bits = 7;
constexpr int local_bins = 1 << local_bits;
static_assert(finish_threads / 32 * local_bins * sizeof(warp_bin) == finish_bins * sizeof(std::uint32_t));

template <int Parts>
struct finish_shared {
  std::uint32_t bins[finish_bins + 4];  ///< the last: where the bins end
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing[4];
  std::uint32_t ticket;
  alignas(16) std::uint32_t start[local_bins];
};

/// Where the words' numbers in the group lie behind the words, or behind what takes their place.
template <int Parts, keeps Keeps>
constexpr std::size_t staged_bytes = group_words* std::max<std::size_t>(sizeof(sort_word<Parts>),
                                                                        value_bytes_of(Keeps));

template <int Parts, keeps Keeps>
constexpr std::size_t finish_shared_bytes() {
  return sizeof(finish_shared<Parts>) + staged_bytes<Parts, Keeps> +
         (keeps_order(Keeps) ? group_words * sizeof(std::uint16_t) : 0);
}

template <int Parts, keeps Keeps>
class group_sort {
 public:
  static constexpr bool Ordered = keeps_order(Keeps);
  static constexpr bool has_values = value_bytes_of(Keeps) > 0;
  using word = sort_word<Parts>;
  static constexpr int items = finish_items;

  __device__ group_sort(const finish_arguments& a, finish_shared<Parts>& s, unsigned char* staged)
      : a_(a),
        s_(s),
        staged_(reinterpret_cast<word*>(staged)),
        numbers_(reinterpret_cast<std::uint16_t*>(staged + staged_bytes<Parts, Keeps>)) {}

  __device__ void run(const sort_group& group, finish_way way) {
    const std::uint32_t count = group.count_and_where & ((1U << group_count_bits) - 1);
    const word* const from =
        static_cast<const word*>(a_.buffers[group.count_and_where >> group_count_bits]) + group.begin;
    word words[items];
    std::uint32_t differing[Parts] = {};
    const word first = load_word_of(from);
#pragma unroll
    for (int k = 0; k < items; ++k) words[k] = load_word_of(from + min(place(k), count - 1));
    const key_mask<Parts> key(a_.key_low, a_.key_high);
#pragma unroll
    for (int k = 0; k < items; ++k) {
#pragma unroll
      for (int i = 0; i < Parts; ++i) differing[i] |= (words[k].part[i] ^ first.part[i]) & key.part[i];
    }
    gather_differing(differing);
    const std::uint32_t high = bit_length<Parts>(differing);
    if (high == 0) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (place(k) < count) store_word<Parts>(a_.target, group.begin + place(k), words[k]);
      }
      if constexpr (has_values) move_values(group, count, [](std::uint32_t s) { return s; });
      return;
    }
    if (way == finish_way::bitonic) {
      sort_bitonic(words, count, key);
    } else if (!sort_by_bins(words, count, high, differing, key)) {
      sort_by_digits(words, count, high, differing);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) < count) store_word<Parts>(a_.target, group.begin + place(k), staged_[place(k)]);
    }
    if constexpr (has_values) {
      __syncthreads();
      move_values(group, count, [this](std::uint32_t s) { return numbers_[s]; });
    }
  }

 private:
  // Value number(s) of the group goes to place s, in the place where they come from or another.
  template <class Number>
  __device__ void move_values(const sort_group& group, std::uint32_t count, Number number) {
    using value = sort_value<Keeps>;
    value* const staged = reinterpret_cast<value*>(staged_);
    const value* const from = static_cast<const value*>(a_.values[group.count_and_where >> group_count_bits]);
    value values[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) < count) values[k] = value_at(from, group.begin + place(k));
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) < count) staged[place(k)] = values[k];
    }
    __syncthreads();
    value* const to = static_cast<value*>(a_.values_to) + group.begin;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) < count) to[place(k)] = staged[number(place(k))];
    }
  }

  static __device__ std::uint32_t place(int k) { return k * finish_threads + threadIdx.x; }

  // Or-s the bits of all threads; a barrier is due before the next call.
  __device__ void gather_differing(std::uint32_t (&differing)[Parts]) {
    if (threadIdx.x < Parts) s_.differing[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < finish_bins; i += finish_threads) s_.bins[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Parts; ++i) {
      const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&s_.differing[i], bits);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Parts; ++i) differing[i] = s_.differing[i];
  }

  // False, with the words still in registers, where a bin has too many words.
  __device__ bool sort_by_bins(const word (&words)[items], std::uint32_t count, std::uint32_t high,
                               const std::uint32_t (&differing)[Parts], const key_mask<Parts>& key) {
    const std::uint32_t shift = max(high, a_.key_low + finish_bits) - finish_bits;
    const digit_field digit = digit_at(shift, high - shift);
    const bool is_exact = lowest_bit<Parts>(differing) >= shift;  // a bin's words are the same
    packed_numbers<items> rank;
    std::uint32_t most = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      std::uint32_t r = 0;
      if (place(k) < count) r = atomicAdd(&s_.bins[digit_of(words[k], digit)], 1U);
      rank.set(k, r);
      most = max(most, r);
    }
    const bool is_crowded = __syncthreads_or(most >= most_compared) != 0;
    if (is_crowded && (Ordered || !is_exact)) return false;
    constexpr int per_thread = finish_bins / finish_threads;
    std::uint32_t begins[per_thread];
#pragma unroll
    for (int j = 0; j < per_thread; ++j) begins[j] = s_.bins[threadIdx.x * per_thread + j];
    scan_bins<finish_bins, finish_threads>(begins, s_.warp_sums);
#pragma unroll
    for (int j = 0; j < per_thread; ++j) s_.bins[threadIdx.x * per_thread + j] = begins[j];
    if (threadIdx.x == 0) s_.bins[finish_bins] = count;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) >= count) continue;
      const std::uint32_t to = s_.bins[digit_of(words[k], digit)] + rank.get(k);
      staged_[to] = words[k];
      if constexpr (Ordered) numbers_[to] = static_cast<std::uint16_t>(place(k));
    }
    if (is_exact && !Ordered) return true;
    __syncthreads();
    // Threads that are neighbours order bins that are.
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < finish_bins; bin += finish_threads) {
      const std::uint32_t begin = s_.bins[bin];
      const std::uint32_t end = s_.bins[bin + 1];
      for (std::uint32_t next = begin + 1; next < end; ++next) insert(begin, next, key);
    }
    return true;
  }

  // Moves a word before those of [begin, next) that it belongs before.
  __device__ void insert(std::uint32_t begin, std::uint32_t next, const key_mask<Parts>& key) {
    const word mine = staged_[next];
    std::uint16_t number = 0;
    if constexpr (Ordered) number = numbers_[next];
    std::uint32_t to = next;
    for (; to > begin; --to) {
      const word other = staged_[to - 1];
      const word_order order = compare_words(mine, other, key);
      bool goes_before = order == word_order::less;
      if constexpr (Ordered) goes_before = goes_before || (order == word_order::equal && number < numbers_[to - 1]);
      if (!goes_before) break;
      staged_[to] = other;
      if constexpr (Ordered) numbers_[to] = numbers_[to - 1];
    }
    if (to == next) return;
    staged_[to] = mine;
    if constexpr (Ordered) numbers_[to] = number;
  }

  // Stable passes of 7 bits over what differs.
  __device__ void sort_by_digits(const word (&words)[items], std::uint32_t count, std::uint32_t high,
                                 const std::uint32_t (&differing)[Parts]) {
    warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(s_.bins);
    warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * local_bins;
    constexpr int warps = finish_threads / 32;
    sort_word<Parts> bits;
#pragma unroll
    for (int i = 0; i < Parts; ++i) bits.part[i] = differing[i];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) >= count) continue;
      staged_[place(k)] = words[k];
      if constexpr (has_values) numbers_[place(k)] = static_cast<std::uint16_t>(place(k));
    }
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    for (std::uint32_t shift = lowest_bit<Parts>(differing); shift < high; shift += local_bits) {
      const digit_field digit = digit_at(shift, min(static_cast<std::uint32_t>(local_bits), high - shift));
      if (digit_of(bits, digit) == 0) continue;
      for (int i = threadIdx.x; i < warps * local_bins; i += finish_threads) warp_bins[i] = {0, 0};
      __syncthreads();
      word mine[items];
      packed_numbers<items> numbers;
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if constexpr (has_values) numbers.set(k, first + k * 32 < count ? numbers_[first + k * 32] : 0);
        if (first + k * 32 < count) {
          mine[k] = staged_[first + k * 32];
        } else {
#pragma unroll
          for (int i = 0; i < Parts; ++i) mine[k].part[i] = ~0U;
        }
      }
      // What is not there has the last digit, and comes last of it.
      const auto bin = [&](int k) { return digit_of(mine[k], digit); };
      packed_numbers<items> rank;
      rank_in_warp<items, local_bins, true>(bin, own_bins, rank);
      __syncthreads();
      std::uint32_t start[1] = {};
      if (threadIdx.x < local_bins) {
#pragma unroll
        for (int w = 0; w < warps; ++w) {
          warp_bin& of = warp_bins[w * local_bins + threadIdx.x];
          of.lanes = start[0];
          start[0] += of.count;
        }
      }
      scan_bins<local_bins, finish_threads>(start, s_.warp_sums);
      if (threadIdx.x < local_bins) s_.start[threadIdx.x] = start[0];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t b = bin(k);
        const std::uint32_t to = rank.get(k) + own_bins[b].lanes + s_.start[b];
        if (to >= count) continue;
        staged_[to] = mine[k];
        if constexpr (has_values) numbers_[to] = static_cast<std::uint16_t>(numbers.get(k));
      }
      __syncthreads();
    }
  }

  // Batcher's network in the form that needs no words past the end: every step puts the lesser word first.
  __device__ void sort_bitonic(const word (&words)[items], std::uint32_t count, const key_mask<Parts>& key) {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (place(k) >= count) continue;
      staged_[place(k)] = words[k];
      if constexpr (Ordered) numbers_[place(k)] = static_cast<std::uint16_t>(place(k));
    }
    for (std::uint32_t run = 2; run / 2 < count; run *= 2) {
      for (std::uint32_t step = run / 2; step > 0; step /= 2) {
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i * 2 < count + run; i += finish_threads) {
          const std::uint32_t low = i / step * (2 * step) + i % step;
          const std::uint32_t high = step == run / 2 ? low - i % step + 2 * step - 1 - i % step : low + step;
          if (high < count) exchange(low, high, key);
        }
      }
    }
  }

  __device__ void exchange(std::uint32_t low, std::uint32_t high, const key_mask<Parts>& key) {
    const word a = staged_[low];
    const word b = staged_[high];
    const word_order order = compare_words(b, a, key);
    bool turns = order == word_order::less;
    if constexpr (Ordered) turns = turns || (order == word_order::equal && numbers_[high] < numbers_[low]);
    if (!turns) return;
    staged_[low] = b;
    staged_[high] = a;
    if constexpr (Ordered) {
      const std::uint16_t number = numbers_[low];
      numbers_[low] = numbers_[high];
      numbers_[high] = number;
    }
  }

  const finish_arguments& a_;
  finish_shared<Parts>& s_;
  word* staged_;
  std::uint16_t* numbers_;
};

/// Blocks draw groups by ticket until there are none left.
template <int Parts, keeps Keeps, finish_way Way>
__global__ void __launch_bounds__(finish_threads, Parts > 2 || value_bytes_of(Keeps) > 0 ? 2 : 3)
    finish_groups(const __grid_constant__ finish_arguments a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  using shared_part = finish_shared<Parts>;
  shared_part& shared = *reinterpret_cast<shared_part*>(dynamic);
  group_sort<Parts, Keeps> sort(a, shared, dynamic + sizeof(shared_part));
  if (a.only_count > 0) return sort.run({0, a.only_count}, Way);
  const std::uint32_t groups = a.tables.counters->groups;
  std::uint32_t* const ticket = &a.tables.counters->ticket;
  if (threadIdx.x == 0) shared.ticket = atomicAdd(ticket, 1U);
  __syncthreads();
  while (shared.ticket < groups) {
    const sort_group group = a.tables.groups[shared.ticket];
    std::uint32_t drawn = 0;  // for the next turn, so that nobody waits for it
    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1U);
    sort.run(group, Way);
    __syncthreads();
    if (threadIdx.x == 0) shared.ticket = drawn;
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
