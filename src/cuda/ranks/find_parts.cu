#include <optional>
#include <type_traits>

#include <sheaf/memory.hpp>

#include "cuda/block/rank.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/ranks/steps.hpp"

// The parts of rows by their keys' numbers. One reading of the keys writes two bytes a row and the counts of each
// tile, whose prefix sums then say where a tile's rows go.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Keys of one field that lies in an aligned word of a row: one load each.
/// @tparam IsWhole  the key is the word; else it is some of its bits, and no floating-point number
template <class Word, bool IsWhole>
struct word_numbers {
  const std::byte* data;
  std::uint64_t stride;
  Word flips;  ///< bits of the number that are stored the other way round
  Word mask;
  std::uint32_t shift;
  bool is_floating;
  bool is_big_endian;
  bool is_descending;

  __device__ __forceinline__ std::uint64_t operator()(std::uint64_t row) const {
    Word word = __ldcs(reinterpret_cast<const Word*>(data + row * stride));
    if (is_big_endian) {
      if constexpr (sizeof(Word) == 8) {
        const auto low = static_cast<std::uint32_t>(word);
        const auto high = static_cast<std::uint32_t>(word >> 32);
        word = static_cast<Word>(__byte_perm(low, 0, 0x0123)) << 32 | __byte_perm(high, 0, 0x0123);
      } else if constexpr (sizeof(Word) > 1) {
        word = static_cast<Word>(__byte_perm(word, 0, 0x0123) >> (32 - 8 * sizeof(Word)));
      }
    }
    if constexpr (!IsWhole) return static_cast<Word>((word >> shift ^ flips) & mask);
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

/// Where the field lies in a word of its row, or none.
template <class Word>
std::optional<std::uint64_t> offset_of_word(const rows_by_number& of) {
  const key_field& field = of.key.fields[0];
  const std::uint64_t offset = field.offset / sizeof(Word) * sizeof(Word);
  const bool has_it = of.key.field_count == 1 && field.offset + field.bytes <= offset + sizeof(Word) &&
                      offset + sizeof(Word) <= of.rows.record_bytes;
  const bool is_aligned = of.rows.stride_bytes % sizeof(Word) == 0 &&
                          reinterpret_cast<std::uintptr_t>(of.rows.data + offset) % sizeof(Word) == 0;
  if (!has_it || !is_aligned) return std::nullopt;
  return offset;
}

template <class Word>
bool is_whole_word(const rows_by_number& of) {
  const key_field& field = of.key.fields[0];
  return offset_of_word<Word>(of) && field.bytes == sizeof(Word) && bits_of(field) == 8 * sizeof(Word) &&
         of.dropped_bits == 0;
}

template <class Word, bool IsWhole>
word_numbers<Word, IsWhole> words_of(const rows_by_number& of) {
  const key_field& field = of.key.fields[0];
  const std::uint64_t offset = *offset_of_word<Word>(of);
  word_numbers<Word, IsWhole> numbers{};
  numbers.data = of.rows.data + offset;
  numbers.stride = of.rows.stride_bytes;
  numbers.is_floating = field.type == key_type::floating;
  numbers.is_big_endian = field.type == key_type::bytes;
  if (field.type == key_type::signed_integer) numbers.flips = static_cast<Word>(Word{1} << (field.bytes * 8 - 1));
  if constexpr (IsWhole) {
    numbers.is_descending = field.descending;
    return numbers;
  }
  const std::uint64_t bytes_before = field.offset - offset;
  const std::uint64_t bytes_below = numbers.is_big_endian ? sizeof(Word) - bytes_before - field.bytes : bytes_before;
  const std::uint32_t dropped = field.first_bit + of.dropped_bits;
  if (field.descending) numbers.flips = static_cast<Word>(~numbers.flips);
  numbers.flips = static_cast<Word>(numbers.flips >> dropped);
  numbers.mask = static_cast<Word>(~std::uint64_t{0} >> (64 - (bits_of(field) - of.dropped_bits)));
  numbers.shift = static_cast<std::uint32_t>(8 * bytes_below) + dropped;
  return numbers;
}

template <class Use>
void with_numbers(const rows_by_number& of, Use use) {
  if (is_whole_word<unsigned long long>(of)) return use(words_of<unsigned long long, true>(of));
  if (is_whole_word<unsigned>(of)) return use(words_of<unsigned, true>(of));
  if (of.key.fields[0].type != key_type::floating) {
    if (offset_of_word<unsigned char>(of)) return use(words_of<unsigned char, false>(of));
    if (offset_of_word<unsigned short>(of)) return use(words_of<unsigned short, false>(of));
    if (offset_of_word<unsigned>(of)) return use(words_of<unsigned, false>(of));
    if (offset_of_word<unsigned long long>(of)) return use(words_of<unsigned long long, false>(of));
  }
  use(other_numbers{of.rows.data, of.rows.stride_bytes, of.key, of.dropped_bits});
}

template <class Numbers>
__global__ void __launch_bounds__(block_threads)
    read_samples(const __grid_constant__ Numbers numbers, std::uint64_t rows, std::uint64_t samples,
                 std::uint64_t* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < samples) out[i] = numbers(sampled_row(i, samples, rows));
}

/// The part of a number. Where each number up to the last edge has a part of its own, that is the number. Else a table
/// by its distance from the first edge says between which edges it lies, few or none, and halving finds where.
class part_search {
 public:
  static constexpr std::uint32_t bins = 4096;
  struct tables {
    std::uint64_t edges[most_row_parts];
    std::uint32_t edges_of_bin[bins];  ///< how many are not above the bin's least number, and, times 2^16, its greatest
  };

  /// All threads of the block call it.
  __device__ part_search(tables& to, const std::uint64_t* edges, std::uint32_t count) : tables_(to), count_(count) {
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) to.edges[i] = edges[i];
    __syncthreads();
    if (count > 0) origin_ = to.edges[0];
    const std::uint64_t span = count > 0 ? to.edges[count - 1] - origin_ : 0;
    is_number_ = origin_ == 1 && span == count - 1;
    while (span >> shift_ >= bins) ++shift_;
    const auto edges_before = [&](std::uint32_t bin) -> std::uint32_t {
      if (bin == 0) return 0;
      return bin <= span >> shift_ ? edges_up_to(origin_ + (std::uint64_t{bin} << shift_), 0, count) : count;
    };
    for (std::uint32_t bin = threadIdx.x; bin < bins && !is_number_; bin += blockDim.x)
      to.edges_of_bin[bin] = edges_before(bin) | edges_before(bin + 1) << 16;
    __syncthreads();
  }

  __device__ __forceinline__ std::uint32_t operator()(std::uint64_t number) const {
    if (is_number_) return static_cast<std::uint32_t>(min(number, std::uint64_t{count_}));
    const std::uint64_t distance = number < origin_ ? 0 : number - origin_;
    const auto bin = static_cast<std::uint32_t>(min(distance >> shift_, std::uint64_t{bins - 1}));
    const std::uint32_t edges = tables_.edges_of_bin[bin];
    return edges_up_to(number, edges & 0xffff, edges >> 16);
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
  std::uint32_t count_;
  std::uint32_t shift_ = 0;
  bool is_number_ = false;
};

/// Tiles whose counts are added up together, so that few numbers are summed one after another.
constexpr std::uint64_t slab_tiles = 64;

/// Blocks take tiles in turn, because each makes its tables of edges before. A thread has half of its rows at once, so
/// that three blocks fit the registers of a multiprocessor.
template <class Numbers>
__global__ void __launch_bounds__(tile_threads, 3)
    count_parts(const __grid_constant__ Numbers numbers, const std::uint64_t* edges, std::uint32_t edge_count,
                const tiled_parts out, std::uint64_t slabs_of_chunk, std::uint32_t* slab_counts) {
  __shared__ part_search::tables tables;
  __shared__ std::uint32_t counts[most_row_parts];
  const part_search part_of(tables, edges, edge_count);
  if (threadIdx.x < most_row_parts) counts[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t tile = blockIdx.x; tile < out.tiles; tile += gridDim.x) {
    constexpr int at_once = rows_per_thread / 2;
    const auto count_rows = [&](std::uint64_t first, auto is_full) {
      std::uint64_t number[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint64_t row = first + k * tile_threads;
        if (is_full || row < out.rows) number[k] = numbers(row);
      }
      packed_numbers<at_once> part;
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint64_t row = first + k * tile_threads;
        if (!is_full && row >= out.rows) break;
        part.set(k, part_of(number[k]));
        out.part[row] = static_cast<std::uint16_t>(part.get(k));
      }
      // Atomics of one address come one after another, as where rows are in order or their keys few.
      if (is_full && has_shared_bin([&](int k) { return part.get(k); })) {
#pragma unroll
        for (int k = 0; k < at_once; ++k) add_aggregated<most_row_parts, true>(part.get(k), counts);
        return;
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (is_full || first + k * tile_threads < out.rows) atomicAdd(&counts[part.get(k)], 1U);
      }
    };
#pragma unroll 1
    for (int begin = 0; begin < rows_per_thread; begin += at_once) {
      const std::uint64_t first = tile * tile_rows + begin * tile_threads + threadIdx.x;
      (tile + 1) * tile_rows <= out.rows ? count_rows(first, std::true_type()) : count_rows(first, std::false_type());
    }
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
