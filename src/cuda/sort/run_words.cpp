#include "cuda/sort/run_words.hpp"

#include <algorithm>

#include "cuda/device/state.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "primitives/movement/gathers_by_order.hpp"

namespace sheaf::cuda {

using primitives::sort_buffers;
using primitives::sort_problem;

void sort_by_words(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                   std::byte* scratch, group_finisher finisher) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<word_sort_decision>();
  const word_encoding& encoding = decided.encoding;
  const sort_scratch_layout& layout = decided.layout;
  const bool is_index = p.product == primitives::sort_product::gather_index;
  const index_output order = is_index ? b.index : index_output{scratch + layout.order, p.count, index_type::u32};

  // A sort by so many bits of the key, with the arrays that its passes write to.
  const auto described = [&](std::uint32_t key_bits) {
    word_sort s = word_sort_of(p, encoding, decided.method, key_bits);
    s.buffers[1] = scratch + layout.words[0];
    s.buffers[2] = words_fit_output(p, encoding) ? b.out.data : scratch + layout.words[1];
    if (s.value_bytes > 0) s.values[1] = scratch + layout.values;
    return s;
  };
  const auto run = [&](const word_sort& s) { run_radix_sort(ctx, s, scratch + layout.tables, finisher); };
  // Of sorted words, only the lowest limb is stored, in an index whose entries may have 8 bytes.
  const auto store_row_numbers_to = [&](word_target& target, const index_output& index) {
    target.data = static_cast<std::byte*>(index.data);
    target.stride = bytes(index.type);
    target.is_row_number = true;
    if (bytes(index.type) == 8) require(cudaMemsetAsync(index.data, 0, index.count * 8, ctx.stream()), ctx);
  };

  if (encoding.is_extracted) {  // in as many rounds as extracted keys take
    const index_output between{scratch + layout.order_between, order.count, order.type};
    void* order_before = nullptr;  // of the round before
    for (std::uint32_t round = 0; round < encoding.rounds; ++round) {
      const std::uint32_t low = round * encoding.key_bits;
      const std::uint32_t bits = std::min(encoding.key_bits, p.key.bits - low);
      const index_output order_after = (encoding.rounds - round) % 2 == 1 ? order : between;
      word_sort s = described(bits);
      s.buffers[0] = scratch + (s.value_bytes > 0 ? layout.extracted : layout.words[1]);
      extract_words(ctx, p, b, encoding.limbs, low, bits, order_before, bytes(order.type), s.buffers[0]);
      s.values[0] = order_before;
      s.values[2] = s.values_to = order_after.data;
      if (s.value_bytes == 0) store_row_numbers_to(s.target, order_after);
      run(s);
      order_before = order_after.data;
    }
  } else {  // words hold rows or keys as they lie in rows; separate values are the caller's, or row numbers
    word_sort s = described(encoding.key_bits);
    if (encoding.payload == word_payload::separate) {
      s.values[0] = encoding.sorts_row_numbers ? nullptr : const_cast<std::byte*>(b.columns[0].in.data);
      s.values[2] = s.values_to = encoding.sorts_row_numbers ? order.data : b.columns[0].out.data;
    }
    if (encoding.rows_are_words) {
      s.buffers[0] = const_cast<std::byte*>(b.in.data);
      if (p.writes_rows && !encoding.sorts_row_numbers) s.target.words = b.out.data;
    } else {
      map_words(p, encoding, b, s);
    }
    if (encoding.payload == word_payload::row_number) store_row_numbers_to(s.target, order);
    run(s);
  }
  if (!encoding.sorts_row_numbers || is_index) return;
  plan.inner<primitives::gathers_by_order>().run(ctx, p, b, {order.data, order.count, order.type},
                                                 scratch + layout.tables);
}

}  // namespace sheaf::cuda
