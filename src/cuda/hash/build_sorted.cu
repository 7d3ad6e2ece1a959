#include <cub/block/block_scan.cuh>

#include <algorithm>
#include <memory>
#include <string>

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/slots.cuh"
#include "cuda/hash/variants.hpp"
#include "plan/choose.hpp"
#include "primitives/sort.hpp"

// The build cuda.sorted: hashes are sorted with their record numbers, and then lie in the order of the index. A scan
// says where each goes. Where a build with atomics writes to the table at random, this one streams, and a key that many
// records have is as any other.
namespace sheaf::cuda {
namespace {

using primitives::hash_build_buffers;
using primitives::hash_build_problem;
using primitives::sort_problem;
using primitives::sort_variant;

constexpr unsigned tile_threads = 256;
constexpr unsigned items_each = 8;
constexpr unsigned tile_items = tile_threads * items_each;

/// Record numbers in sorts and rows.
constexpr std::uint64_t id_bytes_of(slot_form form) { return row_bytes(form); }

template <class Key, class Row>
__global__ void __launch_bounds__(block_threads)
    hash_keys(const key_source keys, std::uint64_t count, Key* hashes, Row* ids) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < count; i += step) {
    hashes[i] = primitives::hash_of(load_key<Key>(keys, i));
    ids[i] = static_cast<Row>(i);
  }
}

/// A sorted hash beside its neighbours.
struct neighbours {
  bool is_head;  ///< the first of its key
  bool is_tail;  ///< the last
  /// Words of rows: a key with several records has one for their number, and one for each.
  __device__ __forceinline__ unsigned row_words() const { return is_head ? (is_tail ? 0U : 2U) : 1U; }
};

/// What a stretch of sorted hashes does to what follows.
struct build_state {
  /// The key after the stretch lies at slot keys + reach or behind: the most, over its keys, of the first slot of a
  /// key's bucket less the number of keys of the stretch before it.
  long long reach;
  unsigned long long keys;       ///< that begin in the stretch
  unsigned long long row_words;  ///< of its records
  unsigned long long last_head;  ///< one more than the place of the last record that is the first of its key; 0: none
};

constexpr long long no_reach = -(1LL << 62);

struct follow {
  __device__ __forceinline__ build_state operator()(const build_state& a, const build_state& b) const {
    const auto shifted = b.reach == no_reach ? no_reach : b.reach - static_cast<long long>(a.keys);
    return {max(a.reach, shifted), a.keys + b.keys, a.row_words + b.row_words,
            b.last_head != 0 ? b.last_head : a.last_head};
  }
};

/// One past the slot of the last key of a stretch that begins the table.
__device__ __forceinline__ std::uint64_t end_of_slots(const build_state& s) {
  return s.keys == 0 ? 0 : static_cast<std::uint64_t>(s.reach + static_cast<long long>(s.keys));
}

template <class Types>
__device__ __forceinline__ build_state state_of_item(const neighbours& n, std::uint64_t i, typename Types::key hash,
                                                     typename Types::bucket_number buckets) {
  if (!n.is_head) return {no_reach, 0, n.row_words(), 0};
  const auto slot = std::uint64_t{bucket_of(hash, buckets)} * Types::per_bucket;
  return {static_cast<long long>(slot), 1, n.row_words(), i + 1};
}

constexpr build_state state_of_nothing{no_reach, 0, 0, 0};

/// The items of one thread: items_each neighbours.
template <class Key>
struct thread_items {
  Key hash[items_each];
  neighbours at[items_each];
  std::uint64_t first;
  unsigned count;

  __device__ __forceinline__ thread_items(const Key* hashes, std::uint64_t all) {
    first = std::uint64_t{blockIdx.x} * tile_items + threadIdx.x * items_each;
    count = first < all ? static_cast<unsigned>(min(std::uint64_t{items_each}, all - first)) : 0;
    Key before = count > 0 && first > 0 ? hashes[first - 1] : Key{0};
#pragma unroll
    for (unsigned k = 0; k < items_each; ++k) {
      if (k < count) hash[k] = hashes[first + k];
    }
    const bool has_next = count > 0 && first + count < all;
    const Key next = has_next ? hashes[first + count] : Key{0};
#pragma unroll
    for (unsigned k = 0; k < items_each; ++k) {
      if (k >= count) break;
      at[k].is_head = first + k == 0 || before != hash[k];
      const bool is_last = k + 1 == count;
      const Key after = is_last || k + 1 == items_each ? next : hash[(k + 1) % items_each];
      at[k].is_tail = is_last ? !has_next || after != hash[k] : after != hash[k];
      before = hash[k];
    }
  }
};

template <class Types>
__device__ __forceinline__ build_state state_of_thread(const thread_items<typename Types::key>& items,
                                                       typename Types::bucket_number buckets) {
  build_state state = state_of_nothing;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    if (k < items.count) {
      state = follow()(state, state_of_item<Types>(items.at[k], items.first + k, items.hash[k], buckets));
    }
  }
  return state;
}

using tile_scan = cub::BlockScan<build_state, tile_threads, cub::BLOCK_SCAN_WARP_SCANS>;

template <class Types>
__global__ void __launch_bounds__(tile_threads)
    summarize_tiles(const typename Types::key* hashes, std::uint64_t count, typename Types::bucket_number buckets,
                    build_state* states) {
  __shared__ typename tile_scan::TempStorage storage;
  const thread_items<typename Types::key> items(hashes, count);
  build_state before;
  build_state all;
  tile_scan(storage).ExclusiveScan(state_of_thread<Types>(items, buckets), before, state_of_nothing, follow(), all);
  if (threadIdx.x == 0) states[blockIdx.x] = all;
}

/// Replaces the states of tiles by what comes before them, and writes what all of them come to behind the last. One
/// block.
constexpr unsigned scan_threads = 512;
static __global__ void __launch_bounds__(scan_threads) scan_tiles(build_state* states, std::uint64_t tiles) {
  using block_scan = cub::BlockScan<build_state, scan_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  const std::uint64_t each = (tiles + scan_threads - 1) / scan_threads;
  const std::uint64_t first = min(tiles, threadIdx.x * each);
  const std::uint64_t end = min(tiles, first + each);
  build_state own = state_of_nothing;
  for (std::uint64_t t = first; t < end; ++t) own = follow()(own, states[t]);
  build_state before;
  build_state all;
  block_scan(storage).ExclusiveScan(own, before, state_of_nothing, follow(), all);
  for (std::uint64_t t = first; t < end; ++t) {
    const build_state of_tile = states[t];
    states[t] = before;
    before = follow()(before, of_tile);
  }
  if (threadIdx.x == 0) states[tiles] = all;
}

template <class Types>
struct place_arguments {
  const typename Types::key* hashes;
  const typename Types::row* ids;
  std::uint64_t count;
  typename Types::bucket_number buckets;
  const build_state* before;  ///< of each tile, and of the end
  typename Types::slot* slots;
  std::uint64_t slot_count;
  typename Types::row* rows;
  unsigned long long* longest_chain;
};

/// Writes the slots that lie between the last key before the tile and the last of the tile, and the tile's rows.
template <class Types>
__global__ void __launch_bounds__(tile_threads) place_keys(const __grid_constant__ place_arguments<Types> a) {
  using key = typename Types::key;
  using word = typename Types::word;
  using slot = typename Types::slot;
  using row = typename Types::row;
  __shared__ typename tile_scan::TempStorage storage;
  __shared__ unsigned long long longest_of_warp[tile_threads / 32];
  const thread_items<key> items(a.hashes, a.count);
  const build_state before = a.before[blockIdx.x];
  const std::uint64_t end = blockIdx.x + 1 == gridDim.x ? a.slot_count : end_of_slots(a.before[blockIdx.x + 1]);
  for (std::uint64_t s = end_of_slots(before) + threadIdx.x; s < end; s += tile_threads) {
    a.slots[s] = {slot::empty, slot::empty};
  }
  build_state state;
  tile_scan(storage).ExclusiveScan(state_of_thread<Types>(items, a.buckets), state, state_of_nothing, follow());
  state = follow()(before, state);
  __syncthreads();  // before keys are written over empty slots
  unsigned long long longest = 0;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    if (k >= items.count) break;
    const std::uint64_t i = items.first + k;
    const neighbours& n = items.at[k];
    const std::uint64_t words_before = state.row_words;
    state = follow()(state, state_of_item<Types>(n, i, items.hash[k], a.buckets));
    const row id = a.ids[i];
    if (n.is_head) {
      const word value = n.is_tail ? static_cast<word>(id) : slot::repeated | static_cast<word>(words_before);
      a.slots[end_of_slots(state) - 1] = {static_cast<word>(items.hash[k]), value};
      if (!n.is_tail) a.rows[words_before + 1] = id;
    } else {
      a.rows[words_before] = id;
    }
    if (n.is_tail) {
      const std::uint64_t length = i + 2 - state.last_head;
      if (length > 1) a.rows[state.row_words - length - 1] = static_cast<row>(length);
      longest = max(longest, static_cast<unsigned long long>(length));
    }
  }
  for (int other = 16; other > 0; other /= 2) longest = max(longest, __shfl_xor_sync(~0U, longest, other));
  if (threadIdx.x % 32 == 0) longest_of_warp[threadIdx.x / 32] = longest;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (const unsigned long long of_warp : longest_of_warp) longest = max(longest, of_warp);
  // Most tiles have nothing new to say.
  if (longest > *static_cast<volatile unsigned long long*>(a.longest_chain)) atomicMax(a.longest_chain, longest);
}

struct build_calls {
  slot_form form;
  std::uint64_t longest_chain, hashes, ids, sorted_hashes, sorted_ids, states, sort_scratch;
  sort_problem sort;
  plan::choice<sort_variant> sort_choice;
};

sort_problem sort_of(const hash_build_problem& p, slot_form form) {
  const auto array_of = [](std::uint64_t bytes) {
    return primitives::sorted_array{bytes, bytes, bytes, static_cast<std::uint32_t>(bytes)};
  };
  sort_problem s;
  s.backend = p.backend;
  s.count = p.count;
  s.key.fields[0] = {0, static_cast<std::uint32_t>(p.key_bytes), key_type::unsigned_integer};
  s.key.field_count = 1;
  s.key.bits = static_cast<std::uint32_t>(8 * p.key_bytes);
  s.rows = array_of(p.key_bytes);
  s.column_count = 1;
  s.columns[0] = array_of(id_bytes_of(form));
  return s;
}

plan::planned plan_sorted(const hash_build_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const auto calls = std::make_shared<build_calls>();
  calls->form = form_of(p.key_bytes, p.count);
  const std::uint64_t id_bytes = id_bytes_of(calls->form);
  const std::uint64_t tiles = ceil_div(p.count, tile_items);
  core::scratch_offsets arrays;
  calls->longest_chain = arrays.take(sizeof(unsigned long long));
  calls->states = arrays.take((tiles + 1) * sizeof(build_state));
  calls->hashes = arrays.take(p.count * p.key_bytes);
  calls->ids = arrays.take(p.count * id_bytes);
  calls->sorted_hashes = arrays.take(p.count * p.key_bytes);
  calls->sorted_ids = arrays.take(p.count * id_bytes);
  calls->sort = sort_of(p, calls->form);
  calls->sort_scratch = arrays.bytes();
  calls->sort_choice =
      plan::cheapest(primitives::sort_variants(), calls->sort, p.backend, plan::inner_scope(scope, arrays.bytes()));
  if (calls->sort_choice.variant == nullptr) {
    // What the build would take says why it cannot run: memory.
    const plan::scope unlimited{m, plan::no_scratch_limit, scope.context};
    calls->sort_choice = plan::cheapest(primitives::sort_variants(), calls->sort, p.backend, unlimited);
  }
  if (calls->sort_choice.variant == nullptr) return plan::rejected("no sort takes the hashes");
  arrays.take(calls->sort_choice.plan.scratch_bytes);
  plan::planned plan;
  price_build(p, calls->form, calls->sort_choice.plan.seconds, m, plan);
  plan.scratch_bytes = arrays.bytes();
  plan.inner_calls = calls;
  return plan;
}

/// One build: its arrays in scratch.
template <class Types>
class sorted_build {
 public:
  using key = typename Types::key;
  using row = typename Types::row;
  using slot = typename Types::slot;

  sorted_build(const context& ctx, const hash_build_problem& p, const build_calls& calls, std::byte* scratch)
      : ctx_(ctx), p_(p), calls_(calls), scratch_(scratch) {}

  std::unique_ptr<slot_index> run(const const_records keys) {
    sort(keys);
    // Most often no key repeats, and the first guess is right.
    std::uint64_t buckets = buckets_of(p_.count);
    build_state all = summarize(buckets);
    if (const std::uint64_t wanted = buckets_of(all.keys); wanted != buckets) {
      buckets = wanted;
      all = summarize(buckets);
    }
    // The last key's slot, one that is empty, and the rest of that bucket; no bucket that keys want lies behind.
    const auto last = static_cast<std::uint64_t>(all.reach + static_cast<long long>(all.keys) - 1);
    const std::uint64_t all_buckets = std::max(buckets, last / Types::per_bucket + 1) + 1;
    const std::string words = primitives::words_of_index(p_.count, all.keys);
    buffer slots = primitives::hash_memory(ctx_, primitives::hash_build_call, words, all_buckets * sector_bytes);
    buffer rows;
    if (all.row_words > 0) {
      rows = primitives::hash_memory(ctx_, primitives::hash_build_call, words, all.row_words * sizeof(row));
    }
    auto* const longest = array<unsigned long long>(calls_.longest_chain);
    require(cudaMemsetAsync(longest, 0, sizeof *longest, ctx_.stream()), operation);
    const place_arguments<Types> a{.hashes = hashes(),
                                   .ids = array<const row>(calls_.sorted_ids),
                                   .count = p_.count,
                                   .buckets = static_cast<typename Types::bucket_number>(buckets),
                                   .before = array<const build_state>(calls_.states),
                                   .slots = slots.as<slot>(),
                                   .slot_count = all_buckets * Types::per_bucket,
                                   .rows = rows.as<row>(),
                                   .longest_chain = longest};
    launch_blocks(ctx_, operation, place_keys<Types>, tiles(), tile_threads, a);
    auto index = std::make_unique<slot_index>(std::move(slots), std::move(rows), calls_.form, buckets);
    index->facts.distinct = all.keys;
    index->facts.longest_chain = all.keys == p_.count ? 1 : read(longest);
    return index;
  }

 private:
  static constexpr const char* operation = "cuda.sorted";

  template <class T>
  T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  const key* hashes() const { return array<const key>(calls_.sorted_hashes); }

  std::uint64_t streaming_blocks() const {
    constexpr std::uint64_t blocks_each = 8;
    return std::min(static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * blocks_each,
                    ceil_div(p_.count, block_threads));
  }

  void sort(const_records keys) {
    launch(ctx_, operation, hash_keys<key, row>, streaming_blocks(), key_source_of(keys), p_.count,
           array<key>(calls_.hashes), array<row>(calls_.ids));
    primitives::sort_buffers b;
    b.in = {scratch_ + calls_.hashes, p_.count, sizeof(key)};
    b.out = {scratch_ + calls_.sorted_hashes, p_.count, sizeof(key)};
    b.columns[0] = {const_records(scratch_ + calls_.ids, p_.count, sizeof(row)),
                    records(scratch_ + calls_.sorted_ids, p_.count, sizeof(row))};
    const auto& chosen = calls_.sort_choice;
    chosen.variant->run(ctx_, calls_.sort, chosen.plan, b, scratch_ + calls_.sort_scratch);
  }

  std::uint64_t tiles() const { return ceil_div(p_.count, tile_items); }
  std::uint64_t buckets_of(std::uint64_t distinct) const {
    return buckets_for(distinct, p_.key_bytes, calls_.form, p_.load);
  }

  /// What comes before each tile, in device memory, and what all come to.
  build_state summarize(std::uint64_t buckets) {
    auto* const states = array<build_state>(calls_.states);
    launch_blocks(ctx_, operation, summarize_tiles<Types>, tiles(), tile_threads, hashes(), p_.count,
                  static_cast<typename Types::bucket_number>(buckets), states);
    launch_blocks(ctx_, operation, scan_tiles, 1, scan_threads, states, tiles());
    return read(states + tiles());
  }

  template <class T>
  T read(const T* device) const {
    T value;
    ctx_.state().copy(&value, device, sizeof value);  // waits
    return value;
  }

  const context& ctx_;
  const hash_build_problem& p_;
  const build_calls& calls_;
  std::byte* scratch_;
};

void run_sorted(const context& ctx, const hash_build_problem& p, const plan::planned& plan, const hash_build_buffers& b,
                std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto& calls = plan.inner<build_calls>();
  with_slot_types(calls.form, p.key_bytes, [&](auto* types) {
    using slot_types = std::remove_pointer_t<decltype(types)>;
    *b.made = sorted_build<slot_types>(ctx, p, calls, scratch).run(b.keys);
  });
}

}  // namespace

constinit const primitives::hash_build_variant hash_build_sorted{"cuda.sorted", backend_kind::cuda, plan_sorted,
                                                                 run_sorted};

}  // namespace sheaf::cuda
