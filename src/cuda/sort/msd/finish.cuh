#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/distinct_keys.cuh"
#include "cuda/sort/msd/group_lsd.cuh"
#include "cuda/sort/msd/heavy_keys.cuh"

// The end of a sort: a block takes a group of words into shared memory, sorts it there and writes it where it belongs.
// Words are put into 4096 bins by the highest bits in which they differ, and compared with the few others of their bin.
// Groups with bins of many words are left to a second kernel, where frequent words are set apart (sort_crowds.cuh), or,
// if that is not enough, all are sorted digit by digit from the lowest bit that differs (sort_digits.cuh).
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

template <int Limbs, payload_mode Payload, finish_way Way>
class group_sort {
 public:
  static constexpr bool Ordered = is_stable(Payload);
  static constexpr bool has_values = value_bytes_of(Payload) > 0;
  using word = sort_word<Limbs>;
  using staged_words = staged_group<Limbs, Payload, Way>;
  static constexpr int items = finish_items;
  static constexpr std::uint32_t largest_bin = Way == finish_way::bins ? most_compared : most_by_warp;
  static constexpr std::uint32_t largest_short_run = Way == finish_way::bins ? most_compared : most_by_thread;

  __device__ group_sort(const finish_arguments& a, finish_shared<Limbs, Way>& s, unsigned char* staged)
      : a_(a), s_(s), staged_(staged) {}

  /// False where bins are too large and Way is bins; nothing has been written then.
  __device__ __forceinline__ bool run(const sort_group& group) {
    const std::uint32_t where = group.where();
    if (Payload == payload_mode::none && group.is_one_word()) {
      repeat_word(group);
      return true;
    }
    const staged_words g{static_cast<const word*>(a_.buffers[where]) + group.begin,
                         group.count(),
                         &s_,
                         reinterpret_cast<word*>(staged_),
                         reinterpret_cast<std::uint16_t*>(staged_ + staged_bytes<Limbs, Payload>),
                         key_mask<Limbs>(a_.key_low, a_.key_high)};
    word words[items];
    std::uint32_t differing[Limbs] = {};
    const word first = load_word_streaming(g.from);
    g.load(words);
#pragma unroll
    for (int k = 0; k < items; ++k) {
#pragma unroll
      for (int i = 0; i < Limbs; ++i) differing[i] |= (words[k].limb[i] ^ first.limb[i]) & g.key.limb[i];
    }
    gather_differing(differing);
    const std::uint32_t high = bit_length<Limbs>(differing);
    if (high == 0) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (g.place(k) < g.count) write_word<Limbs>(a_.target, group.begin + g.place(k), words[k]);
      }
      if constexpr (has_values) move_values(g, group, [](std::uint32_t s) { return s; });
      return true;
    }
    if constexpr (Way == finish_way::bitonic) {
      sort_bitonic(g, words);
    } else if constexpr (Way == finish_way::bins) {
      if (!sort_by_bins(g, words, high, differing, group.is_uneven())) return false;
    } else {
      sort_crowded(g, words, high, differing);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) < g.count) write_word<Limbs>(a_.target, group.begin + g.place(k), g.staged[g.place(k)]);
    }
    if constexpr (has_values) {
      __syncthreads();
      move_values(g, group, [&](std::uint32_t s) { return g.numbers[s]; });
    }
    return true;
  }

 private:
  // The word is where it may be written.
  __device__ __forceinline__ void repeat_word(const sort_group& group) {
    const std::uint32_t count = group.count();
    const std::uint32_t past = group.begin % group_words;
    const std::uint32_t from = past == 0 ? group.begin : group.begin - past + group_words;
    const word w = static_cast<const word*>(a_.buffers[group.where()])[from];
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += finish_threads)
      write_word<Limbs>(a_.target, group.begin + i, w);
  }

  // Value number(s) of the group goes to place s, in the place where they come from or another.
  template <class Number>
  __device__ __forceinline__ void move_values(const staged_words& g, const sort_group& group, Number number) {
    using value = sort_value<Payload>;
    value* const staged = reinterpret_cast<value*>(staged_);
    const value* const from = static_cast<const value*>(a_.values[group.where()]);
    value values[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) < g.count) values[k] = value_at(from, group.begin + g.place(k));
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) < g.count) staged[g.place(k)] = values[k];
    }
    __syncthreads();
    value* const to = static_cast<value*>(a_.values_to) + group.begin;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) < g.count) to[g.place(k)] = staged[number(g.place(k))];
    }
  }

  // Or-s the bits of all threads; a barrier is due before the next call.
  __device__ __forceinline__ void gather_differing(std::uint32_t (&differing)[Limbs]) {
    if (threadIdx.x < Limbs) s_.differing[threadIdx.x] = 0;
    if (threadIdx.x == finish_threads - 1) {
      s_.least = ~0U;
      s_.most = 0;
    }
    for (int i = threadIdx.x; i < finish_bins; i += finish_threads) s_.bins[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Limbs; ++i) {
      const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&s_.differing[i], bits);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Limbs; ++i) differing[i] = s_.differing[i];
  }

  __device__ __forceinline__ void sort_crowded(const staged_words& g, const word (&words)[items], std::uint32_t high,
                                               const std::uint32_t (&differing)[Limbs]) {
    // What is left of keys of 32 bits takes no longer in two digits than in crowds.
    if constexpr (Limbs == 1) {
      if (high <= distinct_bits) {
        if constexpr (Ordered) {
          return sort_by_digits(g, high);
        } else {
          return sort_by_distinct(g, words);
        }
      }
    }
    if (!sort_by_bins(g, words, high, differing, true)) sort_by_digits(g, high);
  }

  // As many of the words' bits as finish_bits, from `high` down, where these tell most of them apart.
  __device__ __forceinline__ range_digit highest_digit(std::uint32_t high) const {
    const std::uint32_t shift = max(high, a_.key_low + finish_bits) - finish_bits;
    return {digit_at(shift, high - shift), 0};
  }

  // As many bits as number what is between the least and the greatest word.
  __device__ __forceinline__ range_digit digit_of_range(const word (&words)[items], std::uint32_t high) {
    const std::uint32_t low = max(high, a_.key_low + 32) - 32;
    const digit_field highest{low / 32, low % 32, ~0U >> (32 - (high - low))};
    std::uint32_t least = ~0U;
    std::uint32_t most = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t number = digit_of(words[k], highest);
      least = min(least, number);
      most = max(most, number);
    }
    least = __reduce_min_sync(~0U, least);
    most = __reduce_max_sync(~0U, most);
    if (threadIdx.x % 32 == 0) {
      atomicMin(&s_.least, least);
      atomicMax(&s_.most, most);
    }
    __syncthreads();
    least = s_.least;
    most = s_.most;
    std::uint32_t shift = max(32 - __clz(static_cast<int>(most - least)), finish_bits) - finish_bits;
    if ((most >> shift) - (least >> shift) >= finish_bins) ++shift;
    const digit_field field = digit_at(low + shift, min(high - low - shift, static_cast<std::uint32_t>(finish_bits)));
    return {field, least >> shift & field.mask};
  }

  // False where a bin has too many words.
  __device__ __forceinline__ bool sort_by_bins(const staged_words& g, const word (&words)[items], std::uint32_t high,
                                               const std::uint32_t (&differing)[Limbs], bool by_range) {
    const range_digit digit = by_range ? digit_of_range(words, high) : highest_digit(high);
    const std::uint32_t shift = digit.field.limb * 32 + digit.field.shift;
    const bool is_exact = lowest_bit<Limbs>(differing) >= shift;  // a bin's words are the same
    packed_numbers<items> rank;
    std::uint32_t most = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      std::uint32_t r = 0;
      if (g.place(k) < g.count) r = atomicAdd(&s_.bins[digit_of(words[k], digit)], 1U);
      rank.set(k, r);
      most = max(most, r);
    }
    if (threadIdx.x == 0) s_.crowd_count = s_.long_run_count = 0;
    const bool has_crowds = __syncthreads_or(most >= largest_bin) != 0 && (Ordered || !is_exact);
    if (Way == finish_way::bins && has_crowds) return false;
    place_bins(g);
    __syncthreads();
    if constexpr (Way == finish_way::crowds) {
      if (has_crowds) return sort_crowds(g, words, digit, rank);
    }
    const range_digit again{{digit.field.limb, opaque(digit.field.shift), digit.field.mask}, digit.least};
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) >= g.count) continue;
      g.stage((s_.bins[digit_of(words[k], again)] & lower_half_mask) + rank.get(k), words[k], g.place(k));
    }
    if (is_exact && !Ordered) return true;
    __syncthreads();
    g.order_runs();
    return true;
  }

  // Turns the bins' counts into where they begin, and lists those that have something to be put in order.
  __device__ __forceinline__ void place_bins(const staged_words& g) {
    constexpr int per_thread = finish_bins / finish_threads;
    constexpr std::uint32_t one_run = 1U << upper_half;
    const auto is_short_run = [](std::uint32_t size) { return size > 1 && size <= largest_short_run; };
    const std::uint32_t first = threadIdx.x * per_thread;
    std::uint32_t before[per_thread];  // words in the lower half, runs in the upper
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const std::uint32_t size = s_.bins[first + j];
      before[j] = is_short_run(size) ? size + one_run : size;
    }
    const std::uint32_t last = before[per_thread - 1];
    scan_bins<finish_bins, finish_threads>(before, s_.warp_sums);
    const std::uint32_t past = before[per_thread - 1] + last;
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const std::uint32_t next = j + 1 < per_thread ? before[j + 1 < per_thread ? j + 1 : j] : past;
      const std::uint32_t begin = before[j] & lower_half_mask;
      const std::uint32_t size = (next & lower_half_mask) - begin;
      std::uint32_t crowd_number = 0;
      if (is_short_run(size)) s_.runs[before[j] >> upper_half] = begin | size << upper_half;
      if constexpr (Way == finish_way::crowds) {
        if (size > most_by_warp) {
          crowd_number = add_crowd(first + j);
        } else if (size > most_by_thread) {
          g.add_long_run(begin, size);
        }
      }
      s_.bins[first + j] = begin | crowd_number << upper_half;
    }
    if (threadIdx.x == finish_threads - 1) {
      s_.run_count = past >> upper_half;
      s_.bins[finish_bins] = g.count;
    }
  }

  __device__ __forceinline__ std::uint32_t add_crowd(std::uint32_t bin) {
    const std::uint32_t number = atomicAdd(&s_.crowd_count, 1U);
    if (number >= most_crowds) return 0;
    s_.crowds[number] = {bin, 0, 0};
    return number + 1;
  }

  // Batcher's network in the form that needs no words past the end: every step puts the lesser word first.
  __device__ void sort_bitonic(const staged_words& g, const word (&words)[items]) {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.place(k) < g.count) g.stage(g.place(k), words[k], g.place(k));
    }
    for (std::uint32_t run = 2; run / 2 < g.count; run *= 2) {
      for (std::uint32_t step = run / 2; step > 0; step /= 2) {
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i * 2 < g.count + run; i += finish_threads) {
          const std::uint32_t low = i / step * (2 * step) + i % step;
          const std::uint32_t high = step == run / 2 ? low - i % step + 2 * step - 1 - i % step : low + step;
          if (high < g.count) exchange(g, low, high);
        }
      }
    }
  }

  static __device__ void exchange(const staged_words& g, std::uint32_t low, std::uint32_t high) {
    const word a = g.staged[low];
    const word b = g.staged[high];
    const word_order order = compare_words(b, a, g.key);
    bool turns = order == word_order::less;
    std::uint16_t numbers[2] = {};
    if constexpr (Ordered) {
      numbers[0] = g.numbers[low];
      numbers[1] = g.numbers[high];
      turns = turns || (order == word_order::equal && numbers[1] < numbers[0]);
    }
    if (!turns) return;
    g.stage(low, b, numbers[1]);
    g.stage(high, a, numbers[0]);
  }

  const finish_arguments& a_;
  finish_shared<Limbs, Way>& s_;
  unsigned char* staged_;
};

/// Of a multiprocessor.
template <int Limbs, payload_mode Payload, finish_way Way>
constexpr int finish_blocks = Limbs > 2 || is_stable(Payload) || (Limbs > 1 && Way == finish_way::crowds) ? 2 : 3;

/// Whether so many of the groups that were drawn have crowds that the rest is better left to the kernel for these.
__device__ __forceinline__ bool are_crowded(std::uint32_t crowded, std::uint32_t drawn) {
  return crowded >= 32 && crowded > drawn / 4;
}

/// Calls body(number) for the numbers below `count` that the block draws by ticket. It draws no more once many groups
/// are crowded, if `crowded` tells how many there are.
template <class Body>
__device__ __forceinline__ void draw_groups(std::uint32_t& shared_ticket, std::uint32_t* ticket, std::uint32_t count,
                                            const std::uint32_t* crowded, Body body) {
  constexpr std::uint32_t none = ~0U;
  __syncthreads();
  if (threadIdx.x == 0) shared_ticket = atomicAdd(ticket, 1U);
  __syncthreads();
  std::uint32_t seen = 0;
  while (shared_ticket < count) {
    const std::uint32_t mine = shared_ticket;
    std::uint32_t next = none;
    if (threadIdx.x == 0) {  // for the next turn, so that nobody waits for it
      if (!are_crowded(seen, mine)) next = atomicAdd(ticket, 1U);
      if (crowded != nullptr) seen = __ldcg(crowded);
    }
    body(mine);
    __syncthreads();
    if (threadIdx.x == 0) shared_ticket = next;
    __syncthreads();
  }
}

/// The kernel for crowds takes the groups that the one for bins left to it, and then those that this did not come to.
template <int Limbs, payload_mode Payload, finish_way Way>
__global__ void __launch_bounds__(finish_threads, finish_blocks<Limbs, Payload, Way>)
    finish_groups(const __grid_constant__ finish_arguments a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  using shared_part = finish_shared<Limbs, Way>;
  shared_part& shared = *reinterpret_cast<shared_part*>(dynamic);
  group_sort<Limbs, Payload, Way> sort(a, shared, dynamic + sizeof(shared_part));
  if (a.only_count > 0) {
    sort.run({0, a.only_count | sort_group::uneven});
    return;
  }
  sort_counters* const counters = a.tables.counters;
  if constexpr (Way == finish_way::crowds) {
    draw_groups(shared.ticket, &counters->crowded_ticket, counters->crowded, nullptr,
                [&](std::uint32_t number) { sort.run(a.tables.crowded[number]); });
  }
  draw_groups(shared.ticket, &counters->ticket, counters->groups,
              Way == finish_way::bins ? &counters->crowded : nullptr, [&](std::uint32_t number) {
                const sort_group group = a.tables.groups[number];
                if (!sort.run(group) && threadIdx.x == 0) {
                  a.tables.crowded[atomicAdd(&counters->crowded, 1U)] = group;
                }
              });
}

}  // namespace sheaf::cuda
