#include <bit>

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/sort/by_words.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "primitives/movement/gathers_by_order.hpp"
#include "primitives/sort/contract.hpp"

// cuda.cub: CUB's LSD radix sort, by as many passes as the bits of the key take, whatever the keys are. Numbers that
// are the rows are sorted where they lie: passes encode them as they load them, unless they are ascending integers. Up
// to 64 bits of other keys are extracted beforehand and sorted with row numbers, by which rows are gathered.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What a plan decides for run. Arrays begin at these bytes of the scratch.
struct cub_sort {
  cub_sort_shape sort;
  bool extracts_keys = false;      ///< keys are not the rows
  bool sorts_row_numbers = false;  ///< row numbers are the values
  std::uint64_t keys = 0;          ///< extracted keys
  std::uint64_t sorted_keys = 0;   ///< keys in order, where the caller does not want them
  std::uint64_t row_numbers = 0;
  std::uint64_t order = 0;  ///< row numbers in order, by which rows and values are gathered
  std::uint64_t inner = 0;  ///< scratch of CUB, and then of the gathers
};

bool writes_sorted_rows(const sort_problem& p) { return p.product == sort_product::records && p.writes_rows; }

/// Rows are numbers that CUB sorts where they lie.
bool rows_are_numbers(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  return p.key.field_count == 1 && f.type != key_type::bytes && std::has_single_bit(f.bytes) && f.bytes <= 8 &&
         p.rows.record_bytes == f.bytes && p.rows.in_stride_bytes == f.bytes && p.rows.word_bytes >= f.bytes &&
         (p.rows.out_stride_bytes == f.bytes || !writes_sorted_rows(p));
}

cub_sort cub_sort_of(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  cub_sort s;
  s.sort.count = p.count;
  s.extracts_keys = !rows_are_numbers(p);
  if (s.extracts_keys) {
    s.sort.key_bytes = p.key.bits > 32 ? 8 : 4;
    s.sort.first_bit = lowest_key_bit(s.sort.key_bytes / 4, p.key.bits);
    s.sort.end_bit = 8 * s.sort.key_bytes;
  } else {
    s.sort.key_bytes = f.bytes;
    s.sort.first_bit = f.first_bit;
    s.sort.end_bit = f.first_bit + p.key.bits;
    const bool is_integer = f.type == key_type::unsigned_integer || f.type == key_type::signed_integer;
    s.sort.encodes_keys = !is_integer || f.descending || f.bytes < 4;
    s.sort.are_signed = !s.sort.encodes_keys && f.type == key_type::signed_integer;
  }
  const bool takes_16 = s.sort.key_bytes == 8 && !s.sort.encodes_keys && !s.sort.are_signed;
  if (!s.extracts_keys && has_one_value_array(p, takes_16 ? 16 : 8)) {
    s.sort.value_bytes = static_cast<std::uint32_t>(p.columns[0].record_bytes);
  } else if (s.extracts_keys || p.product != sort_product::records || p.column_count > 0) {
    s.sorts_row_numbers = true;
    s.sort.value_bytes = row_number_bytes(p);
  }
  core::scratch_offsets arrays;
  if (s.extracts_keys) s.keys = arrays.take(p.count * s.sort.key_bytes);
  if (s.extracts_keys || !writes_sorted_rows(p)) s.sorted_keys = arrays.take(p.count * s.sort.key_bytes);
  if (s.sorts_row_numbers) s.row_numbers = arrays.take(p.count * s.sort.value_bytes);
  if (s.sorts_row_numbers && p.product == sort_product::records) s.order = arrays.take(p.count * s.sort.value_bytes);
  s.inner = arrays.bytes();
  return s;
}

/// What is gathered by the order: rows that are the keys are written as they are sorted.
sort_problem gathered_part_of(const sort_problem& p, const cub_sort& s) {
  sort_problem gathered = p;
  gathered.writes_rows = p.writes_rows && s.extracts_keys;
  return gathered;
}

// Latency of a call, but for CUB's own: 5 us where CUB takes 95, and 2 where one block sorts the list.
constexpr double beside_cub_steps = 3;
constexpr double beside_one_block_steps = 1;

plan::planned plan_cub(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const cub_sort s = cub_sort_of(p);
  if (p.key.bits > 64) return plan::rejected("sorts by up to 64 bits");
  if (const char* reason = cub_rejection(s.sort)) return plan::rejected(reason);
  plan::planned plan;
  plan.decided.set(s);
  plan.add("latency",
           m.launch_seconds + (is_one_block(s.sort) ? beside_one_block_steps : beside_cub_steps) * m.step_seconds);
  if (s.extracts_keys) plan.add("rows read", extraction_seconds(p, 1, s.sort.key_bytes, m));
  if (s.sorts_row_numbers) {
    const double written = static_cast<double>(p.count) * s.sort.value_bytes;
    plan.add("row numbers written", m.step_seconds + written / m.copy_bytes_per_second);
  }
  add_cub_cost(plan, s.sort, m);
  plan.scratch_bytes = s.inner + cub_scratch_bytes(s.sort);
  if (!s.sorts_row_numbers || p.product != sort_product::records) return plan;
  gathers_by_order::end_plan(plan, gathered_part_of(p, s), index_type::u32, scope, s.inner);
  return plan;
}

/// The bits that the library's encoding flips: those of a key of zeros but for its highest bit say which.
cub_key_encoding encoding_of_rows(const key_field& f) {
  cub_key_encoding encoding;
  for (const std::uint64_t highest_bit : {0, 1}) {
    const std::uint64_t key = highest_bit << (f.bytes * 8 - 1);
    const auto row = std::bit_cast<std::array<std::byte, sizeof key>>(key);
    encoding.flipped_bits[highest_bit] = number_of(row.data(), f).word[0] ^ key;
  }
  return encoding;
}

void run_cub(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
             std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto s = plan.decided.get<cub_sort>();
  cub_sort_arrays arrays;
  arrays.keys = s.extracts_keys ? scratch + s.keys : b.in.data;
  arrays.sorted_keys = s.extracts_keys || !writes_sorted_rows(p) ? scratch + s.sorted_keys : b.out.data;
  if (s.extracts_keys) {
    extract_words(ctx, p, b, s.sort.key_bytes / 4, 0, p.key.bits, nullptr, 4, scratch + s.keys);
  }
  if (s.sorts_row_numbers) {
    write_row_numbers(ctx, scratch + s.row_numbers, s.sort.value_bytes, p.count);
    arrays.values = scratch + s.row_numbers;
    arrays.sorted_values = p.product == sort_product::gather_index ? b.index.data : scratch + s.order;
  } else if (s.sort.value_bytes != 0) {
    arrays.values = b.columns[0].in.data;
    arrays.sorted_values = b.columns[0].out.data;
  }
  const cub_key_encoding encoding = s.sort.encodes_keys ? encoding_of_rows(p.key.fields[0]) : cub_key_encoding{};
  run_cub_sort(ctx, s.sort, encoding, arrays, scratch + s.inner);
  if (!s.sorts_row_numbers || p.product == sort_product::gather_index) return;
  plan.inner<gathers_by_order>().run(ctx, gathered_part_of(p, s), b, {scratch + s.order, p.count, index_type::u32},
                                     scratch + s.inner);
}

}  // namespace

extern constinit const sort_variant sort_cub{"cuda.cub", backend_kind::cuda, plan_cub, run_cub};

}  // namespace sheaf::cuda
