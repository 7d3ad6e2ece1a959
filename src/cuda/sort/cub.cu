#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/sort/variants.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "primitives/gathers_by_order.hpp"
#include "primitives/sort.hpp"

// cuda.cub: CUB's LSD radix sort, by as many passes as the bits of the key take, whatever the keys are. Keys of 4 and 8
// bytes that are the rows are sorted where they lie, in any order of numbers: passes encode them as they load them,
// unless they are ascending integers.
// Keys inside of wider rows, and up to 32 bits of any key, are encoded beforehand, sorted with row numbers, and rows
// are gathered by these.
namespace sheaf::cuda {
namespace {

using primitives::gathers_by_order;
using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;
using primitives::sorted_array;

/// Where the keys that CUB sorts come from.
enum class key_source {
  rows,       ///< the rows are the keys
  numbers,    ///< numbers of 4 or 8 bytes inside of rows, encoded by a kernel
  extracted,  ///< up to 32 bits of a key that is read byte by byte
};

/// What a plan decides for run. Arrays begin at these bytes of the scratch.
struct cub_sort {
  cub_sort_shape sort;
  key_source keys_from = key_source::rows;
  bool sorts_row_numbers = false;  ///< row numbers are the values
  std::uint64_t keys = 0;          ///< keys that are not the rows
  std::uint64_t sorted_keys = 0;   ///< keys in order, where the caller does not want them
  std::uint64_t row_numbers = 0;
  std::uint64_t order = 0;  ///< row numbers in order, by which rows and values are gathered
  std::uint64_t inner = 0;  ///< scratch of CUB, and then of the gathers
};

bool writes_sorted_rows(const sort_problem& p) { return p.product == sort_product::records && p.writes_rows; }

bool is_word_of_4_or_8(std::uint64_t bytes) { return bytes == 4 || bytes == 8; }

/// Values are one array of words side by side that CUB moves beside such keys.
bool has_word_values(const sort_problem& p, const cub_sort_shape& s) {
  const sorted_array& v = p.columns[0];
  const bool takes_16 = s.key_bytes == 8 && !s.encodes_keys && !s.are_signed;
  const bool is_width = is_word_of_4_or_8(v.record_bytes) || (v.record_bytes == 16 && takes_16);
  return p.product == sort_product::records && p.column_count == 1 && is_width && v.word_bytes >= v.record_bytes &&
         v.in_stride_bytes == v.record_bytes && v.out_stride_bytes == v.record_bytes;
}

key_source key_source_of(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  const bool is_number =
      p.key.field_count == 1 && f.type != key_type::bytes && std::has_single_bit(f.bytes) && f.bytes <= 8;
  const bool are_words = p.rows.in_stride_bytes == f.bytes && p.rows.word_bytes >= f.bytes &&
                         (p.rows.out_stride_bytes == f.bytes || !writes_sorted_rows(p));
  if (is_number && p.rows.record_bytes == f.bytes && are_words) return key_source::rows;
  constexpr std::uint32_t limb_bytes = 4;
  const bool has_limbs =
      f.offset % limb_bytes == 0 && p.rows.record_bytes % limb_bytes == 0 && p.rows.word_bytes >= limb_bytes;
  return is_number && f.bytes >= limb_bytes && has_limbs ? key_source::numbers : key_source::extracted;
}

cub_sort cub_sort_of(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  cub_sort s;
  s.keys_from = key_source_of(p);
  s.sort.count = p.count;
  s.sort.key_bytes = s.keys_from == key_source::extracted ? 4 : f.bytes;
  s.sort.first_bit = s.keys_from == key_source::extracted ? 0 : f.first_bit;
  s.sort.end_bit = s.sort.first_bit + p.key.bits;
  const bool are_keys = s.keys_from == key_source::rows;
  const bool is_integer = f.type == key_type::unsigned_integer || f.type == key_type::signed_integer;
  s.sort.encodes_keys = are_keys && (!is_integer || f.descending || f.bytes < 4);
  s.sort.are_signed = are_keys && !s.sort.encodes_keys && f.type == key_type::signed_integer;
  if (are_keys && has_word_values(p, s.sort)) {
    s.sort.value_bytes = static_cast<std::uint32_t>(p.columns[0].record_bytes);
  } else if (!are_keys || p.product != sort_product::records || p.column_count > 0) {
    s.sorts_row_numbers = true;
    s.sort.value_bytes =
        p.product == sort_product::gather_index ? static_cast<std::uint32_t>(sheaf::bytes(p.index)) : 4;
  }
  core::scratch_offsets arrays;
  if (!are_keys) s.keys = arrays.take(p.count * s.sort.key_bytes);
  if (!are_keys || !writes_sorted_rows(p)) s.sorted_keys = arrays.take(p.count * s.sort.key_bytes);
  if (s.sorts_row_numbers) s.row_numbers = arrays.take(p.count * s.sort.value_bytes);
  if (s.sorts_row_numbers && p.product == sort_product::records) s.order = arrays.take(p.count * s.sort.value_bytes);
  s.inner = arrays.bytes();
  return s;
}

/// What is gathered by the order: rows that are the keys are written as they are sorted.
sort_problem gathered_part_of(const sort_problem& p, const cub_sort& s) {
  sort_problem gathered = p;
  gathered.writes_rows = p.writes_rows && s.keys_from != key_source::rows;
  return gathered;
}

// Latency of a call, but for CUB's own: 5 us where CUB takes 95, and 2 where one block sorts the list.
constexpr double beside_cub_steps = 3;
constexpr double beside_one_block_steps = 1;

double encode_seconds(const sort_problem& p, const cub_sort& s, const machine& m) {
  const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
  return m.step_seconds + static_cast<double>(p.count) * (read + s.sort.key_bytes) / m.copy_bytes_per_second;
}

plan::planned plan_cub(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const cub_sort s = cub_sort_of(p);
  if (s.keys_from == key_source::extracted && p.key.bits > 32) {
    return plan::rejected("sorts by one number of up to 8 bytes, or by up to 32 bits of other keys");
  }
  if (const char* reason = cub_rejection(s.sort)) return plan::rejected(reason);
  plan::planned plan;
  plan.decided.set(s);
  plan.add("latency",
           m.launch_seconds + (is_one_block(s.sort) ? beside_one_block_steps : beside_cub_steps) * m.step_seconds);
  if (s.keys_from != key_source::rows) plan.add("rows read", encode_seconds(p, s, m));
  if (s.sorts_row_numbers) {
    const double written = static_cast<double>(p.count) * s.sort.value_bytes;
    plan.add("row numbers written", m.step_seconds + written / m.copy_bytes_per_second);
  }
  add_cub_cost(plan, s.sort, m);
  plan.scratch_bytes = s.inner + cub_scratch_bytes(s.sort);
  if (!s.sorts_row_numbers || p.product != sort_product::records) return plan;
  auto gathers =
      std::make_shared<gathers_by_order>(gathered_part_of(p, s), index_type::u32, plan::inner_scope(scope, s.inner));
  plan.rejection = gathers->rejection();
  plan.add("gathered", gathers->seconds());
  plan.scratch_bytes = std::max(plan.scratch_bytes, s.inner + gathers->scratch_bytes());
  plan.inner_calls = std::move(gathers);
  return plan;
}

/// The encoding that the kernels of words/ take for numbers inside of rows.
word_encoding number_encoding(const sort_problem& p) {
  word_encoding encoding;
  encoding.limbs = p.key.fields[0].bytes / 4;
  encoding.payload = word_payload::separate;
  encoding.sorts_row_numbers = true;
  return encoding;
}

/// The bits that the library's encoding flips: those of a key of zeros but for its highest bit say which.
cub_key_encoding encoding_of_rows(const key_field& f) {
  cub_key_encoding encoding;
  for (const std::uint64_t highest_bit : {0, 1}) {
    const std::uint64_t key = highest_bit << (f.bytes * 8 - 1);
    const auto row = std::bit_cast<std::array<std::byte, sizeof key>>(key);
    encoding.flipped_bits[highest_bit] = primitives::number_of(row.data(), f).word[0] ^ key;
  }
  return encoding;
}

void run_cub(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
             std::byte* scratch) {
  constexpr const char* operation = "cuda.cub";
  const device_scope current_device(ctx.device());
  const auto s = plan.decided.get<cub_sort>();
  const bool are_keys = s.keys_from == key_source::rows;
  cub_sort_arrays arrays;
  arrays.keys = are_keys ? b.in.data : scratch + s.keys;
  arrays.sorted_keys = are_keys && writes_sorted_rows(p) ? b.out.data : scratch + s.sorted_keys;
  if (s.keys_from == key_source::numbers) {
    const word_encoding encoding = number_encoding(p);
    encode_rows(ctx, operation, p, encoding, mapping_of(p, encoding, b), scratch + s.keys);
  } else if (s.keys_from == key_source::extracted) {
    encode_round_keys(ctx, operation, p, b, 0, p.key.bits, nullptr, sizeof(std::uint32_t),
                      reinterpret_cast<std::uint32_t*>(scratch + s.keys));
  }
  if (s.sorts_row_numbers) {
    write_row_numbers(ctx, operation, scratch + s.row_numbers, s.sort.value_bytes, p.count);
    arrays.values = scratch + s.row_numbers;
    arrays.sorted_values = p.product == sort_product::gather_index ? b.index.data : scratch + s.order;
  } else if (s.sort.value_bytes != 0) {
    arrays.values = b.columns[0].in.data;
    arrays.sorted_values = b.columns[0].out.data;
  }
  const cub_key_encoding encoding = s.sort.encodes_keys ? encoding_of_rows(p.key.fields[0]) : cub_key_encoding{};
  run_cub_sort(ctx, operation, s.sort, encoding, arrays, scratch + s.inner);
  if (!s.sorts_row_numbers || p.product == sort_product::gather_index) return;
  plan.inner<gathers_by_order>().run(ctx, gathered_part_of(p, s), b, {scratch + s.order, p.count, index_type::u32},
                                     scratch + s.inner);
}

}  // namespace

constinit const primitives::sort_variant sort_cub{"cuda.cub", backend_kind::cuda, plan_cub, run_cub};

}  // namespace sheaf::cuda
