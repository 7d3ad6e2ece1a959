#include "primitives/split.hpp"

#include <algorithm>

#include "cuda/split/arguments.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "primitives/scatter.hpp"

// Splits of records that are single words and of record numbers: one pass over 256 categories, or up to 2048 where the
// order inside a category does not matter, or passes from the lowest digit on, of which the first need not keep the
// order where none is asked for.
namespace sheaf::cuda {
namespace {

using primitives::split_buffers;
using primitives::split_problem;
using primitives::split_product;

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
    pass.keys = {.data = b.keys.data,
                 .stride = p.key_stride_bytes,
                 .word_bytes = p.key_bytes == p.key_word_bytes && p.key_bytes <= 8 ? p.key_word_bytes : 0,
                 .bits = p.bits,
                 .categories = p.categories,
                 .checks = p.checks_category()};
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
  s.count = s.indexed_count = p.count;
  s.record_bytes = s.sequential_stride_bytes = s.indexed_stride_bytes = s.word_bytes = sizeof(std::uint32_t);
  s.pattern = access_pattern::random();
  s.bounds = bounds::trust;
  return s;
}

/// A clustered scatter, where that is faster than one at random.
plan::planned inversion_plan(const split_problem& p, const machine& m) {
  const double at_random = m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes);
  if (p.word_bytes != sizeof(std::uint32_t)) return plan::rejected("numbers are wide");
  const plan::planned plan = scatter_bucketed.plan(inversion_of(p), m);
  return plan.applicable() && plan.seconds < at_random ? plan : plan::rejected("slower");
}

__global__ void __launch_bounds__(block_threads) number_places(std::uint32_t* number, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) number[i] = static_cast<std::uint32_t>(i);
}

/// Puts places by an order of numbers: to[number[i]] = i; numbers past the list are left out.
template <class Number>
__global__ void __launch_bounds__(block_threads) invert_order(const Number* number, std::uint64_t count, Number* to) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const Number n = __ldcs(number + i);
  if (n < count) to[n] = static_cast<Number>(i);
}

// ---- passes from the lowest digit on

/// How many bits the first pass takes of words that hold their key: if it need not keep the order, it may have more.
std::uint32_t first_digit(std::uint32_t bits, std::uint32_t word_bytes, bool stable) {
  if (stable || (word_bytes != 4 && word_bytes != 8))
    return bits / static_cast<std::uint32_t>(ceil_div(bits, digit_bits));
  constexpr std::uint32_t wide_bits = 11;
  const auto more = static_cast<std::uint32_t>(ceil_div(bits - std::min(bits, wide_bits), digit_bits));
  return bits - more * digit_bits > digit_bits ? bits - more * digit_bits : bits / (more + 1);
}

template <class Word>
void queue_offsets(const context& ctx, const char* what, const void* words, std::uint64_t count, word_field field,
                   std::uint64_t categories, std::uint64_t* offsets) {
  if (offsets == nullptr) return;
  const std::uint64_t blocks = std::min<std::uint64_t>(ceil_div(categories + 1, block_threads), 1 << 16);
  launch(ctx, what, find_offsets<Word>, blocks, static_cast<const Word*>(words), count, field, categories, offsets);
}

// Words that hold their key, to and fro between out and scratch.
void run_digits(const context& ctx, const char* what, split_pass pass, bool stable, std::byte* spare,
                std::byte* tables) {
  const std::uint64_t categories = pass.categories;
  std::uint64_t* const offsets = pass.offsets;
  const bit_field key = pass.bits;
  const std::uint32_t first = first_digit(key.count, pass.word_bytes, stable);
  const auto more = static_cast<std::uint32_t>(ceil_div(key.count - first, digit_bits));
  std::byte* const out = pass.out;
  pass.offsets = nullptr;
  for (std::uint32_t i = 0; i <= more; ++i) {
    const std::uint32_t low = i == 0 ? 0 : first + (key.count - first) * (i - 1) / more;
    const std::uint32_t high = i == 0 ? first : first + (key.count - first) * i / more;
    const bool to_out = (more - i) % 2 == 0;
    pass.bits = primitives::part_of(key, low, high - low);
    pass.categories = std::uint64_t{1} << (high - low);
    pass.out = to_out ? out : spare;
    if (i == 0 && !stable) {
      run_unordered_pass(ctx, what, pass, tables);
    } else {
      run_stable_pass(ctx, what, pass, tables);
    }
    pass.in = pass.out;
  }
  with_word(pass.word_bytes, [&](auto word) {
    queue_offsets<decltype(word)>(ctx, what, out, pass.count, word_field_of(key, pass.word_bytes), categories, offsets);
  });
}

/// Keys apart: passes over keys and values. Places need the numbers in order first.
struct apart_room {
  pair_passes pairs;
  std::uint64_t numbers = 0;  ///< where the numbers in order lie in scratch, past what the passes take
  std::uint64_t more = 0;     ///< what turning them round takes
  std::uint64_t bytes = 0;

  explicit apart_room(const split_problem& p, bool with_offsets, bool stable) {
    pairs.key_bits = key_bits(p);
    pairs.value_bytes = p.word_bytes;
    pairs.count = p.count;
    pairs.drops_bad = p.checks_category();
    pairs.keeps_keys = with_offsets;
    pairs.stable = stable;
    numbers = more = aligned(pair_scratch_bytes(pairs));
    if (p.product == split_product::scatter_index) more += aligned(p.count * p.word_bytes);
    bytes = more + (p.product == split_product::scatter_index ? aligned(p.count * p.word_bytes) : 0);
  }
};

void run_apart(const context& ctx, const char* what, const split_problem& p, const split_pass& pass, bool stable,
               std::byte* scratch) {
  apart_room room(p, pass.offsets != nullptr, stable);
  const bool inverts = p.product == split_product::scatter_index;
  pair_passes& pairs = room.pairs;
  pairs.keys = pass.keys;
  pairs.values = pass.in;
  pairs.out = inverts ? scratch + room.numbers : pass.out;
  if (inverts && pairs.drops_bad) {  // what stays so is no number
    require(cudaMemsetAsync(pairs.out, 0xff, p.count * p.word_bytes, ctx.stream()), what);
  }
  const std::uint32_t* const keys = run_pair_passes(ctx, what, pairs, scratch);
  if (pass.offsets != nullptr) {
    const word_field field = word_field_of({0, pairs.key_bits}, sizeof(std::uint32_t));
    queue_offsets<std::uint32_t>(ctx, what, keys, p.count, field, p.categories, pass.offsets);
  }
  if (!inverts) return;
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  const plan::planned inversion = inversion_plan(p, ctx.profile());
  if (p.word_bytes == 8) {
    return launch(ctx, what, invert_order<unsigned long long>, blocks,
                  reinterpret_cast<const unsigned long long*>(pairs.out), p.count,
                  static_cast<unsigned long long*>(pass.scatter_index));
  }
  const auto* const numbers = reinterpret_cast<const std::uint32_t*>(pairs.out);
  if (!inversion.applicable()) {
    return launch(ctx, what, invert_order<std::uint32_t>, blocks, numbers, p.count,
                  static_cast<std::uint32_t*>(pass.scatter_index));
  }
  auto* const places = reinterpret_cast<std::uint32_t*>(scratch + room.more);
  launch(ctx, what, number_places, blocks, places, p.count);
  scatter_bucketed.run(
      ctx, inversion_of(p), inversion,
      {const_records(places, p.count, sizeof(std::uint32_t)), index_span(numbers, p.count, index_type::u32),
       records(pass.scatter_index, p.count, sizeof(std::uint32_t))});
}

/// Both for the order kept and not; offsets are not known to be wanted when a plan is made.
plan::planned plan_passes(const split_problem& p, const machine& m, bool stable) {
  plan::planned plan;
  if (is_apart(p)) {
    plan = pair_passes_cost(p, m, key_bits(p), passes_of(p), stable);
    plan.scratch_bytes = apart_room(p, true, stable).bytes;
    if (p.product == split_product::scatter_index) {
      const plan::planned inversion = inversion_plan(p, m);
      plan.add("inversion", inversion.applicable()
                                ? inversion.seconds
                                : m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes));
    }
    return plan;
  }
  const std::uint32_t first = first_digit(p.bits.count, p.word_bytes, stable);
  plan = passes_cost(p, m, first, static_cast<std::uint32_t>(ceil_div(p.bits.count - first, digit_bits)), stable);
  plan.scratch_bytes = aligned(p.count * p.word_bytes) +
                       std::max(stable_scratch_bytes(p.count, p.word_bytes), stable ? 0 : unordered_scratch_bytes);
  return plan;
}

void run_passes(const context& ctx, const char* what, const split_problem& p, const split_pass& pass, bool stable,
                std::byte* scratch) {
  if (is_apart(p)) return run_apart(ctx, what, p, pass, stable, scratch);
  run_digits(ctx, what, pass, stable, scratch, scratch + aligned(p.count * p.word_bytes));
}

// ---- the order kept

plan::planned plan_tiles(const split_problem& p, const machine& m) {
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  if (passes_of(p) > 1) return plan_passes(p, m, true);
  plan::planned plan = stable_pass_cost(p, m);
  plan.scratch_bytes = stable_scratch_bytes(p.count, p.word_bytes);
  return plan;
}

bool zero_offsets(const context& ctx, const char* what, const split_problem& p, const split_buffers& b) {
  if (p.count > 0) return false;
  if (b.offsets != nullptr) {
    require(cudaMemsetAsync(b.offsets, 0, (p.categories + 1) * sizeof(std::uint64_t), ctx.stream()), what);
  }
  return true;
}

void run_tiles(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b) {
  constexpr const char* what = "cuda.stable";
  const device_scope here(ctx.device());
  if (zero_offsets(ctx, what, p, b)) return;
  const core::scratch memory(ctx.state(), std::max(plan.scratch_bytes, least_scratch));
  auto* const scratch = memory.as<std::byte>();
  if (passes_of(p) > 1) return run_passes(ctx, what, p, pass_of(p, b), true, scratch);
  run_stable_pass(ctx, what, pass_of(p, b), scratch);
}

// ---- any order inside a category

bool fits_one_unordered_pass(const split_problem& p) {
  return p.categories <= (p.word_bytes == 4 || p.word_bytes == 8 ? wide_bins : narrow_bins);
}

plan::planned plan_unordered(const split_problem& p, const machine& m) {
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  if (p.stable || p.product != split_product::records) return plan::rejected("does not keep the order in a category");
  if (!fits_one_unordered_pass(p)) return plan_passes(p, m, false);
  plan::planned plan = unordered_pass_cost(p, m, p.categories > narrow_bins);
  plan.scratch_bytes = unordered_scratch_bytes;
  return plan;
}

void run_unordered(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b) {
  constexpr const char* what = "cuda.unordered";
  const device_scope here(ctx.device());
  if (zero_offsets(ctx, what, p, b)) return;
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  auto* const scratch = memory.as<std::byte>();
  if (!fits_one_unordered_pass(p)) return run_passes(ctx, what, p, pass_of(p, b), false, scratch);
  run_unordered_pass(ctx, what, pass_of(p, b), scratch);
}

}  // namespace

constinit const primitives::split_variant split_stable{"cuda.stable", plan_tiles, run_tiles};
constinit const primitives::split_variant split_unordered{"cuda.unordered", plan_unordered, run_unordered};

}  // namespace sheaf::cuda
