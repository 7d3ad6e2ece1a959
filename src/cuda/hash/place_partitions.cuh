#pragma once

#include "cuda/hash/partition_keys.cuh"
#include "cuda/hash/place_keys.cuh"

// The table and rows of a small build, made from partitions of its records by one kernel. A block sorts a partition in
// shared memory, learns by decoupled look-back (Merrill and Garland 2016) what the partitions before come to, and
// writes its stretch of the table.
namespace sheaf::cuda {

/// Most records of a bin, each of which is compared with all others there. More have keys that many records share, or
/// hashes that somebody has chosen.
constexpr unsigned most_bin_records = 128;

template <class Types>
struct partition_arguments {
  partitioning cut;
  partition_arrays<typename Types::key> arrays;  ///< states and outcomes of this round first
  typename Types::bucket_number buckets;
  typename Types::slot* slots;
  std::uint64_t slot_count;
  typename Types::row* rows;  ///< null: there is no room for keys that repeat
};

using record_scan = cub::BlockScan<std::uint32_t, partition_threads, cub::BLOCK_SCAN_WARP_SCANS>;
using partition_scan = cub::BlockScan<build_state, partition_threads, cub::BLOCK_SCAN_WARP_SCANS>;

/// Shared memory of place_partitions beside its records.
struct partition_memory {
  union {
    typename record_scan::TempStorage records;
    typename partition_scan::TempStorage states;
  } scan;
  std::uint32_t bins[partition_bins + 1];            ///< where they begin
  std::uint32_t piece_from[most_partition_tiles];    ///< in all records
  std::uint32_t piece_to[most_partition_tiles + 1];  ///< in the partition
  std::uint32_t partition;
  std::uint32_t faults;
  std::uint32_t after_inclusive;
  unsigned long long longest_chain;
};

// ---- What other blocks read of a partition

constexpr unsigned flag_shift = 62;
constexpr unsigned long long aggregate_flag = 1;
constexpr unsigned long long inclusive_flag = 2;
constexpr unsigned row_words_bits = 31;

/// By one thread. Keys and words of rows have less than 31 bits each.
__device__ __forceinline__ void publish(published_state* to, const build_state& state, unsigned long long flag) {
  constexpr unsigned long long below_flag = (1ULL << flag_shift) - 1;
  volatile published_state* const published = to;
  published->sums = flag << flag_shift | state.keys << row_words_bits | state.row_words;
  published->reach = flag << flag_shift | (static_cast<unsigned long long>(state.reach) & below_flag);
}

/// Waits until a state is published. Both words must have the same flag: an aggregate may be replaced in between.
__device__ __forceinline__ build_state wait_for_state(const published_state* from, bool& is_inclusive) {
  constexpr unsigned long long row_words_mask = (1ULL << row_words_bits) - 1;
  const volatile published_state* const published = from;
  unsigned long long sums;
  unsigned long long reach;
  do {
    sums = published->sums;
    reach = published->reach;
  } while (sums >> flag_shift == 0 || sums >> flag_shift != reach >> flag_shift);
  is_inclusive = sums >> flag_shift == inclusive_flag;
  build_state state = build_state::nothing();
  state.row_words = sums & row_words_mask;
  state.keys = sums >> row_words_bits & row_words_mask;
  constexpr unsigned flag_bits = 64 - flag_shift;
  if (state.keys != 0) state.reach = static_cast<long long>(reach << flag_bits) >> flag_bits;
  return state;
}

/// What all partitions before `partition` come to. All threads of the block call it. They look at as many partitions at
/// once, so that a table of few partitions takes one round.
__device__ __forceinline__ build_state state_before(const published_state* states, std::uint32_t partition,
                                                    partition_memory& shared) {
  build_state before = build_state::nothing();
  for (std::uint32_t end = partition; end > 0;) {
    const std::uint32_t first = end > partition_threads ? end - partition_threads : 0;
    const std::uint32_t looked_at = first + threadIdx.x;
    build_state own = build_state::nothing();
    bool is_inclusive = false;
    if (looked_at < end) own = wait_for_state(states + looked_at, is_inclusive);
    if (threadIdx.x == 0) shared.after_inclusive = 0;
    __syncthreads();
    if (is_inclusive) atomicMax(&shared.after_inclusive, looked_at + 1);
    __syncthreads();
    const std::uint32_t after_inclusive = shared.after_inclusive;
    if (looked_at + 1 < after_inclusive) own = build_state::nothing();
    build_state all;
    partition_scan(shared.scan.states).ExclusiveScan(own, own, build_state::nothing(), follow(), all);
    before = follow()(all, before);
    if (after_inclusive > 0) break;
    end = first;
    __syncthreads();
  }
  return before;
}

// ---- One partition in shared memory

/// Reads where the pieces of the partition lie; returns its size. All threads of the block call the functions below.
template <class Types>
__device__ __forceinline__ std::uint32_t find_pieces(const partition_arguments<Types>& args, std::uint32_t partition,
                                                     partition_memory& shared) {
  const partitioning& cut = args.cut;
  const std::uint32_t partitions = cut.partitions();
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
  if (threadIdx.x < cut.tiles) {
    const std::uint16_t* const begins = args.arrays.begins + std::uint64_t{threadIdx.x} * partitions + partition;
    begin = begins[0];
    length = (partition + 1 < partitions ? begins[1] : cut.tile_size(threadIdx.x)) - begin;
  }
  std::uint32_t before;
  std::uint32_t all;
  record_scan(shared.scan.records).ExclusiveSum(length, before, all);
  shared.piece_from[threadIdx.x] = threadIdx.x * cut.tile + begin;
  shared.piece_to[threadIdx.x] = before;
  if (threadIdx.x == 0) shared.piece_to[most_partition_tiles] = all;
  return all;
}

/// Where record i of the partition lies among all records: in the last piece that begins at or before it.
__device__ __forceinline__ std::uint32_t place_of_record(const partition_memory& shared, std::uint32_t i) {
  std::uint32_t piece = 0;
#pragma unroll
  for (std::uint32_t step = most_partition_tiles / 2; step > 0; step /= 2) {
    if (shared.piece_to[piece + step] <= i) piece += step;
  }
  return shared.piece_from[piece] + (i - shared.piece_to[piece]);
}

template <class Key>
__device__ __forceinline__ bool comes_before(const hashed_record<Key>& a, const hashed_record<Key>& b) {
  return a.hash < b.hash || (a.hash == b.hash && a.id < b.id);
}

/// Gathers the records of the partition and sorts them by hash and number: a counting sort by bins, whose atomics leave
/// the records of a bin in any order, and then a rank of each among those of its bin. Returns false, with nothing of
/// use in `records`, if a bin has too many. bins[] are 0 before.
template <class Key>
__device__ __forceinline__ bool sort_partition(const partitioning& cut, const hashed_record<Key>* all_records,
                                               std::uint32_t count, partition_memory& shared,
                                               hashed_record<Key>* records) {
  hashed_record<Key> own[partition_items_each];
  std::uint32_t place[partition_items_each];
  const auto each_of = [count](auto body) {
#pragma unroll
    for (unsigned k = 0; k < partition_items_each; ++k) {
      const std::uint32_t i = k * partition_threads + threadIdx.x;
      if (i < count) body(k, i);
    }
  };
  const auto bin_of = [&cut](Key hash) { return cut.bin_of(hash) % partition_bins; };
  each_of([&](unsigned k, std::uint32_t i) { own[k] = all_records[place_of_record(shared, i)]; });
  each_of([&](unsigned k, std::uint32_t) { place[k] = atomicAdd(shared.bins + bin_of(own[k].hash), 1U); });
  __syncthreads();
  constexpr unsigned bins_each = partition_bins / partition_threads;
  std::uint32_t bins[bins_each];
  bool has_too_many = false;
#pragma unroll
  for (unsigned k = 0; k < bins_each; ++k) {
    bins[k] = shared.bins[threadIdx.x * bins_each + k];
    has_too_many |= bins[k] > most_bin_records;
  }
  record_scan(shared.scan.records).ExclusiveSum(bins, bins);
#pragma unroll
  for (unsigned k = 0; k < bins_each; ++k) shared.bins[threadIdx.x * bins_each + k] = bins[k];
  if (threadIdx.x == 0) shared.bins[partition_bins] = count;
  if (__syncthreads_or(has_too_many) != 0) return false;
  each_of([&](unsigned k, std::uint32_t) { records[shared.bins[bin_of(own[k].hash)] + place[k]] = own[k]; });
  __syncthreads();
  each_of([&](unsigned k, std::uint32_t i) {
    own[k] = records[i];
    const std::uint32_t bin = bin_of(own[k].hash);
    const std::uint32_t end = shared.bins[bin + 1];
    std::uint32_t rank = shared.bins[bin];
    for (std::uint32_t j = rank; j < end; ++j) rank += comes_before(records[j], own[k]) ? 1 : 0;
    place[k] = rank;
  });
  __syncthreads();
  each_of([&](unsigned k, std::uint32_t) { records[place[k]] = own[k]; });
  __syncthreads();
  return true;
}

/// One thread of place_partitions: some neighbours of the sorted partition, and where they go.
template <class Types>
struct partition_items {
  using key = typename Types::key;
  using word = typename Types::word;
  using slot = typename Types::slot;
  using row = typename Types::row;

  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};  ///< tables of few records have fewer slots
  static constexpr unsigned window =
      most_partition_records * sizeof(hashed_record<key>) / sizeof(slot);  ///< slots that a block writes at once

  const partition_arguments<Types>& args;
  hashed_record<key> record[partition_items_each];
  std::uint32_t place[partition_items_each];  ///< slots of keys that begin here, else nowhere
  word value[partition_items_each];
  std::uint32_t heads = 0;  ///< bit k: record k is the first of its key
  std::uint32_t tails = 0;  ///< bit k: record k is the last
  std::uint32_t first;
  std::uint32_t count;

  __device__ __forceinline__ partition_items(const partition_arguments<Types>& arguments, std::uint32_t all,
                                             const hashed_record<key>* records)
      : args(arguments) {
    const std::uint32_t each = (all + partition_threads - 1) / partition_threads;
    first = threadIdx.x * each;
    count = first < all ? min(each, all - first) : 0;
    key before = count > 0 && first > 0 ? records[first - 1].hash : key{0};
#pragma unroll
    for (unsigned k = 0; k < partition_items_each; ++k) {
      if (k >= count) break;
      const std::uint32_t i = first + k;
      record[k] = records[i];
      if (i == 0 || before != record[k].hash) heads |= 1U << k;
      if (i + 1 == all || records[i + 1].hash != record[k].hash) tails |= 1U << k;
      before = record[k].hash;
    }
  }

  __device__ __forceinline__ build_state state() const {
    build_state state = build_state::nothing();
#pragma unroll
    for (unsigned k = 0; k < partition_items_each; ++k) {
      if (k < count) state = follow()(state, state_of(k));
    }
    return state;
  }

  /// Finds slots and values; `state` is what comes before the first item. Returns the longest chain that ends here.
  __device__ __forceinline__ unsigned long long find_places(build_state state) {
    unsigned long long longest = 0;
#pragma unroll
    for (unsigned k = 0; k < partition_items_each; ++k) {
      place[k] = nowhere;
      if (k >= count) continue;
      const std::uint64_t words_before = state.row_words;
      state = follow()(state, state_of(k));
      if (at(k).is_head) place[k] = static_cast<std::uint32_t>(state.end_of_slots() - 1);
      value[k] = at(k).is_tail ? Types::single(record[k].id) : Types::repeated(words_before, record[k].id);
      if (at(k).is_tail) longest = max(longest, first + k + 2 - state.last_head);
    }
    return longest;
  }

  /// Writes the slots from `begin` to before `end`, window by window, through shared memory that all threads are done
  /// with. All threads of the block call it.
  __device__ __forceinline__ void write_slots(std::uint64_t begin, std::uint64_t end, slot* slots) const {
    for (; begin < end; begin += window) {
      const auto size = static_cast<std::uint32_t>(min(std::uint64_t{window}, end - begin));
      for (std::uint32_t s = threadIdx.x; s < size; s += partition_threads) slots[s] = {slot::empty, slot::empty};
      __syncthreads();
#pragma unroll
      for (unsigned k = 0; k < partition_items_each; ++k) {
        const std::uint32_t to = place[k] - static_cast<std::uint32_t>(begin);
        if (k < count && to < size) slots[to] = {static_cast<word>(record[k].hash), value[k]};
      }
      __syncthreads();
      for (std::uint32_t s = threadIdx.x; s < size; s += partition_threads) args.slots[begin + s] = slots[s];
      __syncthreads();
    }
  }

  /// Writes `size` words of rows from args.rows[begin] on, likewise; `state` is what comes before the first item. A
  /// partition has at most 1.5 words for each record.
  __device__ __forceinline__ void write_rows(build_state state, std::uint64_t begin, std::uint32_t size,
                                             row* words) const {
#pragma unroll
    for (unsigned k = 0; k < partition_items_each; ++k) {
      if (k >= count) break;
      const auto word = static_cast<std::uint32_t>(state.row_words - begin);
      state = follow()(state, state_of(k));
      if (at(k).is_head && at(k).is_tail) continue;
      words[word + (at(k).is_head ? 1 : 0)] = record[k].id;
      if (!at(k).is_tail) continue;
      const std::uint64_t length = first + k + 2 - state.last_head;
      words[state.row_words - begin - length - 1] = static_cast<row>(length);
    }
    __syncthreads();
    for (std::uint32_t w = threadIdx.x; w < size; w += partition_threads) args.rows[begin + w] = words[w];
  }

 private:
  __device__ __forceinline__ neighbours at(unsigned k) const {
    return {(heads >> k & 1U) != 0, (tails >> k & 1U) != 0};
  }
  /// last_head counts in the partition.
  __device__ __forceinline__ build_state state_of(unsigned k) const {
    return state_of_item<Types>(at(k), first + k, record[k].hash, args.buckets);
  }
};

/// Makes the stretch of the table that a partition ends, and its rows. Where a partition does not fit or rows have no
/// memory, the outcome says so, and what is written is of no use.
template <class Types>
__global__ void __launch_bounds__(partition_threads, 2)
    place_partitions(const __grid_constant__ partition_arguments<Types> args) {
  wait_for_kernel_before();
  using record = hashed_record<typename Types::key>;
  static_assert(most_partition_records / 2 * 3 * sizeof(typename Types::row) <=
                most_partition_records * sizeof(record));
  extern __shared__ __align__(16) unsigned char place_partitions_memory[];
  auto* const records = reinterpret_cast<record*>(place_partitions_memory);
  __shared__ partition_memory shared;
  partition_outcome* const outcome = args.arrays.outcomes;

  const bool is_crowded = threadIdx.x < args.cut.tiles && args.arrays.crowded[threadIdx.x] != 0;
  if (__syncthreads_or(is_crowded) != 0) {  // in all blocks alike
    if (blockIdx.x == 0 && threadIdx.x == 0) outcome->faults = does_not_fit;
    return;
  }
  // Partitions are drawn, so that those before are being sorted or done, and look-back ends.
  if (threadIdx.x == 0) {
    shared.partition = atomicAdd(&outcome->drawn, 1U);
    shared.faults = *static_cast<volatile unsigned int*>(&outcome->faults);
    shared.longest_chain = 0;
  }
  for (unsigned b = threadIdx.x; b < partition_bins; b += partition_threads) shared.bins[b] = 0;
  __syncthreads();
  const std::uint32_t partition = shared.partition;
  std::uint32_t count = find_pieces(args, partition, shared);
  __syncthreads();
  bool fits = count <= most_partition_records && (shared.faults & does_not_fit) == 0;
  if (fits) fits = sort_partition(args.cut, args.arrays.records, count, shared, records);
  if (!fits) count = 0;

  partition_items<Types> items(args, count, records);
  build_state own;
  build_state all;
  partition_scan(shared.scan.states).ExclusiveScan(items.state(), own, build_state::nothing(), follow(), all);
  published_state* const states = args.arrays.states;
  if (threadIdx.x == 0) {
    const unsigned faults = (fits ? 0 : does_not_fit) | (args.rows == nullptr && all.row_words > 0 ? lacks_rows : 0);
    if (faults != 0) atomicOr(&outcome->faults, faults);
    __threadfence();  // who sees the state sees the faults
    if (partition > 0) publish(states + partition, all, aggregate_flag);
  }
  __syncthreads();
  const build_state before = state_before(states, partition, shared);
  const build_state up_to_here = follow()(before, all);
  if (threadIdx.x == 0) {
    publish(states + partition, up_to_here, inclusive_flag);
    shared.faults = *static_cast<volatile unsigned int*>(&outcome->faults);
  }
  __syncthreads();

  const bool is_last = partition + 1 == args.cut.partitions();
  const std::uint64_t end = is_last ? args.slot_count : min(up_to_here.end_of_slots(), args.slot_count);
  const unsigned long long longest = items.find_places(follow()(before, own));
  if (longest > 0) atomicMax(&shared.longest_chain, longest);
  // A table of no use is not written: where partitions are missing, the last block would clear most of it.
  const bool is_of_use = shared.faults == 0;
  if (is_of_use) {
    items.write_slots(before.end_of_slots(), end, reinterpret_cast<typename Types::slot*>(place_partitions_memory));
  }
  __syncthreads();
  if (is_of_use && all.row_words > 0) {
    items.write_rows(follow()(before, own), before.row_words, static_cast<std::uint32_t>(all.row_words),
                     reinterpret_cast<typename Types::row*>(place_partitions_memory));
  }
  if (threadIdx.x != 0) return;
  atomicMax(&outcome->longest_chain, shared.longest_chain);
  if (is_last) {
    outcome->keys = up_to_here.keys;
    outcome->row_words = up_to_here.row_words;
    outcome->end_of_slots = up_to_here.end_of_slots();
  }
}

template <class Types>
constexpr std::size_t place_partitions_shared_bytes = most_partition_records *
                                                      sizeof(hashed_record<typename Types::key>);

}  // namespace sheaf::cuda
