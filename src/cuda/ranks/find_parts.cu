#include <sheaf/memory.hpp>

#include "cuda/device/launch.cuh"
#include "cuda/ranks/steps.hpp"

// The parts of rows by their keys' numbers. One reading of the keys writes two bytes a row and the counts of each
// tile, whose prefix sums then say where a tile's rows go.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Keys of one field of 4 or 8 bytes, aligned and compared by all bits: one load each.
template <class Word>
struct word_numbers {
  const std::byte* data;
  std::uint64_t stride;
  Word flips;  ///< the sign bit of numbers with a sign
  bool is_floating;
  bool is_big_endian;
  bool is_descending;

  __device__ __forceinline__ std::uint64_t operator()(std::uint64_t row) const {
    Word word = __ldcs(reinterpret_cast<const Word*>(data + row * stride));
    if (is_big_endian) {
      if constexpr (sizeof(Word) == 4) {
        word = __byte_perm(word, 0, 0x0123);
      } else {
        const auto low = static_cast<std::uint32_t>(word);
        const auto high = static_cast<std::uint32_t>(word >> 32);
        word = static_cast<Word>(__byte_perm(low, 0, 0x0123)) << 32 | __byte_perm(high, 0, 0x0123);
      }
    }
    word ^= flips;
    if (is_floating) {
      constexpr int sign_bit = sizeof(Word) * 8 - 1;
      word ^= (Word{0} - (word >> sign_bit)) | Word{1} << sign_bit;
    }
    return is_descending ? static_cast<Word>(~word) : word;
  }
};

struct other_numbers {
  const std::byte* data;
  std::uint64_t stride;
  key_layout key;
  std::uint32_t dropped_bits;

  __device__ __noinline__ std::uint64_t operator()(std::uint64_t row) const {
    return number_of_row(data + row * stride, key, dropped_bits);
  }
};

template <class Word>
bool is_one_word(const rows_by_number& of) {
  const key_field& field = of.key.fields[0];
  return of.key.field_count == 1 && field.bytes == sizeof(Word) && bits_of(field) == 8 * sizeof(Word) &&
         of.dropped_bits == 0 && of.rows.stride_bytes % sizeof(Word) == 0 &&
         reinterpret_cast<std::uintptr_t>(of.rows.data + field.offset) % sizeof(Word) == 0;
}

template <class Word>
word_numbers<Word> words_of(const rows_by_number& of) {
  const key_field& field = of.key.fields[0];
  const Word sign = Word{1} << (sizeof(Word) * 8 - 1);
  return {of.rows.data + field.offset,
          of.rows.stride_bytes,
          field.type == key_type::signed_integer ? sign : Word{0},
          field.type == key_type::floating,
          field.type == key_type::bytes,
          field.descending};
}

template <class Use>
void with_numbers(const rows_by_number& of, Use use) {
  if (is_one_word<unsigned long long>(of)) return use(words_of<unsigned long long>(of));
  if (is_one_word<unsigned>(of)) return use(words_of<unsigned>(of));
  use(other_numbers{of.rows.data, of.rows.stride_bytes, of.key, of.dropped_bits});
}

template <class Numbers>
__global__ void __launch_bounds__(block_threads)
    read_samples(const __grid_constant__ Numbers numbers, std::uint64_t rows, std::uint64_t samples,
                 std::uint64_t* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < samples) out[i] = numbers(sampled_row(i, samples, rows));
}

/// The part of a number: a table by its distance from the first edge says between which edges it lies, few or none,
/// and halving finds where.
class part_search {
 public:
  static constexpr std::uint32_t bins = 4096;
  struct tables {
    std::uint64_t edges[most_row_parts];
    std::uint16_t edges_before[bins + 1];  ///< edges at or below the least number of a bin
  };

  /// All threads of the block call it.
  __device__ part_search(tables& to, const std::uint64_t* edges, std::uint32_t count) : tables_(to) {
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) to.edges[i] = edges[i];
    __syncthreads();
    if (count > 0) origin_ = to.edges[0];
    const std::uint64_t span = count > 0 ? to.edges[count - 1] - origin_ : 0;
    while (span >> shift_ >= bins) ++shift_;
    for (std::uint32_t bin = threadIdx.x; bin <= bins; bin += blockDim.x) {
      std::uint32_t before = bin == 0 ? 0 : count;
      if (bin > 0 && bin <= span >> shift_) before = edges_up_to(origin_ + (std::uint64_t{bin} << shift_), 0, count);
      to.edges_before[bin] = static_cast<std::uint16_t>(before);
    }
    __syncthreads();
  }

  __device__ __forceinline__ std::uint32_t operator()(std::uint64_t number) const {
    const std::uint64_t distance = number < origin_ ? 0 : number - origin_;
    const auto bin = static_cast<std::uint32_t>(min(distance >> shift_, std::uint64_t{bins - 1}));
    return edges_up_to(number, tables_.edges_before[bin], tables_.edges_before[bin + 1]);
  }

 private:
  /// Edges that are not above the number, which are at least `low` and at most `high`.
  __device__ __forceinline__ std::uint32_t edges_up_to(std::uint64_t number, std::uint32_t low,
                                                       std::uint32_t high) const {
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (tables_.edges[middle] <= number) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const tables& tables_;
  std::uint64_t origin_ = 0;
  std::uint32_t shift_ = 0;
};

/// Tiles whose counts are added up together, so that few numbers are summed one after another.
constexpr std::uint64_t slab_tiles = 64;

/// Blocks take tiles in turn, because each makes its tables of edges before.
template <class Numbers>
__global__ void __launch_bounds__(tile_threads, 2)
    count_parts(const __grid_constant__ Numbers numbers, const std::uint64_t* edges, std::uint32_t edge_count,
                const tiled_parts out, std::uint64_t slabs_of_chunk, std::uint32_t* slab_counts) {
  __shared__ part_search::tables tables;
  __shared__ std::uint32_t counts[most_row_parts];
  const part_search part_of(tables, edges, edge_count);
  if (threadIdx.x < most_row_parts) counts[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t tile = blockIdx.x; tile < out.tiles; tile += gridDim.x) {
    const std::uint64_t first = tile * tile_rows + threadIdx.x;
    const auto count_rows = [&](auto is_full) {
      std::uint64_t number[rows_per_thread];
#pragma unroll
      for (int k = 0; k < rows_per_thread; ++k) {
        const std::uint64_t row = first + k * tile_threads;
        if (is_full || row < out.rows) number[k] = numbers(row);
      }
#pragma unroll
      for (int k = 0; k < rows_per_thread; ++k) {
        const std::uint64_t row = first + k * tile_threads;
        if (!is_full && row >= out.rows) break;
        const std::uint32_t part = part_of(number[k]);
        out.part[row] = static_cast<std::uint16_t>(part);
        atomicAdd(&counts[part], 1U);
      }
    };
    (tile + 1) * tile_rows <= out.rows ? count_rows(std::true_type()) : count_rows(std::false_type());
    __syncthreads();
    if (threadIdx.x < out.parts) {
      const std::uint32_t count = counts[threadIdx.x];
      counts[threadIdx.x] = 0;
      out.before[tile * out.parts + threadIdx.x] = count;
      const std::uint64_t slab = tile / out.chunk_tiles * slabs_of_chunk + tile % out.chunk_tiles / slab_tiles;
      if (count > 0) atomicAdd(slab_counts + slab * out.parts + threadIdx.x, count);
    }
    __syncthreads();
  }
}

/// Replaces `count` numbers of a column by the sums of those before each, and returns the sum of all. Loads of several
/// are under way at once.
__device__ __forceinline__ std::uint32_t scan_column(std::uint32_t* column, std::uint64_t count, std::uint32_t stride,
                                                     std::uint32_t sum) {
  constexpr std::uint64_t at_once = 16;
  for (std::uint64_t first = 0; first < count; first += at_once) {
    std::uint32_t numbers[at_once];
#pragma unroll
    for (std::uint64_t k = 0; k < at_once; ++k) numbers[k] = first + k < count ? column[(first + k) * stride] : 0;
#pragma unroll
    for (std::uint64_t k = 0; k < at_once; ++k) {
      if (first + k < count) column[(first + k) * stride] = sum;
      sum += numbers[k];
    }
  }
  return sum;
}

/// A block for each chunk, a thread for each part.
__global__ void __launch_bounds__(most_row_parts)
    scan_slabs(const tiled_parts out, std::uint64_t slabs_of_chunk, std::uint32_t* slab_counts) {
  if (threadIdx.x >= out.parts) return;
  const std::uint64_t chunk = blockIdx.x;
  out.counts[chunk * out.parts + threadIdx.x] =
      scan_column(slab_counts + chunk * slabs_of_chunk * out.parts + threadIdx.x, slabs_of_chunk, out.parts, 0);
}

/// A block for each slab, a thread for each part.
__global__ void __launch_bounds__(most_row_parts)
    scan_tiles_of_slabs(const tiled_parts out, std::uint64_t slabs_of_chunk, const std::uint32_t* slab_counts) {
  if (threadIdx.x >= out.parts) return;
  const std::uint64_t slab = blockIdx.x;
  const std::uint64_t chunk = slab / slabs_of_chunk;
  const std::uint64_t chunk_end = min(out.tiles, (chunk + 1) * out.chunk_tiles);
  const std::uint64_t begin = chunk * out.chunk_tiles + slab % slabs_of_chunk * slab_tiles;
  const std::uint64_t end = min(begin + slab_tiles, chunk_end);
  if (begin >= end) return;
  scan_column(out.before + begin * out.parts + threadIdx.x, end - begin, out.parts,
              slab_counts[slab * out.parts + threadIdx.x]);
}

}  // namespace

void sample_row_numbers(const context& ctx, const rows_by_number& of, std::uint64_t samples, std::uint64_t* numbers) {
  if (samples == 0) return;
  const run_scope scope(ctx, "sample numbers");
  with_numbers(of, [&](auto reader) {
    launch(ctx, read_samples<decltype(reader)>, ceil_div(samples, block_threads), reader, of.rows.count, samples,
           numbers);
  });
}

void find_row_parts(const context& ctx, const rows_by_number& of, const tiled_parts& out) {
  const run_scope scope(ctx, "find parts");
  const std::uint64_t slabs_of_chunk = ceil_div(out.chunk_tiles, slab_tiles);
  const std::uint64_t slabs = slabs_of_chunk * out.chunks;
  const buffer slab_counts(ctx, slabs * out.parts * sizeof(std::uint32_t));
  require(cudaMemsetAsync(slab_counts.data(), 0, slab_counts.size(), ctx.stream()), ctx);
  auto* const sums = slab_counts.as<std::uint32_t>();
  if (out.tiles > 0) {
    with_numbers(of, [&](auto reader) {
      const auto kernel = count_parts<decltype(reader)>;
      const std::uint64_t resident =
          state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), tile_threads, 0);
      launch_blocks(ctx, kernel, std::min(resident, out.tiles), tile_threads, reader, of.edges, of.edge_count, out,
                    slabs_of_chunk, sums);
    });
  }
  launch_blocks(ctx, scan_slabs, out.chunks, most_row_parts, out, slabs_of_chunk, sums);
  launch_blocks(ctx, scan_tiles_of_slabs, slabs, most_row_parts, out, slabs_of_chunk, sums);
}

}  // namespace sheaf::cuda
