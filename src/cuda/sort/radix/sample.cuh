#pragma once

#include "cuda/sort/radix/arguments.cuh"

// The map from keys to codes, by a sample of the keys. Real keys share their high bits: half of all floats of a normal
// distribution have one of six highest bytes. Each piece of the map gets as many codes as it has samples.
namespace sheaf::cuda {

/// The position of a sample's key, at a random place of its part of the list, so that what repeats at regular distances
/// is met as often as everything else.
__device__ __forceinline__ std::uint32_t sampled_position(std::uint32_t sample, std::uint32_t count) {
  const auto begin = static_cast<std::uint32_t>(std::uint64_t{count} * sample / key_sample::samples);
  return begin + __umulhi((sample + 1) * 0x9e3779b1U, count / key_sample::samples);
}

/// Sum of a thread's terms over the block. All threads call it.
template <class Block>
__device__ std::uint32_t sum_over_block(const Block& block, key_sample& s, std::uint32_t own) {
  __syncthreads();
  if (threadIdx.x == 0) s.sum = 0;
  __syncthreads();
  own = __reduce_add_sync(~0U, own);
  if (threadIdx.x % 32 == 0) atomicAdd(&s.sum, own);
  __syncthreads();
  return s.sum;
}

/// Counts the samples on each piece, as piece_of(number) says.
template <class Block, class PieceOf>
__device__ void count_pieces(const Block& block, key_sample& s, PieceOf piece_of) {
  for (std::uint32_t i = threadIdx.x; i < code_map::pieces; i += Block::threads) s.on_piece[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < key_sample::samples; i += Block::threads) {
    atomicAdd(&s.on_piece[piece_of(s.number[i])], 1U);
  }
  __syncthreads();
}

/// Sum of the squares of the samples on so many neighbouring pieces together: the less even, the greater.
template <class Block>
__device__ std::uint32_t sum_of_squares(const Block& block, key_sample& s, std::uint32_t together) {
  std::uint32_t squares = 0;
  for (std::uint32_t first = threadIdx.x * together; first < code_map::pieces; first += Block::threads * together) {
    std::uint32_t held = 0;
    for (std::uint32_t i = 0; i < together; ++i) held += s.on_piece[first + i];
    squares += held * held;
  }
  return sum_over_block(block, s, squares);
}

/// What samples say about codes, in samples of looked_up.
struct code_counts {
  std::uint32_t mixed;  ///< in codes that seem to be crowded, by several keys
  std::uint32_t heavy;  ///< likewise, by one key
  std::uint32_t alone;  ///< the only ones with their code
};

template <class Block, class Coder>
__device__ code_counts count_codes(const Block& block, key_sample& s, const Coder& coder) {
  constexpr std::uint32_t differs = 1U << 31;
  for (std::uint32_t i = threadIdx.x; i < key_sample::slots; i += Block::threads) s.first_in_slot[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) s.with_code[i] = 0;
  __syncthreads();
  const auto number_of = [&](std::uint32_t i) { return s.number[2 * i]; };
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) {
    const std::uint32_t code = coder.code_of(number_of(i));
    std::uint32_t first = i;
    for (std::uint32_t slot = code * 0x9e3779b1U >> 20;; slot = (slot + 1) % key_sample::slots) {
      const std::uint32_t holder = atomicCAS(&s.first_in_slot[slot], 0U, i + 1);
      first = holder == 0 ? i : holder - 1;
      if (coder.code_of(number_of(first)) == code) break;
    }
    atomicAdd(&s.with_code[first], 1U);
    if (number_of(first) != number_of(i)) atomicOr(&s.with_code[first], differs);
  }
  __syncthreads();
  // What a group's words leave in the sample, and a quarter, as a sample errs.
  const auto most =
      static_cast<std::uint32_t>(std::uint64_t{group_words} * key_sample::looked_up * 5 / 4 / block.count) + 1;
  code_counts own{};
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) {
    const std::uint32_t held = s.with_code[i] & ~differs;
    if (held > most) (s.with_code[i] >= differs ? own.mixed : own.heavy) += held;
    if (held == 1) ++own.alone;
  }
  return {sum_over_block(block, s, own.mixed), sum_over_block(block, s, own.heavy),
          sum_over_block(block, s, own.alone)};
}

/// Whether the digits of keys are better sorted by than codes. Time is in reads of all words: a pass takes two, and by
/// codes a quarter more; the words of mixed codes are moved twice more and sorted by digits.
template <int Limbs, bool has_values>
__device__ bool prefers_digits(const code_counts& counts, std::uint32_t count, std::uint32_t codes,
                               std::uint32_t passes, const std::uint32_t (&differing)[4]) {
  constexpr std::uint32_t samples = key_sample::looked_up;
  // Codes of heavy keys are taken to be mixed where there are other keys between them.
  const bool is_between = std::uint64_t{counts.alone} * count > std::uint64_t{codes} * samples;
  const std::uint32_t mixed = counts.mixed + (is_between ? counts.heavy : 0);
  // Codes of uneven keys of 4 bytes save too little time, but of pairs with few keys, which are not even finished.
  if (Limbs == 1 && (!has_values || mixed > samples / 32 || counts.heavy < samples / 8 * 7)) return true;
  std::uint32_t digits = 0;
  for (std::uint32_t d = 0; d < most_digits<Limbs>; ++d)
    digits += (differing[d / 4] >> (8 * (d % 4)) & 0xff) != 0 ? 1 : 0;
  const std::uint32_t by_digits = 2 + 4 * digits;
  std::uint32_t by_codes = 6 + 5 * passes;
  // Some 100 us, in which 256 MB are read.
  if (mixed > samples / 64) by_codes += 2 * (std::uint32_t{256'000'000} / sizeof(sort_word<Limbs>)) / count;
  return by_codes * samples + mixed * (by_digits + 12) > by_digits * samples;
}

/// Least and greatest number of the sample, folded where the scale is.
template <class Block, class Coder>
__device__ void find_range(const Block& block, key_sample& s, const Coder& coder) {
  unsigned long long least = ~0ULL;
  unsigned long long greatest = 0;
  for (std::uint32_t i = threadIdx.x; i < key_sample::samples; i += Block::threads) {
    const unsigned long long n = coder.folded_number(s.number[i]);
    least = min(least, n);
    greatest = max(greatest, n);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    least = min(least, __shfl_xor_sync(~0U, least, step));
    greatest = max(greatest, __shfl_xor_sync(~0U, greatest, step));
  }
  if (threadIdx.x == 0) {
    s.least = ~0ULL;
    s.greatest = 0;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    atomicMin(&s.least, least);
    atomicMax(&s.greatest, greatest);
  }
  __syncthreads();
}

/// Chooses the map. One block calls this.
template <int Limbs, payload_mode Payload, tile_length Length>
__device__ void choose_map(const radix_block<Limbs, Payload, Length>& block) {
  using coder_type = key_coder<Limbs>;
  constexpr int threads = radix_block<Limbs, Payload, Length>::threads;
  constexpr std::uint32_t samples = key_sample::samples;
  auto& s = *reinterpret_cast<key_sample*>(block.staged);
  code_map& map = *block.arguments.tables.map;
  const std::uint32_t count = block.count;
  coder_type coder(block);
  const auto& number_of = coder.number_of;
  if (threadIdx.x < 4) s.differing[threadIdx.x] = 0;
  __syncthreads();
  block.read_words(block.shared.arrays.words[0], [&](auto load) {
    const sort_word<Limbs> first = load(sampled_position(0, count));
    const key_mask<Limbs> key(block.arguments.key_low, block.arguments.key_high);
    std::uint32_t differing[Limbs] = {};
#pragma unroll 4
    for (std::uint32_t i = threadIdx.x; i < samples; i += threads) {
      const sort_word<Limbs> word = load(sampled_position(i, count));
      s.number[i] = number_of(word);
#pragma unroll
      for (int l = 0; l < Limbs; ++l) differing[l] |= (word.limb[l] ^ first.limb[l]) & key.limb[l];
    }
#pragma unroll
    for (int l = 0; l < Limbs; ++l) {
      const std::uint32_t of_warp = __reduce_or_sync(~0U, differing[l]);
      if (threadIdx.x % 32 == 0) atomicOr(&s.differing[l], of_warp);
    }
  });
  __syncthreads();
  // Uneven keys have 2^16 codes or fewer, or more in units of which there are as many.
  const std::uint32_t codes_of_uneven = codes_of_uneven_keys(count);
  const std::uint32_t unit_bits = codes_of_uneven > 1U << 16 ? 4 : 0;
  const auto store_map = [&](bool is_even, const key_scale& scale, std::uint32_t codes, std::uint32_t passes) {
    if (threadIdx.x != 0) return;
    map.codes = codes;
    map.unit_bits = unit_bits;
    map.passes = passes;
    map.digit_bits = passes == 0 ? 0 : (32 - __clz(static_cast<int>(codes - 1)) + passes - 1) / passes;
    map.is_even = is_even;
    map.scale = scale;
  };
  // Keys are taken to be even where chi squared of the 256 highest bytes, 255 on average and 23 more or less, is below
  // 345: three of four codes that are a sixth too large are found by that, and groups have room for a sixth.
  count_pieces(block, s, [&](std::uint64_t n) { return static_cast<std::uint32_t>(n >> (coder_type::bits - 11)); });
  constexpr std::uint32_t mean = samples / radix_bins;
  if (sum_of_squares(block, s, code_map::pieces / radix_bins) < mean * (samples + 345)) {
    const std::uint32_t codes = codes_of_even_keys(count);
    if (threadIdx.x == 0) block.shared.codes = codes;
    __syncthreads();
    // Few keys that are spread evenly are heavy ones. Short lists have room for them.
    if (count <= 1U << 20 || count_codes(block, s, even_coder<Limbs>(block)).heavy < key_sample::looked_up / 16) {
      return store_map(true, {}, codes, passes_of_codes(codes));
    }
  }
  // The scale on which the samples lie most evenly.
  const auto piece_of = [&](std::uint64_t n) {
    return coder.position_of(static_cast<typename coder_type::number>(n)) >> code_map::bits_in_piece;
  };
  key_scale best{};
  std::uint32_t least = ~0U;
  for (const bool is_folded : {false, true}) {
    coder.scale = {is_folded, 0, 0, 0};
    find_range(block, s, coder);
    // Keys that are less or greater than all of the sample have room, half as much as that.
    const unsigned long long margin = (s.greatest - s.least) / 2;
    coder.scale.least = s.least - min(margin, s.least);
    constexpr std::uint32_t mantissa_bits = 23;
    const auto greatest = static_cast<typename coder_type::number>(s.greatest);
    for (const std::uint32_t exponent_bits : {4U, 6U}) {
      // The exponents end one above that of the greatest number, or with the greatest of all.
      const std::uint32_t end = exponent_bits == 6 ? 127 + 64 : (coder.float_of(greatest) >> mantissa_bits) + 2;
      coder.scale.shift = exponent_bits + mantissa_bits + (is_folded ? 1 : 0) - code_map::position_bits;
      coder.scale.low = (max(end, 1U << exponent_bits) - (1U << exponent_bits)) << mantissa_bits;
      count_pieces(block, s, piece_of);
      const std::uint32_t squares = sum_of_squares(block, s, 1);
      if (squares / 4 * 5 < least) {
        least = squares;
        best = coder.scale;
      }
    }
  }
  coder.scale = best;
  count_pieces(block, s, piece_of);
  // A piece has codes even if no sample lies on it, and as many as its neighbours' samples say as well as its own:
  // those of 2^16 codes must not err by more than groups have room for.
  constexpr int each = bins_per_thread<code_map::pieces, threads>;
  constexpr int neighbours = 4;
  constexpr std::uint32_t total = (3 + 2 * neighbours) * samples + code_map::pieces;
  std::uint32_t weight[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int piece = threadIdx.x * each + k;
    weight[k] = piece < code_map::pieces ? 1 : 0;
    if (piece >= code_map::pieces) continue;
    for (int i = piece - neighbours; i <= piece + neighbours; ++i) {
      if (i >= 0 && i < code_map::pieces) weight[k] += i == piece ? 3 * s.on_piece[i] : s.on_piece[i];
    }
  }
  std::uint32_t begin[each];
#pragma unroll
  for (int k = 0; k < each; ++k) begin[k] = weight[k];
  scan_bins<code_map::pieces, threads>(begin, block.shared.warp_sums);
  const std::uint32_t units = codes_of_uneven >> unit_bits;
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const std::uint32_t piece = threadIdx.x * each + k;
    if (piece >= code_map::pieces) continue;
    const auto first = static_cast<std::uint32_t>(std::uint64_t{units} * begin[k] / total);
    const auto end = static_cast<std::uint32_t>(std::uint64_t{units} * (begin[k] + weight[k]) / total);
    // Codes are below `units` even where all lie on one piece.
    const std::uint32_t codes_of_piece = min(first, units - 1) << 16 | min(end - first, 0xffffU);
    block.codes_of_piece[piece] = map.codes_of_piece[piece] = codes_of_piece;
  }
  coder.unit_bits = unit_bits;
  __syncthreads();
  const std::uint32_t codes = codes_of_uneven;
  const std::uint32_t passes = passes_of_codes(codes);
  const bool by_digits =
      prefers_digits<Limbs, carries_values(Payload)>(count_codes(block, s, coder), count, codes, passes, s.differing);
  store_map(false, best, codes, by_digits ? 0 : passes);
}

}  // namespace sheaf::cuda
