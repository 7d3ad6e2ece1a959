#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/system/cuda/execution_policy.h>

#include "lab/description/split/source.hpp"
#include "lab/peers/cub/numbers.cuh"

// Wide rows: keys of up to 64 bits are sorted with row numbers, and thrust::gather then moves the rows. A key of 10
// bytes takes two stable sorts, first by its last two bytes.
namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned threads = 256;

struct key_reader {
  const std::uint32_t* rows;
  std::uint64_t words_per_row;
  std::uint64_t key_bytes;
  bool from_first_byte;  ///< the key is a byte string, whose first byte is the most significant

  __device__ std::uint64_t high(std::uint64_t i) const {
    const std::uint32_t* const row = rows + i * words_per_row;
    const std::uint64_t key = row[0] | std::uint64_t{key_bytes > 4 ? row[1] : 0} << 32;
    if (!from_first_byte) return jobs::low_bits(key, static_cast<std::uint32_t>(8 * key_bytes));
    const unsigned upper = __byte_perm(row[0], 0, 0x0123);
    const unsigned lower = __byte_perm(row[1], 0, 0x0123);
    return std::uint64_t{upper} << 32 | lower;
  }
  __device__ std::uint64_t low(std::uint64_t i) const {
    const std::uint32_t word = rows[i * words_per_row + 2];
    return (word & 0xff) << 8 | (word >> 8 & 0xff);
  }
};

__global__ void read_low_keys(key_reader reader, std::uint32_t count, std::uint64_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) keys[i] = reader.low(i);
}

/// Reads the high part of the key of row number[i], or of row i if number is null.
__global__ void read_high_keys(key_reader reader, const std::uint32_t* number, std::uint32_t count,
                               std::uint64_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) keys[i] = reader.high(number == nullptr ? i : number[i]);
}

unsigned blocks_for(std::uint32_t count) { return (count + threads - 1) / threads; }

/// Double buffers of keys and of row numbers.
struct numbered_keys {
  std::uint64_t* keys[2];
  std::uint32_t* numbers[2];
};

// Sorts row numbers by their keys. Returns the buffer that holds them, numbers[0] or numbers[1].
const std::uint32_t* sorted_numbers(void* temporary, std::size_t& bytes, key_reader reader, numbered_keys keys,
                                    std::uint32_t count, int end, bool has_low, cudaStream_t stream,
                                    cudaError_t& result) {
  const auto sort = [&](int from, int end_bit) {
    result = cub::DeviceRadixSort::SortPairs(temporary, bytes, static_cast<const std::uint64_t*>(keys.keys[0]),
                                             keys.keys[1], static_cast<const std::uint32_t*>(keys.numbers[from]),
                                             keys.numbers[1 - from], count, 0, end_bit, stream);
    return keys.numbers[1 - from];
  };
  if (temporary == nullptr) return sort(0, end);
  thrust::sequence(thrust::cuda::par_nosync.on(stream), keys.numbers[0], keys.numbers[0] + count);
  if (!has_low) {
    read_high_keys<<<blocks_for(count), threads, 0, stream>>>(reader, nullptr, count, keys.keys[0]);
    return sort(0, end);
  }
  read_low_keys<<<blocks_for(count), threads, 0, stream>>>(reader, count, keys.keys[0]);
  const std::uint32_t* const by_low = sort(0, 16);
  if (result != cudaSuccess) return by_low;
  read_high_keys<<<blocks_for(count), threads, 0, stream>>>(reader, by_low, count, keys.keys[0]);
  return sort(1, 64);
}

contender sort_of_records(const context& ctx, const problem& problem, const workspace& arrays, move_records gather) {
  scratch_layout layout;
  const std::uint64_t key_at[2] = {layout.add(8 * problem.count), layout.add(8 * problem.count)};
  const std::uint64_t number_at[2] = {layout.add(4 * problem.count), layout.add(4 * problem.count)};
  const auto call = [=, &arrays](void* temporary, std::size_t& bytes, std::byte* own_memory, std::uint64_t copy) {
    const bool is_bytes = problem.part<key_part>().number == key_type::bytes;
    const auto* const rows = temporary == nullptr ? nullptr : source_of<std::uint32_t>(arrays, copy);
    numbered_keys keys{};
    for (int side = 0; side < 2; ++side) {
      keys.keys[side] = reinterpret_cast<std::uint64_t*>(own_memory + key_at[side]);
      keys.numbers[side] = reinterpret_cast<std::uint32_t*>(own_memory + number_at[side]);
    }
    const int end = is_bytes ? 64 : static_cast<int>(8 * problem.key_bytes);
    cudaError_t result = cudaSuccess;
    const std::uint32_t* const order =
        sorted_numbers(temporary, bytes, {rows, problem.record_bytes / 4, problem.key_bytes, is_bytes}, keys,
                       static_cast<std::uint32_t>(problem.count), end, problem.key_bytes > 8, ctx.stream(), result);
    if (temporary != nullptr && result == cudaSuccess) {
      gather(ctx, arrays.source(copy), {order, problem.count, index_type::u32}, arrays.target(copy));
    }
    return result;
  };
  return cub_contender(ctx, arrays, "cub", layout.bytes, call);
}

}  // namespace

std::vector<contender> large_record_sorts(const context& ctx, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  if (problem.primitive == "sort_pairs")
    return {radix_sort_of_pairs<std::uint64_t, std::uint32_t>(ctx, problem, arrays)};
  const bool is_number = key.number == key_type::unsigned_integer && problem.key_bytes <= 8;
  if (problem.primitive == "sort_gather_index") {
    if (!is_number || bytes(problem.index) != 4) return {};
    if (problem.key_bytes == 4) return index_sorts(ctx, problem, arrays);
    return problem.key_bytes == 8 ? std::vector<contender>{radix_sort_of_numbers<std::uint64_t>(ctx, problem, arrays)}
                                  : std::vector<contender>{};
  }
  const bool is_bytes = key.number == key_type::bytes && (problem.key_bytes == 8 || problem.key_bytes == 10);
  const move_records move = gather(problem.record_bytes, index_type::u32);
  if ((!is_number && !is_bytes) || problem.record_bytes % 4 != 0 || problem.record_bytes < 12 || move == nullptr)
    return {};
  return {sort_of_records(ctx, problem, arrays, move)};
}

}  // namespace sheaf::bench::peers::device
