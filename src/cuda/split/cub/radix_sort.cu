#include "cuda/split/cub/radix_sort.hpp"

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/split/cub/calls.hpp"

namespace sheaf::cuda {
namespace {

constexpr std::uint32_t radix_bits = 8;
constexpr std::uint64_t radix_bins = 1 << radix_bits;
constexpr std::uint64_t most_pairs = (std::uint64_t{1} << 32) - 1;

cudaError_t call_cub(const cub_sort_shape& shape, const cub_key_encoding& encoding, const cub_sort_arrays& arrays,
                     void* scratch, std::size_t& scratch_bytes, cudaStream_t stream) {
  if (shape.encodes_keys) {
    switch (shape.key_bytes) {
      case 1: return cub_sort_encoded_keys<std::uint8_t>(shape, encoding, arrays, scratch, scratch_bytes, stream);
      case 2: return cub_sort_encoded_keys<std::uint16_t>(shape, encoding, arrays, scratch, scratch_bytes, stream);
      case 4: return cub_sort_encoded_keys<std::uint32_t>(shape, encoding, arrays, scratch, scratch_bytes, stream);
      default: return cub_sort_encoded_keys<std::uint64_t>(shape, encoding, arrays, scratch, scratch_bytes, stream);
    }
  }
  return shape.key_bytes == 4 ? cub_sort_keys_4(shape, arrays, scratch, scratch_bytes, stream)
                              : cub_sort_keys_8(shape, arrays, scratch, scratch_bytes, stream);
}

template <class Number>
__global__ void __launch_bounds__(block_threads) number_rows(Number* numbers, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) numbers[i] = static_cast<Number>(i);
}

}  // namespace

const char* cub_rejection(const cub_sort_shape& s) {
  if (s.value_bytes != 0 && s.count > most_pairs) return "counts pairs in 32 bits";
  if (s.encodes_keys && !cub_sorts_encoded_keys<std::uint8_t>())
    return "this version of CUB sorts integers of 4 and 8 bytes in ascending order";
  return nullptr;
}

// What CUB lays out: a histogram for each pass over each portion of the list, the state of each tile of a portion, and,
// where there are several passes, a copy of the list. Tiles differ from device to device. Those assumed here are
// shorter than CUB has for any device since Volta; CUB refuses a sort that needs more.
std::uint64_t cub_scratch_bytes(const cub_sort_shape& shape) {
  constexpr std::uint64_t least_portion = (std::uint64_t{1} << 28) - (std::uint64_t{1} << 14);
  const std::uint64_t least_tile = 20480 / std::max({shape.key_bytes, shape.value_bytes, 4U});
  const std::uint64_t passes = ceil_div(shape.bits(), radix_bits);
  const std::uint64_t portions = ceil_div(shape.count, least_portion);
  const std::uint64_t tiles = ceil_div(std::min(shape.count, std::uint64_t{1} << 28), least_tile);
  // Before Hopper, CUB counts keys of 1 and 2 bytes anew in each pass, in a table whose size the device decides, and
  // always copies the list. One block sorts fewer keys than these.
  constexpr std::uint64_t most_counts_bytes = std::uint64_t{8} << 20;
  constexpr std::uint64_t least_passes_keys = 2304;
  const bool may_count_anew = shape.key_bytes < 4 && shape.count > least_passes_keys;
  core::scratch_offsets arrays;
  arrays.take(portions * passes * radix_bins * sizeof(std::uint64_t));
  arrays.take(tiles * radix_bins * sizeof(std::uint32_t));
  if (passes > 1 || may_count_anew) {
    arrays.take(shape.count * shape.key_bytes);
    arrays.take(shape.count * shape.value_bytes);
  }
  arrays.take(portions * passes * sizeof(std::uint32_t));
  arrays.take(core::scratch_alignment);  // CUB aligns its first array by itself
  if (may_count_anew) arrays.take(most_counts_bytes);
  return arrays.bytes();
}

std::uint64_t cub_wanted_scratch_bytes(const cub_sort_shape& s) {
  std::size_t bytes = 0;
  require(call_cub(s, {}, {}, nullptr, bytes, nullptr), "cub");
  return bytes;
}

void run_cub_sort(const context& ctx, const cub_sort_shape& shape, const cub_key_encoding& encoding,
                  const cub_sort_arrays& arrays, std::byte* scratch) {
  // CUB looks at the thread's last error after some launches, and would take one for its own that was there before.
  cudaGetLastError();
  std::size_t scratch_bytes = cub_scratch_bytes(shape);
  require(call_cub(shape, encoding, arrays, scratch, scratch_bytes, ctx.stream()), ctx);
}

void write_row_numbers(const context& ctx, void* numbers, std::uint32_t number_bytes, std::uint64_t count) {
  const std::uint64_t blocks = ceil_div(count, block_threads);
  if (number_bytes == 8) {
    launch(ctx, number_rows<std::uint64_t>, blocks, static_cast<std::uint64_t*>(numbers), count);
  } else {
    launch(ctx, number_rows<std::uint32_t>, blocks, static_cast<std::uint32_t*>(numbers), count);
  }
}

}  // namespace sheaf::cuda
