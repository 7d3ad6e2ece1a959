#include <cuda_runtime.h>

#include "lab/inputs/pattern.hpp"
#include "lab/inputs/pattern_function.hpp"

#include <sheaf/error.hpp>

namespace sheaf::inputs::device {
namespace {

constexpr unsigned threads = 256;

unsigned blocks_for(std::uint64_t count) {
  const std::uint64_t blocks = (count + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);  // kernels are grid-stride loops
}

void require_launched() {
  if (const cudaError_t result = cudaGetLastError(); result != cudaSuccess) {
    throw error(error_code::device_failure, std::string("inputs: ") + cudaGetErrorString(result));
  }
}

__device__ std::uint64_t first_item() { return std::uint64_t{blockIdx.x} * threads + threadIdx.x; }
__device__ std::uint64_t item_step() { return std::uint64_t{gridDim.x} * threads; }

template <class T>
__global__ void fill_index_kernel(pattern p, std::uint64_t indexed_count, T* entries, std::uint64_t count,
                                  std::uint64_t first) {
  for (std::uint64_t i = first_item(); i < count; i += item_step()) {
    entries[i] = static_cast<T>(pattern_entry(p, first + i, indexed_count));
  }
}

// One thread writes eight bytes of a record, as one word where alignment allows it.
__global__ void fill_records_kernel(records out, std::uint64_t words, bool aligned, std::uint64_t seed) {
  for (std::uint64_t item = first_item(); item < out.count * words; item += item_step()) {
    const std::uint64_t record = item / words;
    const std::uint64_t word = item % words;
    const std::uint64_t value = record_word(seed, record, word);
    std::byte* const to = out.data + record * out.stride_bytes + word * 8;
    if (aligned) {
      *reinterpret_cast<std::uint64_t*>(to) = value;
      continue;
    }
    for (std::uint64_t b = 0; b < 8 && word * 8 + b < out.record_bytes; ++b) {
      to[b] = static_cast<std::byte>(value >> (8 * b));
    }
  }
}

// Counts words that differ. Gathered: record i of out must be the input record of entry i. Else (scattered): the record
// of out that entry i names must be input record i.
template <bool Gathered>
__global__ void mismatch_kernel(const_records out, pattern pattern, std::uint64_t count, std::uint64_t indexed_count,
                                std::uint64_t words, bool aligned, std::uint64_t seed, unsigned long long* mismatches) {
  for (std::uint64_t item = first_item(); item < count * words; item += item_step()) {
    const std::uint64_t i = item / words;
    const std::uint64_t word = item % words;
    const std::uint64_t entry = pattern_entry(pattern, i, indexed_count);
    const std::uint64_t place = Gathered ? i : entry;
    const std::uint64_t expected = record_word(seed, Gathered ? entry : i, word);
    const std::byte* const from = out.data + place * out.stride_bytes + word * 8;
    bool same = true;
    if (aligned) {
      same = *reinterpret_cast<const std::uint64_t*>(from) == expected;
    } else {
      for (std::uint64_t b = 0; b < 8 && word * 8 + b < out.record_bytes; ++b) {
        same = same && from[b] == static_cast<std::byte>(expected >> (8 * b));
      }
    }
    if (!same) atomicAdd(mismatches, 1ULL);
  }
}

bool is_aligned(const_records r) {
  return (reinterpret_cast<std::uintptr_t>(r.data) | r.stride_bytes | r.record_bytes) % 8 == 0;
}

template <bool Gathered>
std::uint64_t count_mismatches(const context& ctx, const_records out, const pattern& pattern, std::uint64_t count,
                               std::uint64_t indexed_count, std::uint64_t seed) {
  if (count == 0) return 0;
  const buffer counter(ctx, sizeof(unsigned long long));
  unsigned long long mismatches = 0;
  copy_bytes(ctx, counter.data(), &mismatches, sizeof mismatches);
  const std::uint64_t words = (out.record_bytes + 7) / 8;
  mismatch_kernel<Gathered><<<blocks_for(count * words), threads, 0, ctx.stream()>>>(
      out, pattern, count, indexed_count, words, is_aligned(out), seed, counter.as<unsigned long long>());
  require_launched();
  copy_bytes(ctx, &mismatches, counter.data(), sizeof mismatches);
  return mismatches;
}

}  // namespace

void fill_index(const context& ctx, const pattern& pattern, std::uint64_t indexed_count, index_span index,
                std::uint64_t first) {
  void* const entries = const_cast<void*>(index.data);
  if (bytes(index.type) == 4) {
    fill_index_kernel<<<blocks_for(index.count), threads, 0, ctx.stream()>>>(
        pattern, indexed_count, static_cast<std::uint32_t*>(entries), index.count, first);
  } else {
    fill_index_kernel<<<blocks_for(index.count), threads, 0, ctx.stream()>>>(
        pattern, indexed_count, static_cast<std::uint64_t*>(entries), index.count, first);
  }
  require_launched();
}

void fill_records(const context& ctx, records out, std::uint64_t seed) {
  if (out.count == 0) return;
  const std::uint64_t words = (out.record_bytes + 7) / 8;
  fill_records_kernel<<<blocks_for(out.count * words), threads, 0, ctx.stream()>>>(out, words, is_aligned(out), seed);
  require_launched();
}

std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& p,
                                      std::uint64_t indexed_count, std::uint64_t seed) {
  return count_mismatches<true>(ctx, out, p, out.count, indexed_count, seed);
}

std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& p, std::uint64_t count,
                                       std::uint64_t seed) {
  return count_mismatches<false>(ctx, out, p, count, out.count, seed);
}

}  // namespace sheaf::inputs::device
