#pragma once

#include "cuda/hash/slots.cuh"
#include "cuda/hash/tile_sums.cuh"

// Where sorted hashes lie in the table, and the kernels that put them there, with their rows.
namespace sheaf::cuda {

constexpr unsigned place_threads = 192;
constexpr unsigned place_items_each = 4;
constexpr unsigned place_tile = place_threads * place_items_each;
constexpr unsigned place_window = 2048;  ///< slots that a block writes at once; most tiles have fewer

/// A sorted hash beside its neighbours.
struct neighbours {
  bool is_head;  ///< the first of its key
  bool is_tail;  ///< the last
  /// Words of rows: a key with several records has one for their number, and one for each.
  __device__ __forceinline__ unsigned row_words() const { return is_head ? (is_tail ? 0U : 2U) : 1U; }
};

/// What a stretch of sorted hashes does to what follows. Slots follow from the recurrence
///     slot = max(home, slot of the key before + 1)
/// where home is the first slot of the key's bucket. With k keys before a key that is slot - k = max(home - k, slot - k
/// of the key before): a running maximum, which a scan makes. Three keys with the homes 4, 4 and 5 have home - k of 4,
/// 3 and 3, so the maxima are 4, 4 and 4, and the slots 4 + 0, 4 + 1 and 4 + 2. The stretch of all three has reach 4
/// and keys 3; the next key lies at 4 + 3 = 7, or at its home if that is behind.
struct build_state {
  long long reach;               ///< the most home - k of its keys, where k counts keys of the stretch
  unsigned long long keys;       ///< that begin in the stretch
  unsigned long long row_words;  ///< of its records
  unsigned long long last_head;  ///< one more than the place of the last record that is the first of its key; 0: none

  static constexpr long long no_reach = -(1LL << 62);
  static constexpr build_state nothing() { return {no_reach, 0, 0, 0}; }
  /// One past the slot of the last key of a stretch that begins the table.
  __host__ __device__ std::uint64_t end_of_slots() const {
    return keys == 0 ? 0 : static_cast<std::uint64_t>(reach + static_cast<long long>(keys));
  }
};

/// The stretch a with the stretch b behind it, whose keys have a.keys more before them.
struct follow {
  __device__ __forceinline__ build_state operator()(const build_state& a, const build_state& b) const {
    const long long none = build_state::no_reach;
    const long long shifted = b.reach == none ? none : b.reach - static_cast<long long>(a.keys);
    return {max(a.reach, shifted), a.keys + b.keys, a.row_words + b.row_words,
            b.last_head != 0 ? b.last_head : a.last_head};
  }
};

template <class Types>
__device__ __forceinline__ build_state state_of_item(const neighbours& n, std::uint64_t i, typename Types::key hash,
                                                     typename Types::bucket_number buckets) {
  if (!n.is_head) return {build_state::no_reach, 0, n.row_words(), 0};
  const auto slot = std::uint64_t{bucket_of(hash, buckets)} * Types::per_bucket;
  return {static_cast<long long>(slot), 1, n.row_words(), i + 1};
}

/// Loads the words of one thread, which are neighbours; those past `count` stay as they are.
template <class Word>
__device__ __forceinline__ void load_neighbours(const Word* from, unsigned count, Word (&words)[place_items_each]) {
  if (count == place_items_each) {
    constexpr int loads = sizeof words / sizeof(uint4);
    uint4 read[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) read[k] = __ldcs(reinterpret_cast<const uint4*>(from) + k);
    memcpy(words, read, sizeof words);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < place_items_each; ++k) {
    if (k < count) words[k] = from[k];
  }
}

/// The items of one thread.
template <class Key>
struct thread_items {
  Key hash[place_items_each];
  neighbours at[place_items_each];
  std::uint64_t first;
  unsigned count;

  __device__ __forceinline__ thread_items(const Key* hashes, std::uint64_t all) {
    first = std::uint64_t{blockIdx.x} * place_tile + threadIdx.x * place_items_each;
    count = first < all ? static_cast<unsigned>(min(std::uint64_t{place_items_each}, all - first)) : 0;
    load_neighbours(hashes + first, count, hash);
    Key before = count > 0 && first > 0 ? hashes[first - 1] : Key{0};
    const bool has_next = count > 0 && first + count < all;
    const Key next = has_next ? hashes[first + count] : Key{0};
#pragma unroll
    for (unsigned k = 0; k < place_items_each; ++k) {
      if (k >= count) break;
      at[k].is_head = first + k == 0 || before != hash[k];
      const bool is_last = k + 1 == count;
      const Key after = is_last || k + 1 == place_items_each ? next : hash[(k + 1) % place_items_each];
      at[k].is_tail = is_last ? !has_next || after != hash[k] : after != hash[k];
      before = hash[k];
    }
  }
};

template <class Types>
__device__ __forceinline__ build_state state_of_thread(const thread_items<typename Types::key>& items,
                                                       typename Types::bucket_number buckets) {
  build_state state = build_state::nothing();
#pragma unroll
  for (unsigned k = 0; k < place_items_each; ++k) {
    if (k < items.count) {
      state = follow()(state, state_of_item<Types>(items.at[k], items.first + k, items.hash[k], buckets));
    }
  }
  return state;
}

using place_scan = cub::BlockScan<build_state, place_threads, cub::BLOCK_SCAN_WARP_SCANS>;

template <class Types>
__global__ void __launch_bounds__(place_threads)
    summarize_tiles(const typename Types::key* hashes, std::uint64_t count, typename Types::bucket_number buckets,
                    build_state* states) {
  wait_for_kernel_before();
  __shared__ typename place_scan::TempStorage storage;
  const thread_items<typename Types::key> items(hashes, count);
  build_state before;
  build_state all;
  place_scan(storage).ExclusiveScan(state_of_thread<Types>(items, buckets), before, build_state::nothing(), follow(),
                                    all);
  if (threadIdx.x == 0) states[blockIdx.x] = all;
}

template <class Types>
struct place_arguments {
  const typename Types::key* hashes;
  const typename Types::row* ids;
  std::uint64_t count;
  typename Types::bucket_number buckets;
  tile_sums<build_state> states;
  typename Types::slot* slots;
  std::uint64_t slot_count;
  typename Types::row* rows;          ///< null: no key repeats
  unsigned long long* longest_chain;  ///< 0 before
};

/// Shared memory of place_keys.
template <class Types>
struct place_memory {
  static constexpr std::uint32_t all_written = ~0U;
  typename place_scan::TempStorage scan;
  typename Types::slot slots[place_window];
  typename Types::row rows[2 * place_tile];
  unsigned long long longest_chain;  ///< that ends in the tile
  std::uint32_t left_out;  ///< word of a key that goes on behind the tile: its number comes with its last record
};

/// One thread of place_keys: where its items go, step by step.
template <class Types>
struct placed_items {
  using key = typename Types::key;
  using word = typename Types::word;
  using slot = typename Types::slot;
  using row = typename Types::row;

  const place_arguments<Types>& args;
  const thread_items<key>& items;
  const build_state& before;  ///< what comes before the tile
  place_memory<Types>& shared;
  std::uint64_t place[place_items_each];
  word value[place_items_each];
  unsigned long long longest = 0;

  __device__ __forceinline__ placed_items(const place_arguments<Types>& arguments, const thread_items<key>& own,
                                          const build_state& before_tile, place_memory<Types>& memory)
      : args(arguments), items(own), before(before_tile), shared(memory) {}

  /// Finds slots and values of the items, of which `state` is what comes before the first, and puts the words of rows
  /// into shared memory.
  __device__ __forceinline__ void find_places(build_state state, const row (&id)[place_items_each]) {
#pragma unroll
    for (unsigned k = 0; k < place_items_each; ++k) {
      if (k >= items.count) break;
      const std::uint64_t i = items.first + k;
      const neighbours& neighbours = items.at[k];
      const std::uint64_t words_before = state.row_words;
      const auto word_of_tile = static_cast<std::uint32_t>(words_before - before.row_words);
      state = follow()(state, state_of_item<Types>(neighbours, i, items.hash[k], args.buckets));
      place[k] = state.end_of_slots() - 1;
      value[k] = neighbours.is_tail ? Types::single(id[k]) : Types::repeated(words_before, id[k]);
      if (neighbours.is_head && neighbours.is_tail) {
        longest = max(longest, 1ULL);
        continue;
      }
      shared.rows[word_of_tile + (neighbours.is_head ? 1 : 0)] = id[k];
      const bool ends_tile = i + 1 == args.count || (threadIdx.x + 1 == place_threads && k + 1 == place_items_each);
      if (neighbours.is_tail || ends_tile) end_chain(state, i + 2 - state.last_head, neighbours.is_tail);
    }
  }

  /// Writes the slots from the tile's first to before `end`, window by window. All threads of the block call it.
  __device__ __forceinline__ void write_slots(std::uint64_t end) const {
    for (std::uint64_t window = before.end_of_slots(); window < end; window += place_window) {
      const auto size = static_cast<std::uint32_t>(min(std::uint64_t{place_window}, end - window));
      for (std::uint32_t s = threadIdx.x; s < size; s += place_threads) shared.slots[s] = {slot::empty, slot::empty};
      __syncthreads();
#pragma unroll
      for (unsigned k = 0; k < place_items_each; ++k) {
        if (k < items.count && items.at[k].is_head && place[k] - window < size) {
          shared.slots[place[k] - window] = {static_cast<word>(items.hash[k]), value[k]};
        }
      }
      __syncthreads();
      for (std::uint32_t s = threadIdx.x; s < size; s += place_threads) args.slots[window + s] = shared.slots[s];
      __syncthreads();
    }
  }

  /// Writes the tile's words of rows, and reports the longest chain. All threads of the block call it.
  __device__ __forceinline__ void write_rows(std::uint32_t row_words) const {
    if (longest > 0) atomicMax(&shared.longest_chain, longest);
    __syncthreads();
    for (std::uint32_t w = threadIdx.x; w < row_words; w += place_threads) {
      if (w != shared.left_out) args.rows[before.row_words + w] = shared.rows[w];
    }
    // Most tiles have nothing new to say.
    if (threadIdx.x == 0 && shared.longest_chain > *static_cast<volatile unsigned long long*>(args.longest_chain)) {
      atomicMax(args.longest_chain, shared.longest_chain);
    }
  }

 private:
  /// Writes the number of args key's records with the last of them; where the tile ends before, leaves it to the next.
  __device__ __forceinline__ void end_chain(const build_state& state, std::uint64_t length, bool is_tail) {
    const std::uint64_t number_at = state.row_words - length - 1;
    const bool begins_here = number_at >= before.row_words;
    const auto number_in_tile = static_cast<std::uint32_t>(number_at - before.row_words);
    if (!is_tail) {
      if (begins_here) shared.left_out = number_in_tile;
      return;
    }
    if (begins_here) {
      shared.rows[number_in_tile] = static_cast<row>(length);
    } else {
      args.rows[number_at] = static_cast<row>(length);
    }
    longest = max(longest, static_cast<unsigned long long>(length));
  }
};

/// Writes the slots that lie between the last key before the tile and the last of the tile, and the tile's rows. Both
/// are put together in shared memory, because single words go to memory at a fifth of its speed.
template <class Types>
__global__ void __launch_bounds__(place_threads) place_keys(const __grid_constant__ place_arguments<Types> args) {
  __shared__ place_memory<Types> shared;
  wait_for_kernel_before();
  const thread_items<typename Types::key> items(args.hashes, args.count);
  typename Types::row id[place_items_each];
  load_neighbours(args.ids + items.first, items.count, id);
  const build_state before = args.states.before(blockIdx.x, follow());
  const std::uint64_t slots_end =
      blockIdx.x + 1 == gridDim.x ? args.slot_count : args.states.before(blockIdx.x + 1, follow()).end_of_slots();
  if (threadIdx.x == 0) {
    shared.longest_chain = 0;
    shared.left_out = shared.all_written;
  }
  build_state state;
  build_state all;
  place_scan(shared.scan)
      .ExclusiveScan(state_of_thread<Types>(items, args.buckets), state, build_state::nothing(), follow(), all);
  __syncthreads();
  placed_items<Types> placed(args, items, before, shared);
  placed.find_places(follow()(before, state), id);
  placed.write_slots(slots_end);
  placed.write_rows(static_cast<std::uint32_t>(all.row_words));
}

}  // namespace sheaf::cuda
