#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/device/state.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "primitives/movement/gathers_by_order.hpp"

// cuda.lsd: LSD radix sort by stable passes of split (SplitSort, Patidar and Narayanan 2009, section 5.1). Rows of
// 1, 2, 4, 8 or 16 bytes, aligned and side by side, are split themselves by an ascending field of type unsigned_integer
// or bytes, if nothing else is to be moved. For all other sorts,
// row numbers are sorted by up to 32 bits of the key at a time. They are the result, or rows and values are gathered by
// them (Algorithm 4). cuda.lsd takes any number of rows.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Rows are words that a pass of split moves by their own bits, and these bits order them as the key does: those of an
/// unsigned number, or of bytes from the first to the last. Nothing else is to be moved.
bool rows_hold_unsigned_key(const sort_problem& problem) {
  const key_field& f = problem.key.fields[0];
  return problem.product == sort_product::records && problem.column_count == 0 && problem.key.field_count == 1 &&
         !f.descending && (f.type == key_type::unsigned_integer || f.type == key_type::bytes) &&
         problem.rows.record_bytes == problem.rows.access_bytes &&
         problem.rows.in_stride_bytes == problem.rows.access_bytes &&
         problem.rows.out_stride_bytes == problem.rows.access_bytes;
}

std::uint32_t digits_of(std::uint32_t bits) { return static_cast<std::uint32_t>(ceil_div(bits, digit_bits)); }

/// Bits [low, low + count) of a field, counted from field.first_bit.
bit_field bits_of_digit(const key_field& field, std::uint32_t low, std::uint32_t count) {
  const std::uint64_t first_bit = field.first_bit + low;
  if (field.type == key_type::bytes) {
    return {(field.offset + field.bytes) * 8 - first_bit - count, count, bit_order::from_left};
  }
  return {field.offset * 8 + first_bit, count, bit_order::little_endian};
}

// ---- Rows that hold their key as an unsigned number

split_problem pass_problem(const sort_problem& problem) {
  split_problem split;
  split.backend = backend_kind::cuda;
  split.count = problem.count;
  split.categories = narrow_bins;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = problem.rows.record_bytes;
  split.word_bytes = problem.rows.access_bytes;
  split.bits = {0, digit_bits, bit_order::little_endian};
  return split;
}

/// Steps of the profile that a pass over several tiles takes less than a split of its own, which also says where
/// categories begin: 2^16 and 2^20 words of 4 and 8 bytes by 1, 4 and 8 digits, of which each takes 17 to 24 us.
constexpr double steps_below_a_split = 1.4;

plan::planned plan_words(const sort_problem& problem, const machine& machine) {
  const plan::planned pass = stable_pass_cost(pass_problem(problem), machine);
  const std::uint32_t passes = digits_of(problem.key.bits);
  const bool has_tiles = problem.count > split_tile_records(problem.rows.access_bytes, narrow_bins);
  const double saved = has_tiles ? steps_below_a_split * machine.step_seconds : 0;
  plan::planned plan;
  plan.add("latency", machine.launch_seconds);
  plan.add("passes", passes * (pass.seconds - machine.launch_seconds - saved));
  plan.scratch_bytes = (passes > 1 ? core::scratch_aligned(problem.count * problem.rows.record_bytes) : 0) +
                       std::max<std::uint64_t>(256, stable_scratch_bytes(problem.count, problem.rows.access_bytes));
  return plan;
}

void run_words(const context& ctx, const sort_problem& problem, const sort_buffers& buffers, std::byte* scratch) {
  const key_field& field = problem.key.fields[0];
  const std::uint32_t passes = digits_of(problem.key.bits);
  std::byte* const tables =
      scratch + (passes > 1 ? core::scratch_aligned(problem.count * problem.rows.record_bytes) : 0);
  split_pass pass;
  pass.in = buffers.in.data;
  pass.word_bytes = problem.rows.access_bytes;
  pass.count = problem.count;
  for (std::uint32_t i = 0; i < passes; ++i) {
    const std::uint32_t low = problem.key.bits * i / passes;
    const std::uint32_t bits = problem.key.bits * (i + 1) / passes - low;
    pass.bits = bits_of_digit(field, low, bits);
    pass.categories = std::uint64_t{1} << bits;
    pass.out = (passes - i) % 2 == 1 ? buffers.out.data : scratch;
    run_stable_pass(ctx, pass, tables);
    pass.in = pass.out;
  }
}

// ---- Row numbers, by 32 bits of the key a round

constexpr std::uint32_t round_bits = 32;

/// Where the arrays of a sort of row numbers begin in its scratch, in bytes.
struct row_number_layout {
  std::uint32_t rounds;            ///< sorts by round_bits bits that the whole key takes
  std::uint32_t row_number_bytes;  ///< 4 or 8
  std::uint64_t order[2];          ///< row numbers in order; rounds write to [0] and [1] in turn
  std::uint64_t keys;              ///< key bits of one round
  std::uint64_t passes;            ///< scratch of the split passes
  std::uint64_t bytes;             ///< bytes of the whole scratch

  void tell(plan::told& to) const { to.add("rounds", rounds).add("row_number_bytes", row_number_bytes); }

  explicit row_number_layout(const sort_problem& problem) {
    rounds = static_cast<std::uint32_t>(ceil_div(problem.key.bits, round_bits));
    // The entries of a caller's index are wide enough for any row number.
    row_number_bytes = problem.product == sort_product::gather_index
                           ? static_cast<std::uint32_t>(sheaf::bytes(problem.index))
                       : problem.count >> 32 == 0 ? 4
                                                  : 8;
    const std::uint64_t numbers = core::scratch_aligned(problem.count * row_number_bytes);
    // The last round of an index sort writes to the caller's index.
    const std::uint32_t orders = std::min(2U, problem.product == sort_product::records ? rounds : rounds - 1);
    order[0] = 0;
    order[1] = orders > 1 ? numbers : 0;
    keys = orders * numbers;
    passes = keys + core::scratch_aligned(problem.count * sizeof(std::uint32_t));
    bytes = passes + std::max<std::uint64_t>(256, pair_scratch_bytes(passes_for(problem, round_bits)));
  }

  index_type order_type() const { return row_number_bytes == 8 ? index_type::u64 : index_type::u32; }

  pair_passes passes_for(const sort_problem& p, std::uint32_t bits) const {
    pair_passes pass;
    pass.key_bits = bits;
    pass.value_bytes = row_number_bytes;
    pass.count = p.count;
    return pass;
  }
};

plan::planned plan_row_numbers(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const row_number_layout layout(problem);
  plan::planned plan;
  plan.decided.set(layout);
  plan.scratch_bytes = layout.bytes;
  split_problem split;
  split.backend = backend_kind::cuda;
  split.product = split_product::gather_index;
  split.count = problem.count;
  split.key_from = split_key::kind::key_bits;
  split.record_bytes = split.out_stride_bytes = layout.row_number_bytes;
  split.word_bytes = layout.row_number_bytes;
  split.key_bytes = split.key_stride_bytes = sizeof(std::uint32_t);
  plan.add("latency", machine.launch_seconds + 5 * machine.step_seconds);
  double passes = 0;
  double keys = 0;
  for (std::uint32_t low = 0; low < problem.key.bits; low += round_bits) {
    const std::uint32_t bits = std::min(round_bits, problem.key.bits - low);
    passes += pair_passes_cost(split, machine, bits, digits_of(bits), true).seconds - machine.launch_seconds;
    keys += low == 0 ? machine.streamed(problem.count * (problem.rows.in_stride_bytes + 4),
                                        problem.count * (problem.rows.in_stride_bytes + 4))
                     : machine.random_reads(problem.count, problem.rows.record_bytes,
                                            problem.count * problem.rows.in_stride_bytes);
  }
  plan.add("keys read", keys);
  plan.add("passes", passes);
  if (problem.product == sort_product::records) {
    gathers_by_order::end_plan(plan, problem, layout.order_type(), scope, layout.keys);
  }
  return plan;
}

void run_row_numbers(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                     const sort_buffers& buffers, std::byte* scratch) {
  const auto layout = plan.decided.get<row_number_layout>();
  auto* const keys = reinterpret_cast<std::uint32_t*>(scratch + layout.keys);
  const std::byte* order = nullptr;
  for (std::uint32_t round = 0; round < layout.rounds; ++round) {
    const std::uint32_t low = round * round_bits;
    const std::uint32_t bits = std::min(round_bits, problem.key.bits - low);
    extract_words(ctx, problem, buffers, 1, low, bits, order, layout.row_number_bytes, keys);
    pair_passes pass = layout.passes_for(problem, bits);
    pass.keys = {.data = reinterpret_cast<const std::byte*>(keys),
                 .stride = sizeof(std::uint32_t),
                 .word_bytes = sizeof(std::uint32_t),
                 .bits = {lowest_key_bit(1, bits), bits, bit_order::little_endian},
                 .categories = std::uint64_t{1} << bits};
    pass.values = order;
    const bool is_last = round + 1 == layout.rounds;
    pass.out = is_last && problem.product == sort_product::gather_index ? static_cast<std::byte*>(buffers.index.data)
                                                                        : scratch + layout.order[round % 2];
    run_pair_passes(ctx, pass, scratch + layout.passes);
    order = pass.out;
  }
  if (problem.product == sort_product::gather_index) return;
  plan.inner<gathers_by_order>().run(ctx, problem, buffers, {order, problem.count, layout.order_type()},
                                     scratch + layout.keys);
}

plan::planned plan_lsd(const sort_problem& p, const plan::scope& scope) {
  return rows_hold_unsigned_key(p) ? plan_words(p, scope.machine) : plan_row_numbers(p, scope);
}

void run_lsd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
             std::byte* scratch) {
  const device_scope scope(ctx.device());
  if (rows_hold_unsigned_key(p)) return run_words(ctx, p, b, scratch);
  run_row_numbers(ctx, p, plan, b, scratch);
}

}  // namespace

extern constinit const sort_variant sort_lsd{"cuda.lsd", backend_kind::cuda, plan_lsd, run_lsd};

}  // namespace sheaf::cuda
