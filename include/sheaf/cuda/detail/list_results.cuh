#pragma once

#include <cstdint>
#include <cstring>

#include <sheaf/cuda/detail/list_sublists.cuh>

// Step 5: results from what comes before each node in its sublist, and before the sublist.
namespace sheaf::list_kernels {

/// A value of any type from another lane of the warp.
template <class Value>
__device__ __forceinline__ Value from_lane(unsigned lanes, const Value& value, unsigned lane) {
  if constexpr (sizeof(Value) % 4 == 0) {
    constexpr int words = sizeof(Value) / 4;
    std::uint32_t bits[words];
    memcpy(bits, &value, sizeof value);
#pragma unroll
    for (int w = 0; w < words; ++w) bits[w] = __shfl_sync(lanes, bits[w], static_cast<int>(lane));
    Value other;
    memcpy(&other, bits, sizeof other);
    return other;
  } else {
    Value other;
    auto* const to = reinterpret_cast<unsigned char*>(&other);
    const auto* const from = reinterpret_cast<const unsigned char*>(&value);
    for (unsigned b = 0; b < sizeof(Value); ++b) {
      to[b] = static_cast<unsigned char>(__shfl_sync(lanes, static_cast<unsigned>(from[b]), static_cast<int>(lane)));
    }
    return other;
  }
}

/// A node's result, from what its sum holds and what comes before its sublist.
template <class T, class Op>
__device__ __forceinline__ T result_of(const T& sum, bool has_sum, const list_prefix<T>& before, const T* initial,
                                       const Op& op) {
  bool has_result = has_sum;
  T result = sum;
  if (before.before > 0) {
    result = has_sum ? op(before.sum, sum) : before.sum;
    has_result = true;
  }
  if (initial != nullptr) result = has_result ? op(*initial, result) : *initial;
  return result;
}

/// A lane's part of a chunk of the log in finish_log: four entries, so that eight lanes have a chunk.
struct lane_of_chunk {
  static constexpr unsigned entries = 4;
  static constexpr unsigned lanes = log_chunk / entries;
  unsigned lane = threadIdx.x % 32;
  unsigned first_lane = lane / lanes * lanes;  ///< of the same chunk
  unsigned lanes_below = ((1U << lane) - 1) & ~((1U << first_lane) - 1);
  unsigned all_lanes = ((1U << lanes) - 1) << first_lane;
  unsigned entry = (lane - first_lane) * entries;  ///< the lane's first
};

/// Entries of the log as a lane finishes them.
template <class T>
struct log_entries {
  static constexpr unsigned each = lane_of_chunk::entries;
  std::uint32_t node[each];
  T sum[each];
  std::uint32_t begun[each];  ///< the sublist that begins at the node; unreached if none does
  std::uint32_t sublist;      ///< of the first entry
  std::uint32_t before;       ///< nodes of that sublist before it

  /// Only the last entries of a chunk may be without a node.
  __device__ __forceinline__ bool has_gap() const { return node[each - 1] == no_node; }

  /// Loads those of chunk `from`; without is_own the chunk is another's, of which only the first entry stays as it is.
  __device__ __forceinline__ void load(const finish_arguments& args, const lane_of_chunk& own, std::uint32_t from,
                                       bool is_own) {
    const std::uint64_t at = std::uint64_t{from} * log_chunk + own.entry;
    const uint4 words = *reinterpret_cast<const uint4*>(args.log + at);
    node[0] = words.x;
    node[1] = words.y;
    node[2] = words.z;
    node[3] = words.w;
    if (!is_own) {
      if (own.entry > 0) node[0] = no_node;
      node[1] = node[2] = node[3] = no_node;
    }
    if constexpr (has_values<T>) load_sums(static_cast<const T*>(args.log_sums) + at);
    sublist = args.chunk_sublists[from];
    before = args.chunk_before[from] + own.entry;
  }

  /// Finds where sublists begin among the entries, and which is the last to begin before them. Called by whole warps.
  __device__ __forceinline__ void find_sublists(const finish_arguments& args, const lane_of_chunk& own,
                                                std::uint32_t head) {
    unsigned last_begun = each;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      begun[k] = unreached;
      if (node[k] == no_node) continue;
      const std::uint32_t block = splitter_of(args.cut, node[k]);
      if (block != no_sublist) begun[k] = block;
      if (is_list_head(args.heads, head, node[k])) begun[k] = no_sublist;
      if (begun[k] != unreached) last_begun = k;
    }
    const unsigned beginning = __ballot_sync(~0U, last_begun < each) & own.lanes_below;
    const int leader = beginning == 0 ? static_cast<int>(own.lane) : 31 - __clz(static_cast<int>(beginning));
    std::uint32_t last_sublist = 0;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (k == last_begun) last_sublist = begun[k];
    }
    const std::uint32_t led_by = __shfl_sync(~0U, last_sublist, leader);
    const unsigned led_from = __shfl_sync(~0U, own.entry + last_begun, leader);
    if (beginning != 0) {
      sublist = led_by;
      before = own.entry - led_from;
    }
  }

 private:
  /// Entries without a node have no sum.
  __device__ __forceinline__ void load_sums(const T* sums) {
    if (!has_gap()) {
      memcpy(sum, sums, sizeof sum);
      return;
    }
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (node[k] != no_node) sum[k] = sums[k];
    }
  }
};

/// The entries' results; nothing for those without a node, whose sums no operator may see.
template <class T, class Op, class Out>
__device__ __forceinline__ void make_results(const finish_arguments& args, const log_entries<T>& entries,
                                             const T& initial, const Op& op, Out (&result)[log_entries<T>::each]) {
  const auto* const prefixes = static_cast<const list_prefix<T>*>(args.prefixes);
  std::uint32_t before = entries.before;
  list_prefix<T> base{};
  if (entries.sublist != no_sublist) base = prefixes[entries.sublist];
#pragma unroll
  for (unsigned k = 0; k < log_entries<T>::each; ++k) {
    if (entries.begun[k] != unreached) {
      base = {};
      if (entries.begun[k] != no_sublist) base = prefixes[entries.begun[k]];
      before = 0;
    }
    result[k] = {};
    if constexpr (has_values<T>) {
      if (entries.node[k] != no_node) {
        result[k] = result_of(entries.sum[k], !args.is_exclusive || before > 0, base,
                              args.is_exclusive ? &initial : nullptr, op);
      }
    } else {
      result[k] = static_cast<Out>(base.before + before);
    }
    ++before;
  }
}

/// Makes entries without a node copies of their chunk's first. Called by whole warps.
template <class T, class Out>
__device__ __forceinline__ void fill_gaps(const lane_of_chunk& own, bool has_gap, log_entries<T>& entries,
                                          Out (&result)[log_entries<T>::each]) {
  if ((__ballot_sync(~0U, has_gap) & own.all_lanes) == 0) return;
  const std::uint32_t first_node = __shfl_sync(own.all_lanes, entries.node[0], static_cast<int>(own.first_lane));
  const Out first_result = from_lane(own.all_lanes, result[0], own.first_lane);
#pragma unroll
  for (unsigned k = 0; k < log_entries<T>::each; ++k) {
    if (entries.node[k] != no_node) continue;
    entries.node[k] = first_node;
    result[k] = first_result;
  }
}

template <class Out>
__device__ __forceinline__ void store_results(const Out (&result)[lane_of_chunk::entries], Out* out) {
  if constexpr (sizeof(Out) % 4 == 0 && sizeof(Out) <= 16) {
    uint4 bits[sizeof(Out) / 4];
    memcpy(bits, result, sizeof result);
#pragma unroll
    for (unsigned w = 0; w < sizeof(Out) / 4; ++w) reinterpret_cast<uint4*>(out)[w] = bits[w];
  } else {
#pragma unroll
    for (unsigned k = 0; k < lane_of_chunk::entries; ++k) out[k] = result[k];
  }
}

/// Step 5 of cuda.log: ranks or results in the order of the log, beside their nodes, so that a scatter brings them into
/// place. Entries without a node become copies of others. If it is not a list, all entries are made harmless.
template <class T, class Op, class Out>
__global__ void __launch_bounds__(list_threads)
    finish_log(const __grid_constant__ finish_arguments args, const T initial, const Op op) {
  constexpr unsigned each = lane_of_chunk::entries;
  const lane_of_chunk own;
  const std::uint64_t step = std::uint64_t{gridDim.x} * list_threads;
  const std::uint64_t quads = std::uint64_t{args.chunks} * own.lanes;
  const bool is_bad = args.status->is_bad != 0;
  const std::uint32_t used = min(args.status->chunks, args.chunks);
  const std::uint32_t head = single_head(*args.status, args.cut.count);
  Out* const results = static_cast<Out*>(args.results);
  for (std::uint64_t quad = blockIdx.x * list_threads + threadIdx.x; quad - own.lane < quads; quad += step) {
    const bool is_in = quad < quads;
    const std::uint64_t at = quad * each;
    if (is_bad || used == 0) {
      for (unsigned k = 0; is_in && k < each; ++k) {
        args.log[at + k] = static_cast<std::uint32_t>((at + k) % args.cut.count);
        results[at + k] = Out{};
      }
      continue;
    }
    const auto chunk = static_cast<std::uint32_t>(min(quad, quads - 1) / own.lanes);
    const bool is_own = chunk < used;
    log_entries<T> entries;
    entries.load(args, own, is_own ? chunk : (chunk - used) % used, is_own);
    entries.find_sublists(args, own, head);
    Out result[each];
    make_results(args, entries, initial, op, result);
    const bool has_gap = entries.has_gap();
    fill_gaps(own, has_gap, entries, result);
    if (!is_in) continue;
    if (has_gap || !is_own) {
      *reinterpret_cast<uint4*>(args.log + at) =
          make_uint4(entries.node[0], entries.node[1], entries.node[2], entries.node[3]);
    }
    store_results(result, results + at);
  }
}

/// Step 5 of cuda.sublist: each node's result from its prefix.
template <class T, class Op, class Out, class Reader>
__global__ void __launch_bounds__(list_threads)
    finish_places(const __grid_constant__ finish_arguments args, const Reader reader, const T initial, const Op op) {
  if (args.status->is_bad != 0) return;
  const auto* const own = static_cast<const list_prefix<T>*>(args.node_prefixes);
  const auto* const prefixes = static_cast<const list_prefix<T>*>(args.prefixes);
  Out* const results = static_cast<Out*>(args.results);
  const std::uint32_t step = gridDim.x * list_threads;
  for (std::uint64_t i = blockIdx.x * list_threads + threadIdx.x; i < args.cut.count; i += step) {
    const list_prefix<T> prefix = prefix_in_list(own[i], prefixes, op);
    if constexpr (has_values<T>) {
      if (args.is_exclusive) {
        results[i] = prefix.before > 0 ? op(initial, prefix.sum) : initial;
      } else {
        T value{};
        reader.load(static_cast<std::uint32_t>(i), value);
        results[i] = prefix.before > 0 ? op(prefix.sum, value) : first_result<Op, T>::of(op, value);
      }
    } else {
      results[i] = static_cast<Out>(prefix.before);
    }
  }
}

}  // namespace sheaf::list_kernels
