#include "cuda/sort/by_words.hpp"

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "primitives/movement/gathers_by_order.hpp"

namespace sheaf::cuda {

using namespace primitives;

bool passes_use_output(const sort_problem& p, const word_encoding& encoding) {
  // Words of three limbs are accessed limb by limb.
  const std::uint64_t word_access = encoding.limbs == 3 ? 4 : encoding.word_bytes();
  return !encoding.holds_row_number() && !encoding.yields_order && p.rows.out_stride_bytes == encoding.word_bytes() &&
         p.rows.access_bytes >= word_access;
}

std::uint32_t row_number_bytes(const sort_problem& p) {
  return p.product == sort_product::gather_index ? static_cast<std::uint32_t>(bytes(p.index)) : 4;
}

std::uint32_t separate_value_bytes(const sort_problem& p, const word_encoding& encoding) {
  return encoding.yields_order ? row_number_bytes(p) : static_cast<std::uint32_t>(p.columns[0].record_bytes);
}

word_sort word_sort_of(const sort_problem& problem, const word_encoding& encoding, sort_method method,
                       std::uint32_t key_bits) {
  word_sort sort;
  sort.method = method;
  sort.limbs = encoding.limbs;
  if (encoding.holds_row_number()) {  // the row number counts as the lowest bits of the key: no two words are equal
    sort.key_high = 32 * sort.limbs;
  } else if (encoding.is_extracted) {
    sort.key_low = lowest_key_bit(sort.limbs, key_bits);
    sort.key_high = 32 * sort.limbs;
  } else {
    sort.key_low = encoding.first_bit;
    sort.key_high = sort.key_low + key_bits;
  }
  sort.count = static_cast<std::uint32_t>(problem.count);
  if (encoding.payload == word_payload::separate) sort.value_bytes = separate_value_bytes(problem, encoding);
  return sort;
}

sort_scratch_layout::sort_scratch_layout(const sort_problem& problem, const word_encoding& encoding,
                                         sort_method method) {
  core::scratch_offsets arrays;
  words[0] = arrays.take(problem.count * encoding.word_bytes());
  if (!passes_use_output(problem, encoding)) words[1] = arrays.take(problem.count * encoding.word_bytes());
  const bool is_separate = encoding.payload == word_payload::separate;
  if (encoding.is_extracted && is_separate) extracted = arrays.take(problem.count * encoding.word_bytes());
  if (encoding.yields_order && problem.product == sort_product::records) order = arrays.take(problem.count * 4);
  if (encoding.rounds > 1) order_between = arrays.take(problem.count * separate_value_bytes(problem, encoding));
  if (is_separate) values = arrays.take(problem.count * separate_value_bytes(problem, encoding));
  tables = arrays.take(radix_scratch_bytes(word_sort_of(problem, encoding, method, encoding.key_bits)));
  bytes = arrays.bytes();
}

void complete_plan(const sort_problem& problem, const word_encoding& encoding, sort_method method,
                   const plan::scope& in, plan::planned& plan) {
  const sort_scratch_layout layout(problem, encoding, method);
  plan.decided.set(word_sort_decision{encoding, layout, method});
  plan.scratch_bytes = layout.bytes;
  if (!encoding.yields_order || problem.product != sort_product::records) return;
  gathers_by_order::end_plan(plan, problem, index_type::u32, in, layout.tables,
                             radix_tuning.gather_steps * in.machine.step_seconds);
}

void sort_by_words(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                   const sort_buffers& buffers, std::byte* scratch, group_finisher finisher) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<word_sort_decision>();
  const word_encoding& encoding = decided.encoding;
  const sort_scratch_layout& layout = decided.layout;
  const bool is_index = problem.product == sort_product::gather_index;
  const index_output order =
      is_index ? buffers.index : index_output{scratch + layout.order, problem.count, index_type::u32};

  // A sort by so many bits of the key, with the arrays that its passes write to.
  const auto described = [&](std::uint32_t key_bits) {
    word_sort s = word_sort_of(problem, encoding, decided.method, key_bits);
    s.buffers[1] = scratch + layout.words[0];
    s.buffers[2] = passes_use_output(problem, encoding) ? buffers.out.data : scratch + layout.words[1];
    if (s.value_bytes > 0) s.values[1] = scratch + layout.values;
    return s;
  };
  const auto run = [&](const word_sort& s) { run_radix_sort(ctx, s, scratch + layout.tables, finisher); };
  // Of sorted words, only the lowest limb is stored, in an index whose entries may have 8 bytes.
  const auto store_row_numbers_to = [&](word_target& target, const index_output& index) {
    target.data = static_cast<std::byte*>(index.data);
    target.stride = bytes(index.type);
    target.stores_row_number_only = true;
    if (bytes(index.type) == 8) require(cudaMemsetAsync(index.data, 0, index.count * 8, ctx.stream()), ctx);
  };

  if (encoding.is_extracted) {  // in as many rounds as extracted keys take
    const index_output between{scratch + layout.order_between, order.count, order.type};
    void* order_before = nullptr;  // of the round before
    for (std::uint32_t round = 0; round < encoding.rounds; ++round) {
      const std::uint32_t low = round * encoding.key_bits;
      const std::uint32_t bits = std::min(encoding.key_bits, problem.key.bits - low);
      const index_output order_after = (encoding.rounds - round) % 2 == 1 ? order : between;
      word_sort sort = described(bits);
      // Without values the keys lie in buffers[2]: the second pass may overwrite them.
      sort.buffers[0] = scratch + (sort.value_bytes > 0 ? layout.extracted : layout.words[1]);
      extract_words(ctx, problem, buffers, encoding.limbs, low, bits, order_before, bytes(order.type), sort.buffers[0]);
      sort.values[0] = order_before;
      sort.values[2] = sort.values_to = order_after.data;
      if (sort.value_bytes == 0) store_row_numbers_to(sort.target, order_after);
      run(sort);
      order_before = order_after.data;
    }
  } else {  // words are rows, or encoded from rows; separate values are the caller's, or row numbers
    word_sort sort = described(encoding.key_bits);
    if (encoding.payload == word_payload::separate) {
      sort.values[0] = encoding.yields_order ? nullptr : const_cast<std::byte*>(buffers.columns[0].in.data);
      sort.values[2] = sort.values_to = encoding.yields_order ? order.data : buffers.columns[0].out.data;
    }
    if (encoding.rows_are_words) {
      sort.buffers[0] = const_cast<std::byte*>(buffers.in.data);
      if (problem.writes_rows && !encoding.yields_order) sort.target.words = buffers.out.data;
    } else {
      set_rows_and_target(problem, encoding, buffers, sort);
    }
    if (encoding.payload == word_payload::row_number) store_row_numbers_to(sort.target, order);
    run(sort);
  }
  if (!encoding.yields_order || is_index) return;
  plan.inner<gathers_by_order>().run(ctx, problem, buffers, {order.data, order.count, order.type},
                                     scratch + layout.tables);
}

}  // namespace sheaf::cuda
