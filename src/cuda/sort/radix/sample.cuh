#pragma once

#include "cuda/sort/radix/arguments.cuh"

// The map from keys to codes, by a sample of the keys. Real keys often share their high bits: half of all floats of a
// normal distribution have one of six highest bytes. Each piece of the map gets codes in proportion to the samples that
// it and its neighbours have.
namespace sheaf::cuda {

/// The index in the list of a sample's key, at random in the sample's part of the list, so that what repeats at regular
/// distances is met as often as everything else.
__device__ __forceinline__ std::uint32_t sampled_index(std::uint32_t sample, std::uint32_t count) {
  const auto begin = static_cast<std::uint32_t>(std::uint64_t{count} * sample / key_sample::samples);
  return begin + __umulhi((sample + 1) * 0x9e3779b1U, count / key_sample::samples);
}

/// Replaces the threads' terms by their sums over the block. All threads call it.
template <int Sums>
__device__ void add_over_block(key_sample& sample, std::uint32_t (&terms)[Sums]) {
  static_assert(Sums <= key_sample::most_sums);
  __syncthreads();
  if (threadIdx.x < Sums) sample.sums[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Sums; ++i) {
    terms[i] = __reduce_add_sync(~0U, terms[i]);
    if (threadIdx.x % 32 == 0) atomicAdd(&sample.sums[i], terms[i]);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Sums; ++i) terms[i] = sample.sums[i];
}

/// Counts the samples in each interval of several divisions, interval_of(division, number). Sets `squares` to the sums
/// of the squares of the counts: the less even, the greater.
template <class Block, int Divisions, class IntervalOf>
__device__ void count_in_intervals(const Block& block, key_sample& sample, std::uint32_t (&squares)[Divisions],
                                   IntervalOf interval_of) {
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < Divisions * code_map::pieces; i += Block::threads)
    sample.in_interval[0][i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < key_sample::samples; i += Block::threads) {
    const std::uint64_t number = sample.number[i];
#pragma unroll
    for (int d = 0; d < Divisions; ++d) atomicAdd(&sample.in_interval[d][interval_of(d, number)], 1U);
  }
  __syncthreads();
#pragma unroll
  for (int d = 0; d < Divisions; ++d) squares[d] = 0;
  for (std::uint32_t i = threadIdx.x; i < code_map::pieces; i += Block::threads) {
#pragma unroll
    for (int d = 0; d < Divisions; ++d) squares[d] += sample.in_interval[d][i] * sample.in_interval[d][i];
  }
  add_over_block(sample, squares);
}

/// How many of the key_sample::looked_up samples are of which kind.
struct code_counts {
  std::uint32_t mixed;  ///< samples in codes that are taken to be crowded, and to have several keys
  std::uint32_t heavy;  ///< samples in codes that seem to be crowded, and to have one key
  std::uint32_t alone;  ///< samples that are the only ones with their code
};

template <class Block, class CodeOf>
__device__ code_counts count_codes(const Block& block, key_sample& sample, CodeOf code_of) {
  constexpr std::uint32_t differs = 1U << 31;
  for (std::uint32_t i = threadIdx.x; i < key_sample::slots; i += Block::threads) sample.first_in_slot[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) sample.with_code[i] = 0;
  __syncthreads();
  const auto number_of = [&](std::uint32_t i) { return sample.number[2 * i]; };
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) {
    const std::uint32_t code = code_of(number_of(i));
    std::uint32_t first = i;
    for (std::uint32_t slot = code * 0x9e3779b1U >> 20;; slot = (slot + 1) % key_sample::slots) {
      const std::uint32_t holder = atomicCAS(&sample.first_in_slot[slot], 0U, i + 1);
      first = holder == 0 ? i : holder - 1;
      if (code_of(number_of(first)) == code) break;
    }
    atomicAdd(&sample.with_code[first], 1U);
    if (number_of(first) != number_of(i)) atomicOr(&sample.with_code[first], differs);
  }
  __syncthreads();
  const float of_group = static_cast<float>(most_group_words) * key_sample::looked_up / static_cast<float>(block.count);
  // A quarter more, or three standard deviations more, because a sample errs.
  const auto most_of_heavy = static_cast<std::uint32_t>(of_group * 1.25F) + 1;
  const auto most_of_mixed = static_cast<std::uint32_t>(of_group + 3 * sqrtf(of_group)) + 2;
  std::uint32_t mixed_heavy_alone_pairs[5] = {};  // and codes of one key that three or more samples have
  for (std::uint32_t i = threadIdx.x; i < key_sample::looked_up; i += Block::threads) {
    const std::uint32_t held = sample.with_code[i] & ~differs;
    const bool is_mixed = sample.with_code[i] >= differs;
    if (is_mixed && held > most_of_mixed) mixed_heavy_alone_pairs[0] += held;
    if (is_mixed && held <= most_of_mixed) mixed_heavy_alone_pairs[3] += held * (held - 1);
    if (!is_mixed && held > most_of_heavy) mixed_heavy_alone_pairs[1] += held;
    if (held == 1) ++mixed_heavy_alone_pairs[2];
    if (!is_mixed && held >= 3) ++mixed_heavy_alone_pairs[4];
  }
  add_over_block(sample, mixed_heavy_alone_pairs);
  // Long lists have less than a sample in a group, so that few codes show whether they are crowded. How many samples
  // share their code with another says how many words the codes of samples have in the mean, and that, how many words
  // lie in crowded codes (docs/experiments/sort.md).
  const std::uint32_t rest = key_sample::looked_up - mixed_heavy_alone_pairs[0];
  const float groups_of_code =
      static_cast<float>(mixed_heavy_alone_pairs[3]) / (of_group * static_cast<float>(rest + 1));
  const float share = __saturatef(0.85F * groups_of_code - 0.38F);
  // Nor do samples that are alone show whether their key is heavy. Where frequencies fall by a power law, half as many
  // keys have three samples and more as there are in each e-fold of frequencies, and e-folds lie between one sample and
  // those of a group.
  const float e_folds = __logf(fmaxf(1, 0.56F / of_group));
  const auto unseen = static_cast<std::uint32_t>(2 * static_cast<float>(mixed_heavy_alone_pairs[4]) * e_folds);
  return {mixed_heavy_alone_pairs[0] + static_cast<std::uint32_t>(share * static_cast<float>(rest)),
          mixed_heavy_alone_pairs[1] + min(unseen, mixed_heavy_alone_pairs[2]), mixed_heavy_alone_pairs[2]};
}

// What sorts take, in halves of a read of all words: fitted to 4 * 10^7 keys of 8 bytes on an H200, where a half is 69
// us, and with values of 4 bytes 92 us.
constexpr std::uint32_t histogram_halves = 2;   // reads all words once
constexpr std::uint32_t digit_pass_halves = 4;  // reads and writes all words
constexpr std::uint32_t code_pass_halves = 5;   // looks up codes besides
constexpr std::uint32_t finish_halves = 5;      // reads and writes all words
constexpr std::uint32_t clustered_halves = 8;   // many groups of clustered keys are distributed twice
constexpr std::uint32_t mixed_halves = 12;      // takes the words of mixed codes out, and puts them back

/// What a sort by the digits of keys takes, in such halves.
template <int Limbs>
__device__ std::uint32_t halves_by_digits(const std::uint32_t (&differing)[4]) {
  std::uint32_t digits = 0;
  for (std::uint32_t d = 0; d < most_digits<Limbs>; ++d)
    digits += (differing[d / 4] >> (8 * (d % 4)) & 0xff) != 0 ? 1 : 0;
  return histogram_halves + digit_pass_halves * digits;
}

/// What a sort by codes takes, in such halves for each of the samples that were looked up; all bits set if codes do not
/// suit the keys.
template <int Limbs, bool has_values>
__device__ std::uint32_t sampled_halves_by_codes(const code_counts& counts, std::uint32_t count, std::uint32_t codes,
                                                 std::uint32_t by_digits) {
  constexpr std::uint32_t samples = key_sample::looked_up;
  // If the list has more than about one rare key a code, codes of heavy keys count as mixed.
  const bool heavy_codes_are_mixed = std::uint64_t{counts.alone} * count > std::uint64_t{codes} * samples;
  const std::uint32_t mixed = counts.mixed + (heavy_codes_are_mixed ? counts.heavy : 0);
  // Codes of uneven keys of 4 bytes save too little time. Exception: pairs of which nearly all have one of few keys,
  // because crowded codes of one key need no finishing.
  if (Limbs == 1 && (!has_values || mixed > samples / 32 || counts.heavy < samples / 8 * 7)) return ~0U;
  std::uint32_t by_codes = histogram_halves + finish_halves + code_pass_halves * passes_of_codes(codes);
  // Heavy keys do not cluster, whatever lies between them, and a few mixed samples may be chance.
  if (codes > codes_of_uneven_keys(count) || counts.mixed > samples / 16) by_codes += clustered_halves;
  // Mixed codes take some 100 us more, in which 256 MB are read.
  if (mixed > samples / 64) by_codes += 2 * (std::uint32_t{256'000'000} / sizeof(sort_word<Limbs>)) / count;
  return by_codes * samples + mixed * (by_digits + mixed_halves);
}

/// The least of the warp's numbers.
__device__ __forceinline__ std::uint64_t least_of_warp(std::uint64_t number) {
  const auto high = static_cast<std::uint32_t>(number >> 32);
  const std::uint32_t least = __reduce_min_sync(~0U, high);
  return std::uint64_t{least} << 32 | __reduce_min_sync(~0U, high == least ? static_cast<std::uint32_t>(number) : ~0U);
}

/// Least and greatest number of the sample, as they are and folded.
template <class Block, class Coder>
__device__ void find_ranges(const Block& block, key_sample& sample, Coder coder) {
  if (threadIdx.x < 2) sample.least[threadIdx.x] = ~0ULL;
  if (threadIdx.x < 2) sample.greatest[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (const bool is_folded : {false, true}) {
    coder.scale.is_folded = is_folded;
    std::uint64_t least = ~0ULL;
    std::uint64_t greatest = 0;
    for (std::uint32_t i = threadIdx.x; i < key_sample::samples; i += Block::threads) {
      const std::uint64_t n = coder.folded_number(static_cast<typename Coder::number>(sample.number[i]));
      least = min(least, n);
      greatest = max(greatest, n);
    }
    least = least_of_warp(least);
    greatest = ~least_of_warp(~greatest);
    if (threadIdx.x % 32 == 0) {
      atomicMin(&sample.least[is_folded], least);
      atomicMax(&sample.greatest[is_folded], greatest);
    }
  }
  __syncthreads();
}

/// Takes the sample, and notes in which bits its keys differ.
template <class Block>
__device__ void take_sample(const Block& block, key_sample& sample) {
  using word = typename Block::word;
  const key_numbers<word::limbs> number_of(block.arguments.key_low, block.arguments.key_high);
  if (threadIdx.x < 4) sample.differing[threadIdx.x] = 0;
  __syncthreads();
  block.read_words(block.shared.arrays.words[0], [&](auto load) {
    const word first = load(sampled_index(0, block.count));
    const key_mask<word::limbs> key(block.arguments.key_low, block.arguments.key_high);
    word differing{};
#pragma unroll 4
    for (std::uint32_t i = threadIdx.x; i < key_sample::samples; i += Block::threads) {
      const word w = load(sampled_index(i, block.count));
      sample.number[i] = number_of(w);
#pragma unroll
      for (int l = 0; l < word::limbs; ++l) differing.limb[l] |= (w.limb[l] ^ first.limb[l]) & key.limb[l];
    }
#pragma unroll
    for (int l = 0; l < word::limbs; ++l) {
      const std::uint32_t of_warp = __reduce_or_sync(~0U, differing.limb[l]);
      if (threadIdx.x % 32 == 0) atomicOr(&sample.differing[l], of_warp);
    }
  });
  __syncthreads();
}

/// Whether the samples are spread evenly over their highest bits. Chi squared of the 256 values of the highest byte has
/// the mean 255 and the standard deviation 23 for even keys; the limit is four deviations above the mean. Up to 2^20
/// words have at most 256 codes, so that this suffices. Longer lists have more: there the codes of the samples also
/// find keys that are even only in their highest byte, or that have few distinct values. By chance, up to two fifths of
/// the samples of even keys count as mixed; the limit of three quarters is well above.
template <int Limbs, class Block>
__device__ bool are_even(const Block& block, key_sample& sample, std::uint32_t codes) {
  constexpr std::uint32_t bits = key_numbers<Limbs>::bits;
  constexpr std::uint32_t most_chi_squared = 345;
  std::uint32_t squares[1];
  count_in_intervals(block, sample, squares,
                     [](int, std::uint64_t n) { return static_cast<std::uint32_t>(n >> (bits - 8)); });
  if (squares[0] >= key_sample::samples / radix_bins * (key_sample::samples + most_chi_squared)) return false;
  if (block.count <= 1U << 20) return true;
  const auto code_of = [&](std::uint64_t n) { return static_cast<std::uint32_t>((n >> (bits - 32)) * codes >> 32); };
  const code_counts counts = count_codes(block, sample, code_of);
  return counts.heavy < key_sample::looked_up / 16 && counts.mixed < key_sample::looked_up / 4 * 3;
}

/// The scales to choose from. Exponents of 6 bits are all that numbers of 64 bits have. Those of 4 bits are the 16 that
/// end one above the exponent of the greatest sample, and leave two more bits to the mantissa.
struct scale_form {
  bool is_folded;
  std::uint32_t exponent_bits;
};

/// Chooses the scale on which the samples lie most evenly; a later scale has to be a fifth better. Returns its index in
/// key_sample::in_interval.
template <class Block, class Coder>
__device__ int choose_scale(const Block& block, key_sample& sample, Coder coder, key_scale& chosen) {
  constexpr scale_form forms[key_sample::scales] = {{false, 4}, {false, 6}, {true, 4}, {true, 6}};
  constexpr std::uint32_t mantissa_bits = 23;
  constexpr std::uint32_t end_of_all_exponents = 127 + 64;  // that of 2^64
  find_ranges(block, sample, coder);
  key_scale scales[key_sample::scales];
#pragma unroll
  for (int i = 0; i < key_sample::scales; ++i) {
    const auto [is_folded, exponent_bits] = forms[i];
    key_scale& scale = scales[i];
    scale = {};
    scale.is_folded = is_folded;
    // The scale begins below the least sample by half of the samples' range, or at 0, for keys that the sample has
    // missed.
    const unsigned long long margin = (sample.greatest[is_folded] - sample.least[is_folded]) / 2;
    scale.origin = sample.least[is_folded] - min(margin, sample.least[is_folded]);
    // The window of 4 bits ends one exponent above that of the greatest sample.
    coder.scale = scale;
    const auto greatest = static_cast<typename Coder::number>(sample.greatest[is_folded]);
    const std::uint32_t end =
        exponent_bits == 6 ? end_of_all_exponents : (coder.float_of(greatest) >> mantissa_bits) + 2;
    scale.dropped_bits = exponent_bits + mantissa_bits + (is_folded ? 1 : 0) - code_map::quantized_bits;
    scale.low_float = (max(end, 1U << exponent_bits) - (1U << exponent_bits)) << mantissa_bits;
  }
  std::uint32_t squares[key_sample::scales];
  count_in_intervals(block, sample, squares, [&](int i, std::uint64_t n) {
    coder.scale = scales[i];
    return coder.quantize(static_cast<typename Coder::number>(n)) >> code_map::bits_in_piece;
  });
  int index = 0;
  std::uint32_t least = ~0U;
#pragma unroll
  for (int i = 0; i < key_sample::scales; ++i) {
    if (squares[i] / 4 * 5 >= least) continue;
    least = squares[i];
    chosen = scales[i];
    index = i;
  }
  return index;
}

/// Gives the pieces their codes, at most `units` in all, in the block's shared memory and in the map: in proportion to
/// the samples on each piece, smoothed over its neighbours, so that the sampling error of 2^16 codes stays within the
/// room that groups have. Of 2^16 units every piece gets at least one, even without samples. Of 256 most pieces get
/// none; keys on these have the code that comes after those of all pieces before.
template <class Block>
__device__ void assign_codes(const Block& block, const std::uint32_t (&in_interval)[code_map::pieces],
                             std::uint32_t units) {
  constexpr int each = bins_per_thread<code_map::pieces, Block::threads>;
  constexpr int neighbours = 4;
  constexpr std::uint32_t total = (3 + 2 * neighbours) * key_sample::samples + code_map::pieces;
  std::uint32_t weight[each];
  std::uint32_t begin[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int piece = threadIdx.x * each + k;
    weight[k] = piece < code_map::pieces ? 1 : 0;
    for (int i = max(piece - neighbours, 0); i <= piece + neighbours && i < code_map::pieces; ++i) {
      if (piece < code_map::pieces) weight[k] += i == piece ? 3 * in_interval[i] : in_interval[i];
    }
    begin[k] = weight[k];
  }
  scan_bins<code_map::pieces, Block::threads>(begin, block.shared.warp_sums);
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const std::uint32_t piece = threadIdx.x * each + k;
    if (piece >= code_map::pieces) continue;
    const auto first = static_cast<std::uint32_t>(std::uint64_t{units} * begin[k] / total);
    const auto end = static_cast<std::uint32_t>(std::uint64_t{units} * (begin[k] + weight[k]) / total);
    // A piece has less than a third of the codes, so that its number of them fits 16 bits.
    block.codes_of_piece[piece] = block.arguments.tables.map->codes_of_piece[piece] = first << 16 | (end - first);
  }
  __syncthreads();
}

/// Chooses the map, and whether the sort goes by codes or by digits. One block calls this.
template <int Limbs, value_width Values, tile_length Length>
__device__ void choose_map(const radix_block<Limbs, Values, Length>& block) {
  auto& sample = *reinterpret_cast<key_sample*>(block.staged);
  const radix_arguments& args = block.arguments;
  const auto store_shape = [&](bool is_even, std::uint32_t codes, bool by_digits, const key_scale& scale) {
    const std::uint32_t passes = passes_of_codes(codes);
    const std::uint32_t digit_bits = (32 - __clz(static_cast<int>(codes - 1)) + passes - 1) / passes;
    if (threadIdx.x == 0) {
      args.tables.map->shape = {is_even, codes, by_digits ? 0 : passes, digit_bits, code_map::unit_bits_of(codes),
                                scale};
    }
  };
  take_sample(block, sample);
  const std::uint32_t even_codes = min(codes_of_even_keys(block.count), 1U << min(args.key_high - args.key_low, 31));
  if (are_even<Limbs>(block, sample, even_codes)) return store_shape(true, even_codes, false, {});

  const std::uint32_t by_digits = halves_by_digits<Limbs>(sample.differing);
  std::uint32_t least = by_digits * key_sample::looked_up;
  std::uint32_t chosen = 0;  // codes; 0: the sort goes by digits
  // The block's shape and pieces are not set yet: the next lines give the coder its scale and its units, and set the
  // pieces.
  piecewise_coder<Limbs> coder(block, whole_code);
  const std::uint32_t fewest = codes_of_uneven_keys(block.count);
  assign_codes(block, sample.in_interval[choose_scale(block, sample, coder, coder.scale)],
               min(fewest, code_map::most_units));
  // Takes so many codes if they take less time; returns how many samples they leave in mixed ones.
  const auto consider = [&](std::uint32_t codes) {
    coder.unit_bits = code_map::unit_bits_of(codes);
    const code_counts counts = count_codes(block, sample, [&](std::uint64_t n) {
      return coder.code_of(static_cast<typename piecewise_coder<Limbs>::number>(n));
    });
    const std::uint32_t by_codes =
        sampled_halves_by_codes<Limbs, carries_values(Values)>(counts, block.count, codes, by_digits);
    if (by_codes < least) chosen = codes;
    least = min(least, by_codes);
    return counts.mixed;
  };
  // Wide keys that share their highest 64 bits have one code.
  if (Limbs <= 2 || (sample.differing[Limbs - 1] | sample.differing[Limbs - 2]) != 0) {
    const std::uint32_t mixed = consider(fewest);
    // Codes of three passes may be few enough words each where those of two leave many words in mixed ones, but not
    // nearly all.
    const std::uint32_t most = most_codes_of_uneven_keys(block.count);
    constexpr std::uint32_t samples = key_sample::looked_up;
    if (Limbs > 1 && most > fewest && mixed > samples / 16 && mixed < samples / 4 * 3) consider(most);
  }
  store_shape(false, max(chosen, 1U), chosen == 0, coder.scale);
}

}  // namespace sheaf::cuda
