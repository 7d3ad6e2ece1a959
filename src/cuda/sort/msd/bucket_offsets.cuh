#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/pass_state.cuh"

// What becomes of a level's buckets once their words are counted: where the words of each bin go, which bins are
// buckets of the next level, and which neighbours are small enough to be finished as a group.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
class bucket_places {
 public:
  static constexpr bool Ordered = keeps_order(Payload);

  __device__ bucket_places(const msd_pass_arguments& a, level_shared& s, unsigned char* staged, std::uint32_t turn)
      : l_(a, s, staged, turn) {}

  /// The first level has one bucket. Called by one block, as one of the turn before.
  __device__ void begin_sort() {
    if (threadIdx.x == 0) l_.s.first_group = add_bucket({0, l_.a.count, 0, 0, l_.a.key_high, 0});
    __syncthreads();
    fill_tables<level_threads>(l_.s.first_group);
    __syncthreads();
  }

  __device__ void begin_buckets() {
    const std::uint32_t buckets = __ldcg(&l_.t.counters->buckets[l_.now]);
    for (std::uint32_t b = blockIdx.x; b < buckets; b += gridDim.x) begin_bucket(b);
  }

 private:
  __device__ void begin_bucket(std::uint32_t b) {
    const sort_bucket bucket = l_.t.buckets[l_.now][b];
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t* const rows = l_.t.rows[l_.now] + std::uint64_t{bucket.first_row} * radix_bins;
    const std::uint32_t row_count = l_.rows_of(bucket.count);
    std::uint32_t count[1] = {};
    std::uint32_t begin[1] = {};
    if (bin < radix_bins) {
#pragma unroll 32
      for (std::uint32_t r = 0; r < row_count; ++r) count[0] += __ldcg(rows + r * radix_bins + bin);
    }
    if constexpr (Pivots) {
      if (threadIdx.x == level_threads - 1) l_.find_pivot(bucket, l_.s.coming_pivot);
    }
    // Rows move in any case, as they are words afterwards.
    if (__syncthreads_or(!FromRows && bin < radix_bins && count[0] == bucket.count)) return keep_bucket(b, bucket);
    begin[0] = count[0];
    scan_bins<radix_bins, level_threads>(begin, l_.s.warp_sums);
    begin[0] += bucket.begin;
    if (bin < radix_bins) {
      constexpr std::uint32_t at_once = Ordered ? 32 : 1;
      std::uint32_t sum = begin[0];
      for (std::uint32_t first = 0; first < row_count; first += at_once) {
        std::uint32_t here[at_once];
#pragma unroll
        for (std::uint32_t r = 0; r < at_once; ++r) {
          here[r] = first + r < row_count ? __ldcg(rows + (first + r) * radix_bins + bin) : 0;
        }
#pragma unroll
        for (std::uint32_t r = 0; r < at_once; ++r) {
          if (first + r < row_count) rows[(first + r) * radix_bins + bin] = sum;
          sum += here[r];
        }
      }
    }
    const std::uint32_t to = next_buffer(bucket.where);
    if (l_.low_of(bucket) <= l_.a.key_low) return add_pieces(bucket.begin, bucket.count, to);
    const std::uint32_t pivot_bin = l_.bin_of_bucket(bucket).pivot_bin();
    if (bin < radix_bins) {
      l_.s.place[bin] = begin[0];
      l_.s.histogram[0][bin] = count[0];
      l_.s.child_bucket[bin] = 0;
      if (count[0] > group_words && bin != pivot_bin) {
        const bool has_many_digits = pivot_bin != no_bin && bin == radix_bins - 1;
        const std::uint32_t bits = has_many_digits ? bucket.bits : l_.low_of(bucket);
        l_.s.child_bucket[bin] = 1 + add_bucket({begin[0], count[0], 0, 0, bits, to});
      }
    }
    __syncthreads();
    add_groups(bucket, to);
    for (std::uint32_t child = threadIdx.x / 32; child < radix_bins; child += level_threads / 32) {
      if (l_.s.child_bucket[child] != 0) fill_tables<32>(l_.s.child_bucket[child] - 1);
    }
    __syncthreads();
    if (pivot_bin < radix_bins && l_.s.histogram[0][pivot_bin] > group_words) {
      if constexpr (Payload == payload_mode::nothing) {
        if (threadIdx.x == 0) l_.t.buckets[l_.now][b].where |= leaves_out;
        add_one_word(l_.s.place[pivot_bin], l_.s.histogram[0][pivot_bin], to);
      } else {
        add_pieces(l_.s.place[pivot_bin], l_.s.histogram[0][pivot_bin], to);
      }
    }
  }

  // All words have one digit: the level skips to the highest bit in which two differ, if there is one.
  __device__ void keep_bucket(std::uint32_t b, const sort_bucket& bucket) {
    const std::uint32_t* const known = l_.t.differing[l_.now] + b * Limbs;
    const key_mask<Limbs> key(l_.a.key_low, l_.a.key_high);
    std::uint32_t differing[Limbs];
#pragma unroll
    for (int i = 0; i < Limbs; ++i) differing[i] = __ldcg(known + i) & key.limb[i];
    std::uint32_t bits = bit_length<Limbs>(differing);
    if constexpr (Limbs > 1) bits = (bits + radix_bits - 1) / radix_bits * radix_bits;
    if (threadIdx.x == 0) l_.t.buckets[l_.now][b].where |= stays;
    if (bits <= l_.a.key_low) return add_pieces(bucket.begin, bucket.count, bucket.where);
    if (threadIdx.x == 0) l_.s.first_group = add_bucket({bucket.begin, bucket.count, 0, 0, bits, bucket.where});
    __syncthreads();
    fill_tables<level_threads>(l_.s.first_group);
    __syncthreads();
  }

  __device__ std::uint32_t add_bucket(sort_bucket bucket) {
    const std::uint32_t b = atomicAdd(&l_.t.counters->buckets[l_.next], 1U);
    bucket.first_tile = atomicAdd(&l_.t.counters->tiles[l_.next], l_.tiles_of(bucket.count));
    bucket.first_row = Ordered ? atomicAdd(&l_.t.counters->rows[l_.next], l_.rows_of(bucket.count)) : b;
    l_.t.buckets[l_.next][b] = bucket;
    return b;
  }

  // Says whose the tiles and rows of a new bucket are, and clears its counts: the work of as many neighbouring threads.
  template <std::uint32_t Threads>
  __device__ void fill_tables(std::uint32_t b) {
    const sort_bucket bucket = l_.t.buckets[l_.next][b];
    const std::uint32_t tiles = l_.tiles_of(bucket.count);
    const std::uint32_t rows = l_.rows_of(bucket.count);
    const std::uint32_t first = threadIdx.x % Threads;
    for (std::uint32_t i = first; i < tiles; i += Threads) l_.t.tile_bucket[l_.next][bucket.first_tile + i] = b;
    if constexpr (Ordered) {
      for (std::uint32_t i = first; i < rows; i += Threads) l_.t.row_bucket[l_.next][bucket.first_row + i] = b;
    }
    std::uint32_t* const counts = l_.t.rows[l_.next] + std::uint64_t{bucket.first_row} * radix_bins;
    for (std::uint32_t i = first; i < rows * radix_bins; i += Threads) counts[i] = 0;
    if (first < Limbs) l_.t.differing[l_.next][b * Limbs + first] = 0;
  }

  // Words in their final order: groups that are only copied, if that.
  __device__ void add_pieces(std::uint32_t begin, std::uint32_t count, std::uint32_t where) {
    if (l_.a.buffers[where] == l_.a.finished) return;
    const std::uint32_t pieces = (count - 1) / group_words + 1;
    if (threadIdx.x == 0) l_.s.first_group = atomicAdd(&l_.t.counters->groups, pieces);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < pieces; i += level_threads) {
      const std::uint32_t skipped = i * group_words;
      l_.t.groups[l_.s.first_group + i] = {begin + skipped, group(min(count - skipped, group_words), where)};
    }
    __syncthreads();
  }

  // Words that are all the same, more than a group of them: each piece has one multiple of group_words.
  __device__ void add_one_word(std::uint32_t begin, std::uint32_t count, std::uint32_t where) {
    const std::uint32_t first = begin / group_words + (begin % group_words != 0 ? 1 : 0);
    const std::uint32_t pieces = (begin + (count - 1)) / group_words - first + 1;
    if (threadIdx.x == 0) l_.s.first_group = atomicAdd(&l_.t.counters->groups, pieces);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < pieces; i += level_threads) {
      const std::uint32_t from = i == 0 ? begin : (first + i) * group_words;
      const std::uint32_t to = i + 1 == pieces ? begin + count : (first + i + 1) * group_words;
      l_.t.groups[l_.s.first_group + i] = {from, group(to - from, where) | sort_group::one_word};
    }
    __syncthreads();
  }

  static __device__ std::uint32_t group(std::uint32_t count, std::uint32_t where) {
    return count | where << sort_group::count_bits;
  }

  // Small children, as many neighbours together as fit: each child looks up where the group that began with it would
  // end, and the groups are those that are reached from the first child, in doubling steps. Begins and counts are in
  // place and histogram[0].
  __device__ void add_groups(const sort_bucket& bucket, std::uint32_t to) {
    const std::uint32_t child = threadIdx.x;
    const std::uint32_t past = bucket.begin + bucket.count;
    const auto begin_of = [&](std::uint32_t c) { return c < radix_bins ? l_.s.place[c] : past; };
    std::uint32_t end = radix_bins;  // the child after the group
    std::uint32_t words = 0;
    if (child < radix_bins) {
      // As many as fit have at most group_words from here on; a child that is too large is a group of its own, which is
      // left out.
      std::uint32_t low = child + 1;
      std::uint32_t high = radix_bins;
      while (low < high) {
        const std::uint32_t middle = (low + high + 1) / 2;
        if (begin_of(middle) - l_.s.place[child] <= l_.a.merged_words) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      end = low;
      words = l_.s.histogram[0][child] > group_words ? 0 : begin_of(end) - l_.s.place[child];
      l_.s.jump[child] = end;
      l_.s.is_reached[child] = child == 0;
    }
    if (child == 0) l_.s.group_total = 0;
    __syncthreads();
    for (int step = 1; step < radix_bins; step *= 2) {
      std::uint32_t to_child = radix_bins;
      std::uint32_t farther = radix_bins;
      if (child < radix_bins) {
        to_child = l_.s.jump[child];
        if (to_child < radix_bins) farther = l_.s.jump[to_child];
        if (l_.s.is_reached[child] == 0) to_child = radix_bins;
      }
      __syncthreads();
      if (child < radix_bins) {
        if (to_child < radix_bins) l_.s.is_reached[to_child] = 1;
        l_.s.jump[child] = farther;
      }
      __syncthreads();
    }
    const bool is_group = child < radix_bins && l_.s.is_reached[child] != 0 && words > 0;
    std::uint32_t number = 0;
    if (is_group) number = atomicAdd(&l_.s.group_total, 1U);
    __syncthreads();
    if (child == 0 && l_.s.group_total > 0) l_.s.first_group = atomicAdd(&l_.t.counters->groups, l_.s.group_total);
    __syncthreads();
    if (!is_group) return;
    const std::uint32_t merged = end - child;
    const std::uint32_t aligned = 1U << (32 - __clz(static_cast<int>(child ^ (end - 1))));  // children at most
    const std::uint32_t uneven = 2 * aligned > 3 * merged ? sort_group::uneven : 0;
    l_.t.groups[l_.s.first_group + number] = {l_.s.place[child], group(words, to) | uneven};
  }

  level_state<Limbs, Payload, FromRows, Pivots> l_;
};

}  // namespace sheaf::cuda
