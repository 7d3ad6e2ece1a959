#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort_tables.cuh"

// The levels of a sort from the highest digit down. A level splits every bucket that is still too large by its next
// byte: tiles are counted, places follow from the counts, tiles are moved. What became small enough is written to a
// list of groups, neighbours together, for sort_finish.cuh; what did not is a bucket of the next level. The device
// alone knows how many levels there are; sort_level_kernels.cuh runs them.
namespace sheaf::cuda {

/// Words of one part are split by any 8 bits, which takes no longer than a byte; others by a byte.
template <int Parts>
using level_field = std::conditional_t<Parts == 1, digit_field, byte_field>;

/// The bin of a word of a bucket: its digit. Where a key seems to be frequent, the pivot, it has a bin of its own,
/// which is in order at once, between those of the words before and behind it that share its digit; to make room for
/// the two, the highest three digits share a bin.
template <int Parts, keeps Keeps, bool Pivots>
struct level_bin {
  /// Words without values and row numbers are the pivot itself; others equal it in the key's bits.
  static constexpr bool is_range = Keeps != keeps::nothing;
  static constexpr std::uint32_t most_with_pivot = level_bins - 3;

  level_field<Parts> digit;
  std::uint32_t most_digit;  ///< what higher digits count as
  std::uint32_t step;        ///< 1, or 0 without a pivot
  sort_word<Parts> least;    ///< of the words with the pivot's key
  sort_word<Parts> most;

  __device__ __forceinline__ std::uint32_t of(const sort_word<Parts>& word) const {
    std::uint32_t bin = min(digit_of(word, digit), most_digit);
    if (!is_less(word, least)) bin += step;
    if (is_less(is_range ? most : least, word)) bin += step;
    return bin;
  }
  __device__ std::uint32_t pivot_bin() const { return step == 0 ? no_bin : digit_of(least, digit) + 1; }
};

/// Levels that look for no pivot.
template <int Parts, keeps Keeps>
struct level_bin<Parts, Keeps, false> {
  level_field<Parts> digit;
  __device__ __forceinline__ std::uint32_t of(const sort_word<Parts>& word) const { return digit_of(word, digit); }
  __device__ std::uint32_t pivot_bin() const { return no_bin; }
};

/// A level's work on one tile.
template <int Parts, keeps Keeps, bool Pivots>
struct level_view {
  std::uint32_t first;  ///< of the tile's words in its buffer
  std::uint32_t where;
  sort_word<Parts>* to;  ///< where the bucket's buffer of the next level begins
  std::uint32_t left;
  std::uint32_t row;  ///< of the bucket, or of the tile's chunk
  level_bin<Parts, Keeps, Pivots> bin;
  bool leaves_pivot_out;
};

template <int Parts, keeps Keeps, bool FromRows, bool Pivots>
class sort_level {
 public:
  static constexpr bool Ordered = keeps_order(Keeps);
  using word = sort_word<Parts>;
  using reader = word_reader<Parts, FromRows>;
  using view_type = level_view<Parts, Keeps, Pivots>;
  static constexpr int items = level_items<Parts>;
  static constexpr std::uint32_t tile_words = level_tile<Parts>;
  static constexpr int warps = level_threads / 32;

  __device__ sort_level(const level_arguments& a, level_shared& s, unsigned char* staged, std::uint32_t turn)
      : a_(a), t_(a.tables), s_(s), staged_(staged), now_(turn % 2), next_(1 - turn % 2) {}

  /// The first level has one bucket. Called by one block, as one of the turn before.
  __device__ void begin_sort() {
    if (threadIdx.x == 0) s_.first_group = add_bucket({0, a_.count, 0, 0, a_.key_high, 0});
    __syncthreads();
    fill_tables<level_threads>(s_.first_group);
    __syncthreads();
  }

  /// One thread finds out whose a coming tile is, if there is one, while the others go on; the last thread is not the
  /// one that is waited for.
  __device__ __forceinline__ void look_ahead(std::uint32_t tile, std::uint32_t tiles) {
    if (threadIdx.x != level_threads - 1 || tile >= tiles) return;
    const std::uint32_t b = t_.tile_bucket[now_][tile];
    const sort_bucket bucket = t_.buckets[now_][b];
    s_.coming = b;
    s_.coming_bucket = bucket;
    if constexpr (Pivots) find_pivot(bucket, s_.coming_pivot);
  }

  // ---- counting

  /// Counts the level's tiles. A block takes neighbours, and hands on what it counted once a bucket ends, or, where
  /// each tile's counts are wanted, after every tile.
  __device__ void count_tiles() {
    const std::uint32_t tiles = __ldcg(&t_.counters->tiles[now_]);
    if (blockIdx.x == 0 && threadIdx.x == 0) {  // nobody looks at the turn before any more
      t_.counters->buckets[next_] = t_.counters->tiles[next_] = t_.counters->rows[next_] = 0;
    }
    if (tiles == 0) return;
    const std::uint32_t share = (tiles - 1) / gridDim.x + 1;
    const std::uint32_t last = min(tiles, (blockIdx.x + 1) * share);
    std::uint32_t tile = blockIdx.x * share;
    look_ahead(tile, last);
    for (int i = threadIdx.x; i < 4 * level_bins; i += level_threads) s_.histogram[i / level_bins][i % level_bins] = 0;
    if (threadIdx.x < Parts) s_.differing[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t differing[Parts] = {};
    for (; tile < last; ++tile) {
      const std::uint32_t b = s_.coming;
      const sort_bucket bucket = s_.coming_bucket;
      const view_type view = view_of(tile, bucket);
      const word first = reader(a_, bucket.where, bucket.begin).load_key(0);
      __syncthreads();
      look_ahead(tile + 1, last);
      if (view.left == tile_words) {
        count_words<true>(view, first, differing);
      } else {
        count_words<false>(view, first, differing);
      }
      __syncthreads();
      if (Ordered || tile + 1 == last || s_.coming != b) hand_on(tile, b, view.row, differing);
    }
    __syncthreads();
  }

  // ---- where runs begin, and what comes next

  __device__ void begin_buckets() {
    const std::uint32_t buckets = __ldcg(&t_.counters->buckets[now_]);
    for (std::uint32_t b = blockIdx.x; b < buckets; b += gridDim.x) begin_bucket(b);
  }

  __device__ bool is_over() const { return __ldcg(&t_.counters->buckets[now_]) == 0; }

  // ---- places of tiles

  __device__ void begin_chunks() {
    const std::uint32_t rows = __ldcg(&t_.counters->rows[now_]);
    for (std::uint32_t row = blockIdx.x; row < rows; row += gridDim.x) begin_chunk(row);
  }

  // ---- moving

  __device__ void move_tiles() {
    const std::uint32_t tiles = __ldcg(&t_.counters->tiles[now_]);
    look_ahead(blockIdx.x, tiles);
    __syncthreads();
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) move_tile(tile, tiles);
  }

 private:
  __device__ void begin_bucket(std::uint32_t b) {
    const sort_bucket bucket = t_.buckets[now_][b];
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t* const rows = t_.rows[now_] + std::uint64_t{bucket.first_row} * level_bins;
    const std::uint32_t row_count = rows_of(bucket.count);
    std::uint32_t count[1] = {};
    std::uint32_t begin[1] = {};
    if (bin < level_bins) {
#pragma unroll 32
      for (std::uint32_t r = 0; r < row_count; ++r) count[0] += __ldcg(rows + r * level_bins + bin);
    }
    if constexpr (Pivots) {
      if (threadIdx.x == level_threads - 1) find_pivot(bucket, s_.coming_pivot);
    }
    // Rows move in any case, as they are words afterwards.
    if (__syncthreads_or(!FromRows && bin < level_bins && count[0] == bucket.count)) return keep_bucket(b, bucket);
    begin[0] = count[0];
    scan_bins<level_bins, level_threads>(begin, s_.warp_sums);
    begin[0] += bucket.begin;
    if (bin < level_bins) {
      constexpr std::uint32_t at_once = Ordered ? 32 : 1;
      std::uint32_t sum = begin[0];
      for (std::uint32_t first = 0; first < row_count; first += at_once) {
        std::uint32_t here[at_once];
#pragma unroll
        for (std::uint32_t r = 0; r < at_once; ++r) {
          here[r] = first + r < row_count ? __ldcg(rows + (first + r) * level_bins + bin) : 0;
        }
#pragma unroll
        for (std::uint32_t r = 0; r < at_once; ++r) {
          if (first + r < row_count) rows[(first + r) * level_bins + bin] = sum;
          sum += here[r];
        }
      }
    }
    const std::uint32_t to = next_buffer(bucket.where);
    if (low_of(bucket.bits) <= a_.key_low) return add_pieces(bucket.begin, bucket.count, to);
    const std::uint32_t pivot_bin = bin_below(bucket.bits).pivot_bin();
    if (bin < level_bins) {
      s_.place[bin] = begin[0];
      s_.histogram[0][bin] = count[0];
      s_.child_bucket[bin] = 0;
      if (count[0] > group_words && bin != pivot_bin) {
        const bool has_many_digits = pivot_bin != no_bin && bin == level_bins - 1;
        const std::uint32_t bits = has_many_digits ? bucket.bits : low_of(bucket.bits);
        s_.child_bucket[bin] = 1 + add_bucket({begin[0], count[0], 0, 0, bits, to});
      }
    }
    __syncthreads();
    add_groups(bucket, to);
    for (std::uint32_t child = threadIdx.x / 32; child < level_bins; child += level_threads / 32) {
      if (s_.child_bucket[child] != 0) fill_tables<32>(s_.child_bucket[child] - 1);
    }
    __syncthreads();
    if (pivot_bin < level_bins && s_.histogram[0][pivot_bin] > group_words) {
      if constexpr (Keeps == keeps::nothing) {
        if (threadIdx.x == 0) t_.buckets[now_][b].where |= leaves_out;
        add_one_word(s_.place[pivot_bin], s_.histogram[0][pivot_bin], to);
      } else {
        add_pieces(s_.place[pivot_bin], s_.histogram[0][pivot_bin], to);
      }
    }
  }

  __device__ void begin_chunk(std::uint32_t row) {
    static_assert(level_threads == 2 * level_bins);
    constexpr std::uint32_t most = chunk_tiles / 2;
    const sort_bucket bucket = t_.buckets[now_][t_.row_bucket[now_][row]];
    if ((bucket.where & stays) != 0) return;
    const std::uint32_t part = threadIdx.x / level_bins;
    const std::uint32_t bin = threadIdx.x % level_bins;
    const std::uint32_t tiles = tiles_of(bucket.count);
    const std::uint32_t skipped = (row - bucket.first_row) * chunk_tiles + part * most;
    std::uint32_t* const column = t_.tile_rows + (std::uint64_t{bucket.first_tile} + skipped) * level_bins + bin;
    std::uint32_t counts[most];
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t r = 0; r < most; ++r) {
      counts[r] = skipped + r < tiles ? __ldcg(column + r * level_bins) : 0;
      sum += counts[r];
    }
    if (part == 0) s_.place[bin] = sum;
    __syncthreads();
    sum = __ldcg(t_.rows[now_] + std::uint64_t{row} * level_bins + bin) + (part == 0 ? 0 : s_.place[bin]);
#pragma unroll
    for (std::uint32_t r = 0; r < most; ++r) {
      if (skipped + r < tiles) column[r * level_bins] = sum;
      sum += counts[r];
    }
    __syncthreads();
  }

  __device__ void move_tile(std::uint32_t tile, std::uint32_t tiles) {
    const sort_bucket bucket = s_.coming_bucket;
    const view_type view = view_of(tile, bucket);
    __syncthreads();
    look_ahead(tile + gridDim.x, tiles);
    if ((bucket.where & stays) != 0) return __syncthreads();
    if (view.left == tile_words) {
      move<true>(tile, view);
    } else {
      move<false>(tile, view);
    }
  }

  static __device__ std::uint32_t tiles_of(std::uint32_t count) { return (count - 1) / tile_words + 1; }
  static __device__ std::uint32_t rows_of(std::uint32_t count) {
    return Ordered ? (tiles_of(count) - 1) / chunk_tiles + 1 : 1;
  }

  /// The lowest bit of a level's digit of a bucket.
  __device__ std::uint32_t low_of(std::uint32_t bits) const { return max(bits, a_.key_low + level_bits) - level_bits; }

  __device__ level_field<Parts> digit_below(std::uint32_t bits) const {
    if constexpr (Parts == 1) {
      return digit_at(low_of(bits), bits - low_of(bits));
    } else {
      return byte_at(low_of(bits) / level_bits);
    }
  }

  __device__ view_type view_of(std::uint32_t tile, const sort_bucket& bucket) const {
    const std::uint32_t of_bucket = tile - bucket.first_tile;
    const std::uint32_t skipped = of_bucket * tile_words;
    const std::uint32_t where = bucket.where & where_mask;
    return {bucket.begin + skipped,
            where,
            static_cast<word*>(const_cast<void*>(a_.buffers[next_buffer(where)])),
            min(bucket.count - skipped, tile_words),
            bucket.first_row + (Ordered ? of_bucket / chunk_tiles : 0),
            bin_below(bucket.bits),
            (bucket.where & leaves_out) != 0};
  }

  /// Of a few words of the bucket, one whose key another one has too; what was read does not change before the level
  /// ends, so that all blocks agree.
  __device__ void find_pivot(const sort_bucket& bucket, pivot_word& pivot) const {
    pivot.found = false;
    if (low_of(bucket.bits) <= a_.key_low || a_.key_high < 32 * Parts) return;
    constexpr int looked_at = 5;
    const reader from(a_, bucket.where & where_mask, bucket.begin);
    const key_mask<Parts> key(a_.key_low);
    word words[looked_at];
#pragma unroll
    for (int i = 0; i < looked_at; ++i) {
      words[i] = from.load_key(static_cast<std::uint32_t>(std::uint64_t{bucket.count - 1} * i / (looked_at - 1)));
    }
#pragma unroll
    for (int i = 1; i < looked_at; ++i) {
#pragma unroll
      for (int j = 0; j < i; ++j) {
        if (pivot.found || compare_words(words[i], words[j], key) != word_order::equal) continue;
        pivot.found = true;
#pragma unroll
        for (int p = 0; p < Parts; ++p) pivot.part[p] = words[i].part[p];
      }
    }
  }

  __device__ level_bin<Parts, Keeps, Pivots> bin_below(std::uint32_t bits) const {
    level_bin<Parts, Keeps, Pivots> bin;
    bin.digit = digit_below(bits);
    if constexpr (Pivots) {
      const key_mask<Parts> key(a_.key_low);
#pragma unroll
      for (int i = 0; i < Parts; ++i) {
        bin.least.part[i] = s_.coming_pivot.part[i] & key.part[i];
        bin.most.part[i] = s_.coming_pivot.part[i] | ~key.part[i];
      }
      const bool has_pivot = s_.coming_pivot.found && digit_of(bin.least, bin.digit) <= bin.most_with_pivot;
      bin.most_digit = has_pivot ? bin.most_with_pivot : level_bins - 1;
      bin.step = has_pivot ? 1 : 0;
    }
    return bin;
  }

  // All words have one digit: the level skips to the highest bit in which two differ, if there is one.
  __device__ void keep_bucket(std::uint32_t b, const sort_bucket& bucket) {
    const std::uint32_t* const known = t_.differing[now_] + b * Parts;
    const key_mask<Parts> key(a_.key_low, a_.key_high);
    std::uint32_t differing[Parts];
#pragma unroll
    for (int i = 0; i < Parts; ++i) differing[i] = __ldcg(known + i) & key.part[i];
    std::uint32_t bits = bit_length<Parts>(differing);
    if constexpr (Parts > 1) bits = (bits + level_bits - 1) / level_bits * level_bits;
    if (threadIdx.x == 0) t_.buckets[now_][b].where |= stays;
    if (bits <= a_.key_low) return add_pieces(bucket.begin, bucket.count, bucket.where);
    if (threadIdx.x == 0) s_.first_group = add_bucket({bucket.begin, bucket.count, 0, 0, bits, bucket.where});
    __syncthreads();
    fill_tables<level_threads>(s_.first_group);
    __syncthreads();
  }

  __device__ std::uint32_t add_bucket(sort_bucket bucket) {
    const std::uint32_t b = atomicAdd(&t_.counters->buckets[next_], 1U);
    bucket.first_tile = atomicAdd(&t_.counters->tiles[next_], tiles_of(bucket.count));
    bucket.first_row = Ordered ? atomicAdd(&t_.counters->rows[next_], rows_of(bucket.count)) : b;
    t_.buckets[next_][b] = bucket;
    return b;
  }

  // Says whose the tiles and rows of a new bucket are, and clears its counts: the work of as many neighbouring threads.
  template <std::uint32_t Threads>
  __device__ void fill_tables(std::uint32_t b) {
    const sort_bucket bucket = t_.buckets[next_][b];
    const std::uint32_t tiles = tiles_of(bucket.count);
    const std::uint32_t rows = rows_of(bucket.count);
    const std::uint32_t first = threadIdx.x % Threads;
    for (std::uint32_t i = first; i < tiles; i += Threads) t_.tile_bucket[next_][bucket.first_tile + i] = b;
    if constexpr (Ordered) {
      for (std::uint32_t i = first; i < rows; i += Threads) t_.row_bucket[next_][bucket.first_row + i] = b;
    }
    std::uint32_t* const counts = t_.rows[next_] + std::uint64_t{bucket.first_row} * level_bins;
    for (std::uint32_t i = first; i < rows * level_bins; i += Threads) counts[i] = 0;
    if (first < Parts) t_.differing[next_][b * Parts + first] = 0;
  }

  // Words in their final order: groups that are only copied, if that.
  __device__ void add_pieces(std::uint32_t begin, std::uint32_t count, std::uint32_t where) {
    if (a_.buffers[where] == a_.finished) return;
    const std::uint32_t pieces = (count - 1) / group_words + 1;
    if (threadIdx.x == 0) s_.first_group = atomicAdd(&t_.counters->groups, pieces);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < pieces; i += level_threads) {
      const std::uint32_t skipped = i * group_words;
      t_.groups[s_.first_group + i] = {begin + skipped, group(min(count - skipped, group_words), where)};
    }
    __syncthreads();
  }

  // Words that are all the same, more than a group of them: each piece has one multiple of group_words.
  __device__ void add_one_word(std::uint32_t begin, std::uint32_t count, std::uint32_t where) {
    const std::uint32_t first = begin / group_words + (begin % group_words != 0 ? 1 : 0);
    const std::uint32_t pieces = (begin + (count - 1)) / group_words - first + 1;
    if (threadIdx.x == 0) s_.first_group = atomicAdd(&t_.counters->groups, pieces);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < pieces; i += level_threads) {
      const std::uint32_t from = i == 0 ? begin : (first + i) * group_words;
      const std::uint32_t to = i + 1 == pieces ? begin + count : (first + i + 1) * group_words;
      t_.groups[s_.first_group + i] = {from, group(to - from, where) | sort_group::one_word};
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
    const auto begin_of = [&](std::uint32_t c) { return c < level_bins ? s_.place[c] : past; };
    std::uint32_t end = level_bins;  // the child after the group
    std::uint32_t words = 0;
    if (child < level_bins) {
      // As many as fit have at most group_words from here on; a child that is too large is a group of its own, which is
      // left out.
      std::uint32_t low = child + 1;
      std::uint32_t high = level_bins;
      while (low < high) {
        const std::uint32_t middle = (low + high + 1) / 2;
        if (begin_of(middle) - s_.place[child] <= group_words) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      end = low;
      words = s_.histogram[0][child] > group_words ? 0 : begin_of(end) - s_.place[child];
      s_.jump[child] = end;
      s_.is_reached[child] = child == 0;
    }
    if (child == 0) s_.group_total = 0;
    __syncthreads();
    for (int step = 1; step < level_bins; step *= 2) {
      std::uint32_t to_child = level_bins;
      std::uint32_t farther = level_bins;
      if (child < level_bins) {
        to_child = s_.jump[child];
        if (to_child < level_bins) farther = s_.jump[to_child];
        if (s_.is_reached[child] == 0) to_child = level_bins;
      }
      __syncthreads();
      if (child < level_bins) {
        if (to_child < level_bins) s_.is_reached[to_child] = 1;
        s_.jump[child] = farther;
      }
      __syncthreads();
    }
    const bool is_group = child < level_bins && s_.is_reached[child] != 0 && words > 0;
    std::uint32_t number = 0;
    if (is_group) number = atomicAdd(&s_.group_total, 1U);
    __syncthreads();
    if (child == 0 && s_.group_total > 0) s_.first_group = atomicAdd(&t_.counters->groups, s_.group_total);
    __syncthreads();
    if (is_group) t_.groups[s_.first_group + number] = {s_.place[child], group(words, to)};
  }

  // Adds what was counted to the bucket's row, and clears it.
  __device__ void hand_on(std::uint32_t tile, std::uint32_t b, std::uint32_t row, std::uint32_t (&differing)[Parts]) {
#pragma unroll
    for (int i = 0; i < Parts; ++i) {
      const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&s_.differing[i], bits);
      differing[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x < level_bins) {
      const std::uint32_t bin = threadIdx.x;
      std::uint32_t sum = 0;
#pragma unroll
      for (int copy = 0; copy < 4; ++copy) {
        sum += s_.histogram[copy][bin];
        s_.histogram[copy][bin] = 0;
      }
      if constexpr (Ordered) t_.tile_rows[std::uint64_t{tile} * level_bins + bin] = sum;
      if (sum > 0) atomicAdd(t_.rows[now_] + std::uint64_t{row} * level_bins + bin, sum);
    } else if (threadIdx.x - level_bins < Parts) {
      const std::uint32_t i = threadIdx.x - level_bins;
      std::uint32_t* const known = t_.differing[now_] + b * Parts + i;
      if ((s_.differing[i] & ~__ldcg(known)) != 0) atomicOr(known, s_.differing[i]);
      s_.differing[i] = 0;
    }
    __syncthreads();
  }

  template <bool Full>
  __device__ __forceinline__ void count_words(const view_type& view, const word& first,
                                              std::uint32_t (&differing)[Parts]) {
    const reader from(a_, view.where, view.first);
    std::uint32_t* const mine = s_.histogram[threadIdx.x % 4];
    constexpr int at_once = Parts > 2 ? items / 2 : 8;
#pragma unroll 1
    for (int round = 0; round < items; round += at_once) {
      const std::uint32_t begin = round * level_threads + threadIdx.x;
      word words[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t place = begin + k * level_threads;
        words[k] = from.load_key(Full ? place : min(place, view.left - 1));
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
#pragma unroll
        for (int i = 0; i < Parts; ++i) differing[i] |= words[k].part[i] ^ first.part[i];
      }
      const auto bin = [&](int k) {
        return Full || begin + k * level_threads < view.left ? view.bin.of(words[k]) : no_bin;
      };
      if (is_one_bin<at_once>(bin)) {
        if (threadIdx.x % 32 == 0 && (Full || bin(0) < level_bins)) atomicAdd(&mine[bin(0)], 32U * at_once);
        continue;
      }
      if (is_crowded(bin)) {
#pragma unroll
        for (int k = 0; k < at_once; ++k) add_with_middle_lane<level_bins, Full>(bin(k), mine);
        continue;
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || bin(k) < level_bins) atomicAdd(&mine[bin(k)], 1U);
      }
    }
  }

  template <bool Full>
  __device__ __forceinline__ void move(std::uint32_t tile, const view_type& view) {
    word* const staged = reinterpret_cast<word*>(staged_);
    warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(staged_);
    std::uint32_t* const histogram = s_.histogram[0];
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const int room = static_cast<int>(view.left) - static_cast<int>(first);
    const reader from(a_, view.where, view.first);
    word words[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (Full || k * 32 < room) {
        words[k] = from.load(first + k * 32);
      } else {
#pragma unroll
        for (int i = 0; i < Parts; ++i) words[k].part[i] = ~0U;
      }
    }
    if constexpr (Ordered) {
      for (int i = threadIdx.x; i < warps * level_bins; i += level_threads) warp_bins[i] = {0, 0};
    } else {
      if (threadIdx.x < level_bins) histogram[threadIdx.x] = 0;
    }
    __syncthreads();
    const auto bin = [&](int k) { return Full || k * 32 < room ? view.bin.of(words[k]) : no_bin; };
    packed_numbers<items> rank;
    warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * level_bins;
    if constexpr (Ordered) {
      rank_in_warp<items, level_bins, Full>(bin, own_bins, rank);
    } else {
      rank_unordered<items, level_bins, Full>(bin, histogram, rank);
    }
    __syncthreads();
    place_bins(tile, view, warp_bins);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t b = bin(k);
      if (Full || b < level_bins) rank.add(k, Ordered ? own_bins[b].lanes : histogram[b]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (Full || k * 32 < room) staged[rank.get(k)] = words[k];
    }
    __syncthreads();
    packed_bytes<items> bins;  // of the places that the thread writes, for the values
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * level_threads + threadIdx.x;
      if (!Full && s >= view.left) continue;
      const word w = staged[s];
      const std::uint32_t b = view.bin.of(w);
      const std::uint32_t to = s_.place[b] + s;
      if (!is_left_out(view, b, to)) view.to[to] = w;
      if constexpr (value_bytes_of(Keeps) > 0) bins.set(k, b);
    }
    __syncthreads();
    if constexpr (value_bytes_of(Keeps) > 0) move_values<Full>(view, room, rank, bins);
  }

  // Words that are all the same are written by the kernel that finishes groups, if they are many.
  __device__ __forceinline__ bool is_left_out(const view_type& view, std::uint32_t bin, std::uint32_t to) const {
    if constexpr (!Pivots || Keeps != keeps::nothing) return false;
    return view.leaves_pivot_out && bin == view.bin.pivot_bin() && to % group_words != 0;
  }

  // Values take the places of their words, in halves that registers hold.
  template <bool Full>
  __device__ __forceinline__ void move_values(const view_type& view, int room, const packed_numbers<items>& rank,
                                              const packed_bytes<items>& bins) {
    using value = sort_value<Keeps>;
    constexpr int at_once = items / 2;
    value* const staged = reinterpret_cast<value*>(staged_);
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const value* const from = static_cast<const value*>(a_.values[view.where]);
#pragma unroll
    for (int half = 0; half < items; half += at_once) {
      value values[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || (half + k) * 32 < room) values[k] = value_at(from, view.first + first + (half + k) * 32);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || (half + k) * 32 < room) staged[rank.get(half + k)] = values[k];
      }
    }
    __syncthreads();
    value* const values_to = static_cast<value*>(const_cast<void*>(a_.values[next_buffer(view.where)]));
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * level_threads + threadIdx.x;
      if (Full || s < view.left) values_to[s_.place[bins.get(k)] + s] = staged[s];
    }
    __syncthreads();
  }

  // Where each bin's run begins in the tile and, less that, in the output.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, const view_type& view, warp_bin* warp_bins) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t count[1] = {};
    std::uint32_t start[1] = {};
    std::uint32_t run = 0;
    if (bin < level_bins) {
      if constexpr (Ordered) {
        run = __ldcg(t_.tile_rows + std::uint64_t{tile} * level_bins + bin);
#pragma unroll
        for (int w = 0; w < warps; ++w) {
          warp_bin& of = warp_bins[w * level_bins + bin];
          of.lanes = count[0];
          count[0] += of.count;
        }
      } else {
        count[0] = s_.histogram[0][bin];
        if (count[0] > 0) run = atomicAdd(t_.rows[now_] + std::uint64_t{view.row} * level_bins + bin, count[0]);
      }
      start[0] = count[0];
    }
    scan_bins<level_bins, level_threads>(start, s_.warp_sums);
    if (bin >= level_bins) return;
    s_.place[bin] = run - start[0];
    if constexpr (Ordered) {
#pragma unroll
      for (int w = 0; w < warps; ++w) warp_bins[w * level_bins + bin].lanes += start[0];
    } else {
      s_.histogram[0][bin] = start[0];
    }
  }

  const level_arguments& a_;
  const sort_tables& t_;
  level_shared& s_;
  unsigned char* staged_;
  std::uint32_t now_;
  std::uint32_t next_;
};

}  // namespace sheaf::cuda
