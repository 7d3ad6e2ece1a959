#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "lab/description/hash/problem.hpp"
#include "lab/peers/cub/calls.cuh"
#include "primitives/hash/function.hpp"

// What a CUDA program does today where it needs a hash table: a thread for each key, atomicCAS, and linear probing in a
// table of a power of two slots, a quarter to half full. A key is found with the lowest of its records.
namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned block_threads = 256;
constexpr std::uint32_t no_record = 0xffffffff;

/// Keys of 4 bytes: key and record are one word, so that one atomic operation writes both, and the lowest word of a key
/// is that of its first record.
struct one_word_slots {
  using key_type = std::uint32_t;
  static constexpr std::uint64_t slot_bytes = 8;
  static constexpr unsigned long long empty = ~0ULL;

  unsigned long long* words;
  std::uint64_t mask;

  __device__ static unsigned long long word_of(key_type key, std::uint32_t record) {
    return static_cast<unsigned long long>(key) << 32 | record;
  }

  /// Whether the key is new.
  __device__ bool insert(key_type key, std::uint32_t record) const {
    const unsigned long long word = word_of(key, record);
    for (std::uint64_t place = primitives::hash_of(key) & mask;; place = (place + 1) & mask) {
      const unsigned long long there = atomicCAS(words + place, empty, word);
      if (there == empty) return true;
      if (there >> 32 != key) continue;
      atomicMin(words + place, word);
      return false;
    }
  }

  __device__ std::uint32_t find(key_type key) const {
    for (std::uint64_t place = primitives::hash_of(key) & mask;; place = (place + 1) & mask) {
      const unsigned long long word = words[place];
      if (word == empty) return no_record;
      if (word >> 32 == key) return static_cast<std::uint32_t>(word);
    }
  }
};

/// Keys of 8 bytes: two words that one load reads. The key of all ones is reserved, as in other such tables.
struct two_word_slots {
  using key_type = std::uint64_t;
  static constexpr std::uint64_t slot_bytes = 16;
  static constexpr unsigned long long empty = ~0ULL;

  unsigned long long* words;
  std::uint64_t mask;

  __device__ bool insert(key_type key, std::uint32_t record) const {
    for (std::uint64_t place = primitives::hash_of(key) & mask;; place = (place + 1) & mask) {
      const unsigned long long there = atomicCAS(words + 2 * place, empty, static_cast<unsigned long long>(key));
      if (there != empty && there != key) continue;
      atomicMin(words + 2 * place + 1, static_cast<unsigned long long>(record));
      return there == empty;
    }
  }

  __device__ std::uint32_t find(key_type key) const {
    for (std::uint64_t place = primitives::hash_of(key) & mask;; place = (place + 1) & mask) {
      const ulonglong2 slot = reinterpret_cast<const ulonglong2*>(words)[place];
      if (slot.x == key) return static_cast<std::uint32_t>(slot.y);
      if (slot.x == empty) return no_record;
    }
  }
};

/// Adds to `distinct` how many keys are new.
template <class Slots>
__global__ void insert_keys(Slots slots, const typename Slots::key_type* keys, std::uint64_t count,
                            unsigned long long* distinct) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const bool is_new = i < count && slots.insert(keys[i], static_cast<std::uint32_t>(i));
  const int new_keys = __syncthreads_count(is_new);
  if (threadIdx.x == 0) atomicAdd(distinct, static_cast<unsigned long long>(new_keys));
}

template <class Slots>
__global__ void find_keys(Slots slots, const typename Slots::key_type* keys, std::uint64_t count,
                          std::uint32_t* records) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) records[i] = slots.find(keys[i]);
}

/// Whether a probe has a match, for a scan.
struct is_found {
  __device__ std::uint64_t operator()(std::uint32_t record) const { return record != no_record ? 1 : 0; }
};

/// The matches of probes that have one or none, where a scan says that they begin.
__global__ void write_matches(const std::uint32_t* records, std::uint64_t count, std::uint64_t* offsets,
                              std::uint32_t* ids) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const bool found = records[i] != no_record;
  if (found) ids[offsets[i]] = records[i];
  if (i + 1 == count) offsets[count] = offsets[i] + (found ? 1 : 0);
}

template <class Slots>
__global__ void contains_keys(Slots slots, const typename Slots::key_type* keys, std::uint64_t count,
                              unsigned char* found) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) found[i] = slots.find(keys[i]) != no_record;
}

/// What the check of a build asks for, where keys do not repeat.
__global__ void write_facts(std::uint64_t count, const unsigned long long* distinct, std::uint64_t* facts) {
  facts[0] = count;
  facts[1] = *distinct;
  facts[2] = 1;
}

unsigned blocks_for(std::uint64_t count) { return static_cast<unsigned>((count + block_threads - 1) / block_threads); }

std::uint64_t slot_count(const problem& p) {
  return std::bit_ceil(std::max<std::uint64_t>(2 * primitives::table_of(p).distinct, 2));
}

/// A table in device memory, behind the number of its keys.
template <class Slots>
class table {
 public:
  using key_type = typename Slots::key_type;
  static constexpr std::uint64_t counter_bytes = 256;

  table(const context& ctx, const problem& p)
      : ctx_(ctx), slots_(slot_count(p)), memory_(ctx, counter_bytes + slots_ * Slots::slot_bytes) {}

  static std::uint64_t bytes(const problem& p) { return counter_bytes + slot_count(p) * Slots::slot_bytes; }
  Slots slots() const { return {reinterpret_cast<unsigned long long*>(memory_.data() + counter_bytes), slots_ - 1}; }
  unsigned long long* distinct() const { return reinterpret_cast<unsigned long long*>(memory_.data()); }

  void build(const key_type* keys, std::uint64_t count) const {
    const cudaStream_t stream = ctx_.stream();
    require(cudaMemsetAsync(memory_.data(), 0, counter_bytes, stream), "cudaMemsetAsync");
    require(cudaMemsetAsync(memory_.data() + counter_bytes, 0xff, slots_ * Slots::slot_bytes, stream),
            "cudaMemsetAsync");
    if (count == 0) return;
    insert_keys<<<blocks_for(count), block_threads, 0, stream>>>(slots(), keys, count, distinct());
    require(cudaGetLastError(), "insert_keys");
  }

 private:
  context ctx_;
  std::uint64_t slots_;
  buffer memory_;
};

template <class Slots>
contender builds(const context& ctx, const problem& problem, const workspace& arrays) {
  using key_type = typename Slots::key_type;
  const auto made = std::make_shared<std::unique_ptr<table<Slots>>>();
  return {.who = "open_addressing",
          .scratch_bytes = table<Slots>::bytes(problem),
          .queue =
              [ctx, problem, &arrays, made](std::uint64_t copy) {
                const table<Slots>& t = **made;
                t.build(source_of<key_type>(arrays, copy), problem.count);
                write_facts<<<1, 1, 0, ctx.stream()>>>(problem.count, t.distinct(),
                                                       target_of<std::uint64_t>(arrays, copy));
                require(cudaGetLastError(), "write_facts");
              },
          .wait = [ctx] { wait(ctx); },
          .prepare = [ctx, problem, made](std::uint64_t) { *made = std::make_unique<table<Slots>>(ctx, problem); },
          .release = [made] { made->reset(); }};
}

/// Searches for all matches, where each key has one record: the records, a scan of CUB's, and a copy to where it says.
template <class Slots>
class match_search {
 public:
  match_search(const context& ctx, std::uint64_t count)
      : ctx_(ctx), count_(count), records_(ctx, std::max<std::uint64_t>(1, count) * sizeof(std::uint32_t)) {
    require(scan(nullptr, scan_bytes_, nullptr), "cub::DeviceScan");
    scan_memory_ = buffer(ctx, std::max<std::size_t>(1, scan_bytes_));
  }
  static std::uint64_t bytes(std::uint64_t count) { return count * sizeof(std::uint32_t) + (count / 64 + 4096) * 16; }

  void run(const Slots& slots, const typename Slots::key_type* keys, std::uint64_t* offsets, std::uint32_t* ids) {
    find_keys<<<blocks_for(count_), block_threads, 0, ctx_.stream()>>>(slots, keys, count_, records());
    require(scan(scan_memory_.data(), scan_bytes_, offsets), "cub::DeviceScan");
    write_matches<<<blocks_for(count_), block_threads, 0, ctx_.stream()>>>(records(), count_, offsets, ids);
    require(cudaGetLastError(), "open_addressing");
  }

 private:
  std::uint32_t* records() const { return reinterpret_cast<std::uint32_t*>(records_.data()); }
  cudaError_t scan(void* memory, std::size_t& bytes, std::uint64_t* offsets) const {
    const auto matches = thrust::make_transform_iterator(static_cast<const std::uint32_t*>(records()), is_found());
    return cub::DeviceScan::ExclusiveSum(memory, bytes, matches, offsets, count_, ctx_.stream());
  }

  context ctx_;
  std::uint64_t count_;
  buffer records_;
  buffer scan_memory_;
  std::size_t scan_bytes_ = 0;
};

/// The tables of all copies, and what a search for all matches needs beside them.
template <class Slots>
struct search_state {
  std::vector<std::unique_ptr<table<Slots>>> tables;
  std::unique_ptr<match_search<Slots>> matches;
};

template <class Slots>
void queue_search(const context& ctx, const problem& problem, const workspace& arrays, std::uint64_t copy,
                  const search_state<Slots>& state) {
  using key_type = typename Slots::key_type;
  const Slots slots = state.tables[copy]->slots();
  const key_type* const probes = keys_of<key_type>(arrays, copy);
  if (problem.count == 0) return;
  if (state.matches) {
    state.matches->run(slots, probes, reinterpret_cast<std::uint64_t*>(arrays.all(copy)[jobs::places::offsets].data),
                       target_of<std::uint32_t>(arrays, copy));
  } else if (problem.primitive == "hash_contains") {
    contains_keys<<<blocks_for(problem.count), block_threads, 0, ctx.stream()>>>(
        slots, probes, problem.count, target_of<unsigned char>(arrays, copy));
  } else {
    find_keys<<<blocks_for(problem.count), block_threads, 0, ctx.stream()>>>(slots, probes, problem.count,
                                                                             target_of<std::uint32_t>(arrays, copy));
  }
  require(cudaGetLastError(), "open_addressing");
}

template <class Slots>
contender searches(const context& ctx, const problem& problem, const workspace& arrays) {
  using key_type = typename Slots::key_type;
  const auto state = std::make_shared<search_state<Slots>>();
  const bool finds_all = problem.primitive == "hash_search";
  return {
      .who = "open_addressing",
      .scratch_bytes = finds_all ? match_search<Slots>::bytes(problem.count) : 0,
      .kept_bytes_of_copy = table<Slots>::bytes(problem),
      .queue = [ctx, problem, &arrays, state](std::uint64_t copy) { queue_search(ctx, problem, arrays, copy, *state); },
      .wait = [ctx] { wait(ctx); },
      .prepare =
          [ctx, problem, &arrays, state, finds_all](std::uint64_t copies) {
            if (finds_all) state->matches = std::make_unique<match_search<Slots>>(ctx, problem.count);
            for (std::uint64_t copy = 0; copy < copies; ++copy) {
              state->tables.push_back(std::make_unique<table<Slots>>(ctx, problem));
              state->tables.back()->build(source_of<key_type>(arrays, copy), primitives::table_records(problem));
            }
            wait(ctx);
          },
      .release = [state] { *state = {}; }};
}

}  // namespace

std::vector<contender> open_addressing(const context& ctx, const problem& problem, const workspace& arrays) {
  const primitives::hash_part& hash = problem.part<primitives::hash_part>();
  if (bytes(problem.index) != 4) return {};
  if (problem.primitive == "hash_search" && hash.repeats != 1) return {};
  if (problem.primitive == "build_hash_index") {
    if (hash.repeats != 1) return {};
    return {problem.key_bytes == 4 ? builds<one_word_slots>(ctx, problem, arrays)
                                   : builds<two_word_slots>(ctx, problem, arrays)};
  }
  return {problem.key_bytes == 4 ? searches<one_word_slots>(ctx, problem, arrays)
                                 : searches<two_word_slots>(ctx, problem, arrays)};
}

}  // namespace sheaf::bench::peers::device
