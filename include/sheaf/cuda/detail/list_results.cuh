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

/// Step 5 of cuda.log: ranks or results in the order of the log, beside their nodes, so that a scatter brings them into
/// place. Entries without a node become copies of others. If the list is no list, all entries are made harmless.
template <class T, class Op, class Out>
__global__ void __launch_bounds__(list_threads)
    finish_log(const __grid_constant__ finish_arguments a, const T initial, const Op op) {
  // A lane has four entries of a chunk, eight lanes have a chunk.
  constexpr unsigned each = 4;
  constexpr unsigned lanes = log_chunk / each;
  const unsigned lane = threadIdx.x % 32;
  const unsigned first_lane = lane / lanes * lanes;
  const unsigned lanes_below = ((1U << lane) - 1) & ~((1U << first_lane) - 1);
  const unsigned lanes_of_chunk = ((1U << lanes) - 1) << first_lane;
  const std::uint64_t step = std::uint64_t{gridDim.x} * list_threads;
  const std::uint64_t quads = std::uint64_t{a.chunks} * lanes;
  const bool is_bad = a.status->is_bad != 0;
  const std::uint32_t used = min(a.status->chunks, a.chunks);
  const std::uint32_t head = single_head(*a.status, a.cut.count);
  const auto* const prefixes = static_cast<const list_prefix<T>*>(a.prefixes);
  Out* const results = static_cast<Out*>(a.results);
  for (std::uint64_t quad = blockIdx.x * list_threads + threadIdx.x; quad - lane < quads; quad += step) {
    const bool is_in = quad < quads;
    const std::uint64_t at = quad * each;
    if (is_bad || used == 0) {
      for (unsigned k = 0; is_in && k < each; ++k) {
        a.log[at + k] = static_cast<std::uint32_t>((at + k) % a.cut.count);
        results[at + k] = Out{};
      }
      continue;
    }
    const auto chunk = static_cast<std::uint32_t>(min(quad, quads - 1) / lanes);
    const std::uint32_t from = chunk < used ? chunk : (chunk - used) % used;
    const unsigned entry = (lane - first_lane) * each;
    const std::uint64_t read = std::uint64_t{from} * log_chunk + entry;
    const uint4 words = *reinterpret_cast<const uint4*>(a.log + read);
    std::uint32_t node[each] = {words.x, words.y, words.z, words.w};
    // Of another's chunk only the first entry stays as it is.
    if (chunk >= used) {
      if (entry > 0) node[0] = no_node;
      node[1] = node[2] = node[3] = no_node;
    }
    // Entries without a node come last, and have no sum.
    T sum[each];
    if constexpr (has_values<T>) {
      const T* const sums = static_cast<const T*>(a.log_sums) + read;
      if (node[each - 1] != no_node) {
        memcpy(sum, sums, sizeof sum);
      } else {
#pragma unroll
        for (unsigned k = 0; k < each; ++k) {
          if (node[k] != no_node) sum[k] = sums[k];
        }
      }
    }
    std::uint32_t sublist = a.chunk_sublists[from];
    std::uint32_t before = a.chunk_before[from] + entry;

    // Where sublists begin among this lane's entries, and the last before them.
    std::uint32_t begun[each];  // the sublist, unreached if none begins
    unsigned last_begun = each;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      begun[k] = unreached;
      if (node[k] == no_node) continue;
      const std::uint32_t block = splitter_of(a.cut, node[k]);
      if (block != no_sublist) begun[k] = block;
      if (is_list_head(a.heads, head, node[k])) begun[k] = no_sublist;
      if (begun[k] != unreached) last_begun = k;
    }
    const unsigned beginning = __ballot_sync(~0U, last_begun < each) & lanes_below;
    const int leader = beginning == 0 ? static_cast<int>(lane) : 31 - __clz(static_cast<int>(beginning));
    std::uint32_t last_sublist = 0;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (k == last_begun) last_sublist = begun[k];
    }
    const std::uint32_t led_by = __shfl_sync(~0U, last_sublist, leader);
    const unsigned led_from = __shfl_sync(~0U, entry + last_begun, leader);
    if (beginning != 0) {
      sublist = led_by;
      before = entry - led_from;
    }
    list_prefix<T> base{};
    if (sublist != no_sublist) base = prefixes[sublist];
    Out result[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (begun[k] != unreached) {
        base = {};
        if (begun[k] != no_sublist) base = prefixes[begun[k]];
        before = 0;
      }
      // Only entries with a node have a sum that the operator may see.
      result[k] = {};
      if constexpr (has_values<T>) {
        if (node[k] != no_node) {
          result[k] = result_of(sum[k], !a.is_exclusive || before > 0, base, a.is_exclusive ? &initial : nullptr, op);
        }
      } else {
        result[k] = static_cast<Out>(base.before + before);
      }
      ++before;
    }
    // Entries without a node become copies of the chunk's first.
    const bool has_gap = node[each - 1] == no_node;  // only the last entries of a chunk may be without a node
    if ((__ballot_sync(~0U, has_gap) & lanes_of_chunk) != 0) {
      const std::uint32_t first_node = __shfl_sync(lanes_of_chunk, node[0], static_cast<int>(first_lane));
      const Out first_result = from_lane(lanes_of_chunk, result[0], first_lane);
#pragma unroll
      for (unsigned k = 0; k < each; ++k) {
        if (node[k] != no_node) continue;
        node[k] = first_node;
        result[k] = first_result;
      }
    }
    if (!is_in) continue;
    if (has_gap || chunk >= used) {
      *reinterpret_cast<uint4*>(a.log + at) = make_uint4(node[0], node[1], node[2], node[3]);
    }
    if constexpr (sizeof(Out) % 4 == 0 && sizeof(Out) <= 16) {
      uint4 bits[sizeof(Out) / 4];
      memcpy(bits, result, sizeof result);
#pragma unroll
      for (unsigned w = 0; w < sizeof(Out) / 4; ++w) reinterpret_cast<uint4*>(results + at)[w] = bits[w];
    } else {
#pragma unroll
      for (unsigned k = 0; k < each; ++k) results[at + k] = result[k];
    }
  }
}

/// Step 5 of cuda.sublist: each node's result from its prefix.
template <class T, class Op, class Out, class Reader>
__global__ void __launch_bounds__(list_threads)
    finish_places(const __grid_constant__ finish_arguments a, const Reader reader, const T initial, const Op op) {
  if (a.status->is_bad != 0) return;
  const auto* const own = static_cast<const list_prefix<T>*>(a.node_prefixes);
  const auto* const prefixes = static_cast<const list_prefix<T>*>(a.prefixes);
  Out* const results = static_cast<Out*>(a.results);
  const std::uint32_t step = gridDim.x * list_threads;
  for (std::uint64_t i = blockIdx.x * list_threads + threadIdx.x; i < a.cut.count; i += step) {
    const list_prefix<T> prefix = prefix_in_list(own[i], prefixes, op);
    if constexpr (has_values<T>) {
      if (a.is_exclusive) {
        results[i] = prefix.before > 0 ? op(initial, prefix.sum) : initial;
      } else {
        T value{};
        reader.load(static_cast<std::uint32_t>(i), value);
        results[i] = prefix.before > 0 ? op(prefix.sum, value) : result_alone<Op, T>::of(op, value);
      }
    } else {
      results[i] = static_cast<Out>(prefix.before);
    }
  }
}

}  // namespace sheaf::list_kernels
