#include "primitives/split.hpp"

#include <algorithm>

#include "cuda/split_arguments.cuh"
#include "cuda/split_cost.hpp"
#include "cuda/split_pairs.cuh"
#include "cuda/split_passes.hpp"
#include "primitives/scatter.hpp"

// Splits of records that are single words and of record numbers: one pass over 256 categories, or up to 2048 where the
// order inside a category does not matter, or passes from the lowest digit on.
namespace sheaf::cuda {
namespace {

using primitives::split_buffers;
using primitives::split_problem;
using primitives::split_product;

constexpr std::uint32_t digit_bits = 8;
constexpr std::uint64_t least_scratch = 256;  // so that a pointer into it is never null

bool is_apart(const split_problem& p) { return p.key_is_apart(); }

/// Bits that passes sort by: a bad category counts as one more.
std::uint32_t key_bits(const split_problem& p) {
  if (!is_apart(p)) return p.bits.count;
  return primitives::category_bits(p.categories + (p.checks_category() ? 1 : 0));
}

std::uint32_t passes_of(const split_problem& p) {
  return p.categories <= narrow_bins ? 1 : static_cast<std::uint32_t>(ceil_div(key_bits(p), digit_bits));
}

std::uint32_t pair_bytes(const split_problem& p) { return p.word_bytes == 8 ? 16 : 8; }

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, least_scratch) * least_scratch; }

const char* words_rejection(const split_problem& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (p.record_bytes != p.word_bytes) return "a record is more than one aligned word";
  if (is_apart(p) && p.word_bytes < 4) return "records of 1 and 2 bytes move only with their key in them";
  if (p.in_stride_bytes != p.word_bytes || p.out_stride_bytes != p.word_bytes) return "records lie apart";
  if (p.key_stride_bytes > ~std::uint32_t{0}) return "keys lie 4 GiB apart";
  return nullptr;
}

split_pass pass_of(const split_problem& p, const split_buffers& b) {
  split_pass pass;
  pass.count = p.count;
  pass.word_bytes = p.word_bytes;
  pass.categories = p.categories;
  pass.offsets = b.offsets;
  if (p.product == split_product::records) {
    pass.in = b.in.data;
    pass.out = b.out.data;
  } else if (p.product == split_product::gather_index) {
    pass.out = static_cast<std::byte*>(b.index.data);
  } else {
    pass.scatter_index = b.index.data;
  }
  if (is_apart(p)) {
    pass.keys = b.keys.data;
    pass.key_stride = p.key_stride_bytes;
    pass.key_word_bytes = p.key_bytes == p.key_word_bytes && p.key_bytes <= 8 ? p.key_word_bytes : 0;
    pass.key_bits = p.bits;
    pass.checks = p.checks_category();
  } else {
    pass.bits = p.bits;
  }
  return pass;
}

// ---- places from an order

/// The scatter that turns the numbers of records in order into their places; an index past the list is left out.
primitives::scatter_problem inversion_of(const split_problem& p) {
  primitives::scatter_problem s;
  s.backend = p.backend;
  s.count = s.far_count = p.count;
  s.record_bytes = s.near_stride_bytes = s.far_stride_bytes = s.word_bytes = sizeof(std::uint32_t);
  s.pattern = access_pattern::random();
  s.bounds = bounds::trust;
  return s;
}

/// A clustered scatter, where that is faster than one at random.
plan::planned inversion_plan(const split_problem& p, const machine& m) {
  const double at_random = m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes);
  if (p.word_bytes != sizeof(std::uint32_t)) return plan::rejected("numbers are wide");
  const plan::planned plan = scatter_clustered.plan(inversion_of(p), m);
  return plan.applicable() && plan.seconds < at_random ? plan : plan::rejected("slower");
}

__global__ void __launch_bounds__(block_threads) number_places(std::uint32_t* number, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) number[i] = static_cast<std::uint32_t>(i);
}

// ---- one pass

plan::planned plan_tiles(const split_problem& p, const machine& m) {
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  const std::uint32_t passes = passes_of(p);
  plan::planned plan;
  if (passes <= 1) {
    plan = stable_pass_cost(p, m);
    plan.scratch_bytes = stable_scratch_bytes(p.count, p.word_bytes);
    return plan;
  }
  if (is_apart(p) && p.word_bytes == 16) return plan::rejected("pairs of a key and 16 bytes are no word");
  plan = passes_cost(p, m, passes, is_apart(p) ? pair_bytes(p) : p.word_bytes, is_apart(p));
  const std::uint64_t word = is_apart(p) ? pair_bytes(p) : p.word_bytes;
  const std::uint64_t arrays = is_apart(p) ? 2 : 1;
  plan.scratch_bytes =
      arrays * aligned(p.count * word) + stable_scratch_bytes(p.count, static_cast<std::uint32_t>(word));
  if (p.product == split_product::scatter_index) {
    const plan::planned inversion = inversion_plan(p, m);
    plan.add("inversion", inversion.applicable() ? inversion.seconds
                                                 : m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes));
  }
  return plan;
}

template <class Word>
void queue_offsets(const context& ctx, const char* what, const std::byte* words, std::uint64_t count, word_field field,
                   std::uint64_t categories, std::uint64_t* offsets) {
  if (offsets == nullptr) return;
  const std::uint64_t blocks = std::min<std::uint64_t>(ceil_div(categories + 1, block_threads), 1 << 16);
  launch(ctx, what, find_offsets<Word>, blocks, reinterpret_cast<const Word*>(words), count, field, categories,
         offsets);
}

void offsets_of_words(const context& ctx, const char* what, const std::byte* words, std::uint64_t count,
                      std::uint32_t word_bytes, const bit_field& bits, std::uint64_t categories,
                      std::uint64_t* offsets) {
  with_word(word_bytes, [&](auto word) {
    queue_offsets<decltype(word)>(ctx, what, words, count, word_field_of(bits, word_bytes), categories, offsets);
  });
}

// Words that hold their key, from the lowest digit of it on, to and fro between out and scratch.
void run_digits(const context& ctx, const char* what, split_pass pass, std::byte* spare, std::byte* tables) {
  const std::uint64_t categories = pass.categories;
  std::uint64_t* const offsets = pass.offsets;
  const bit_field key = pass.bits;
  const std::uint32_t passes = static_cast<std::uint32_t>(ceil_div(key.count, digit_bits));
  std::byte* const out = pass.out;
  pass.offsets = nullptr;
  for (std::uint32_t i = 0; i < passes; ++i) {
    const std::uint32_t low = key.count * i / passes;
    const std::uint32_t high = key.count * (i + 1) / passes;
    const bool to_out = (passes - i) % 2 == 1;
    pass.bits = primitives::part_of(key, low, high - low);
    pass.categories = std::uint64_t{1} << (high - low);
    pass.out = to_out ? out : spare;
    run_stable_pass(ctx, what, pass, tables);
    pass.in = pass.out;
  }
  offsets_of_words(ctx, what, out, pass.count, pass.word_bytes, key, categories, offsets);
}

template <class Pair>
void run_pairs(const context& ctx, const char* what, const split_problem& p, const split_pass& pass,
               std::byte* scratch) {
  std::byte* const pairs = scratch;
  std::byte* const spare = pairs + aligned(p.count * sizeof(Pair));
  std::byte* const tables = spare + aligned(p.count * sizeof(Pair));
  const key_arguments key = keys_of(ctx, pass);
  const bool scatters = p.product == split_product::scatter_index;
  const pair_arguments a{
      .in = pass.in,
      .out = scatters ? static_cast<std::byte*>(pass.scatter_index) : pass.out,
      .count = p.count,
      .categories = p.checks_category() ? static_cast<std::uint32_t>(p.categories) : 0U,
      .scatters = scatters ? 1U : 0U,
  };
  const std::uint64_t blocks = ceil_div(p.count, block_threads * pairs_per_thread);
  // An even number of passes ends where it began.
  const std::uint32_t bits = key_bits(p);
  const bool even = ceil_div(bits, digit_bits) % 2 == 0;
  std::byte* const first = even ? pairs : spare;
  launch(ctx, what, make_pairs<Pair>, blocks, key, a, reinterpret_cast<Pair*>(first));
  split_pass digits;
  digits.in = first;
  digits.out = pairs;
  digits.word_bytes = sizeof(Pair);
  digits.count = p.count;
  digits.bits = {0, bits, bit_order::little_endian};
  digits.categories = p.categories;
  digits.offsets = pass.offsets;
  run_digits(ctx, what, digits, spare, tables);
  if constexpr (sizeof(Pair) == 8) {
    const plan::planned inversion = inversion_plan(p, ctx.profile());
    if (scatters && inversion.applicable()) {
      auto* const numbers = reinterpret_cast<std::uint32_t*>(spare);
      std::uint32_t* const places = numbers + p.count;
      pair_arguments in_order = a;
      in_order.out = spare;
      in_order.scatters = 0;
      if (p.checks_category()) {
        require(cudaMemsetAsync(numbers, 0xff, p.count * sizeof(std::uint32_t), ctx.stream()), what);
      }
      launch(ctx, what, take_payloads<Pair>, blocks, in_order, reinterpret_cast<const Pair*>(pairs));
      launch(ctx, what, number_places, ceil_div(p.count, block_threads), places, p.count);
      scatter_clustered.run(
          ctx, inversion_of(p), inversion,
          {const_records(places, p.count, sizeof(std::uint32_t)), index_span(numbers, p.count, index_type::u32),
           records(pass.scatter_index, p.count, sizeof(std::uint32_t))});
      return;
    }
  }
  launch(ctx, what, take_payloads<Pair>, blocks, a, reinterpret_cast<const Pair*>(pairs));
}

bool zero_offsets(const context& ctx, const char* what, const split_problem& p, const split_buffers& b) {
  if (p.count > 0) return false;
  if (b.offsets != nullptr) {
    require(cudaMemsetAsync(b.offsets, 0, (p.categories + 1) * sizeof(std::uint64_t), ctx.stream()), what);
  }
  return true;
}

void run_tiles(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b) {
  constexpr const char* what = "cuda.tiles";
  const device_scope here(ctx.device());
  if (zero_offsets(ctx, what, p, b)) return;
  const core::scratch memory(ctx.state(), std::max(plan.scratch_bytes, least_scratch));
  auto* const scratch = memory.as<std::byte>();
  const split_pass pass = pass_of(p, b);
  if (passes_of(p) <= 1) return run_stable_pass(ctx, what, pass, scratch);
  if (!is_apart(p)) return run_digits(ctx, what, pass, scratch, scratch + aligned(p.count * p.word_bytes));
  if (pair_bytes(p) == 8) {
    run_pairs<uint2>(ctx, what, p, pass, scratch);
  } else {
    run_pairs<uint4>(ctx, what, p, pass, scratch);
  }
}

// ---- any order inside a category

plan::planned plan_unordered(const split_problem& p, const machine& m) {
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  if (p.stable || p.product != split_product::records) return plan::rejected("does not keep the order in a category");
  if (p.categories > wide_bins) return plan::rejected("takes at most 2048 categories");
  const bool wide = p.categories > narrow_bins;
  if (wide && p.word_bytes != 4 && p.word_bytes != 8) {
    return plan::rejected("past 256 categories records are words of 4 or 8 bytes");
  }
  plan::planned plan = unordered_pass_cost(p, m, wide);
  plan.scratch_bytes = unordered_scratch_bytes;
  return plan;
}

void run_unordered(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b) {
  constexpr const char* what = "cuda.unordered";
  const device_scope here(ctx.device());
  if (zero_offsets(ctx, what, p, b)) return;
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  run_unordered_pass(ctx, what, pass_of(p, b), memory.as<void>());
}

}  // namespace

constinit const primitives::split_variant split_tiles_stable{"cuda.tiles", plan_tiles, run_tiles};
constinit const primitives::split_variant split_unordered{"cuda.unordered", plan_unordered, run_unordered};

}  // namespace sheaf::cuda
