#include "cuda/sort/scratch_layout.hpp"

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/sort/radix/run.hpp"
#include "primitives/movement/gathers_by_order.hpp"

namespace sheaf::cuda {

using primitives::sort_problem;
using primitives::sort_product;

bool words_fit_output(const sort_problem& p, const word_encoding& encoding) {
  return encoding.words_are_keys() && !encoding.sorts_row_numbers && p.rows.out_stride_bytes == encoding.word_bytes() &&
         p.rows.word_bytes >= (encoding.limbs == 3 ? 4 : encoding.word_bytes());
}

std::uint32_t row_number_bytes(const sort_problem& p) {
  return p.product == sort_product::gather_index ? static_cast<std::uint32_t>(bytes(p.index)) : 4;
}

std::uint32_t separate_value_bytes(const sort_problem& p, const word_encoding& encoding) {
  return encoding.sorts_row_numbers ? row_number_bytes(p) : static_cast<std::uint32_t>(p.columns[0].record_bytes);
}

word_sort word_sort_of(const sort_problem& p, const word_encoding& encoding, sort_method method,
                       std::uint32_t key_bits) {
  word_sort s;
  s.method = method;
  s.limbs = encoding.limbs;
  s.key_low = encoding.first_bit;
  s.key_high = s.key_low + key_bits;
  if (encoding.is_extracted) s.key_low = lowest_key_bit(s.limbs, key_bits);
  if (encoding.payload == word_payload::row_number) s.key_low = 0;
  if (encoding.sorts_row_numbers) s.key_high = 32 * s.limbs;
  s.count = static_cast<std::uint32_t>(p.count);
  if (encoding.payload == word_payload::separate) s.value_bytes = separate_value_bytes(p, encoding);
  return s;
}

sort_scratch_layout::sort_scratch_layout(const sort_problem& p, const word_encoding& encoding, sort_method method) {
  core::scratch_offsets arrays;
  words[0] = arrays.take(p.count * encoding.word_bytes());
  if (!words_fit_output(p, encoding)) words[1] = arrays.take(p.count * encoding.word_bytes());
  const bool is_separate = encoding.payload == word_payload::separate;
  if (encoding.is_extracted && is_separate) extracted = arrays.take(p.count * encoding.word_bytes());
  if (encoding.sorts_row_numbers && p.product == sort_product::records) order = arrays.take(p.count * 4);
  if (encoding.rounds > 1) order_between = arrays.take(p.count * separate_value_bytes(p, encoding));
  if (is_separate) values = arrays.take(p.count * separate_value_bytes(p, encoding));
  tables = arrays.take(radix_scratch_bytes(word_sort_of(p, encoding, method, encoding.key_bits)));
  bytes = arrays.bytes();
}

void finish_plan(const sort_problem& p, const word_encoding& encoding, sort_method method, const plan::scope& in,
                 plan::planned& plan) {
  const sort_scratch_layout layout(p, encoding, method);
  plan.decided.set(word_sort_decision{encoding, layout, method});
  plan.scratch_bytes = layout.bytes;
  if (!encoding.sorts_row_numbers || p.product != sort_product::records) return;
  primitives::gathers_by_order::end_plan(plan, p, index_type::u32, in, layout.tables);
}

}  // namespace sheaf::cuda
