#include "cuda/sort/run_words.hpp"

#include <algorithm>
#include <utility>

#include "cuda/device/state.hpp"
#include "cuda/sort/msd/run.hpp"
#include "cuda/sort/onesweep/run.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "primitives/gathers_by_order.hpp"

namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

/// One call of sort_by_words.
class word_sort_call {
 public:
  word_sort_call(const context& ctx, const char* operation, const sort_problem& p, const sort_buffers& b,
                 const word_sort_decision& decided, word_sort_algorithm algorithm, std::byte* scratch)
      : ctx_(ctx),
        operation_(operation),
        p_(p),
        b_(b),
        encoding_(decided.encoding),
        algorithm_(algorithm),
        layout_(decided.layout),
        scratch_(scratch) {}

  /// Sorts words that are the rows.
  void sort_rows() const { sort_words({}); }

  /// Sorts row numbers, into the caller's index or into scratch, and returns where they are.
  index_output sort_row_numbers() const {
    const bool is_index = p_.product == sort_product::gather_index;
    const index_output order = is_index ? b_.index : row_numbers_at(layout_.order[(encoding_.rounds - 1) % 2]);
    if (encoding_.payload == word_payload::separate) {
      sort_words(order);
    } else {
      sort_in_rounds(order);
    }
    return order;
  }

 private:
  index_output row_numbers_at(std::uint64_t offset) const { return {scratch_ + offset, p_.count, index_type::u32}; }
  std::byte* tables() const { return scratch_ + layout_.tables; }

  // Sorts words that hold rows or keys. Separate values move beside them; these are the caller's, or row numbers that
  // end in `order`.
  void sort_words(index_output order) const {
    word_sort s = word_sort_of(p_, encoding_, encoding_.key_bits);
    s.uses_bitonic_network = algorithm_ == word_sort_algorithm::msd_bitonic;
    const bool fits_output = words_fit_output(p_, encoding_);
    s.buffers[0] = scratch_ + layout_.words[0];
    s.buffers[1] = fits_output ? b_.out.data : scratch_ + layout_.words[1];
    if (encoding_.payload == word_payload::separate) {
      s.values = encoding_.sorts_row_numbers ? nullptr : b_.columns[0].in.data;
      s.value_buffers[0] = scratch_ + layout_.values;
      s.value_buffers[1] = s.values_to = encoding_.sorts_row_numbers ? order.data : b_.columns[0].out.data;
    }
    if (encoding_.rows_are_words) {
      s.in = b_.in.data;
      if (p_.writes_rows && !encoding_.sorts_row_numbers) s.target.words = b_.out.data;
      if (encoding_.key_bits <= 8 && fits_output) {  // the only pass writes to buffers[0], which has to be the output
        std::swap(s.buffers[0], s.buffers[1]);
        std::swap(s.value_buffers[0], s.value_buffers[1]);
      }
    } else {
      const word_mapping mapping = mapping_of(p_, encoding_, b_);
      s.in = s.buffers[1];
      s.target = mapping.target;
      s.from_rows = true;
      s.rows = mapping.source;
    }
    if (algorithm_ == word_sort_algorithm::onesweep) return run_onesweep(ctx_, operation_, s, tables(), nullptr);
    run_msd_sort(ctx_, operation_, s, tables());
  }

  // Sorts words of a key above a row number, in as many rounds as the key takes, and leaves the row numbers in `order`.
  void sort_in_rounds(index_output order) const {
    void* const words = scratch_ + layout_.words[1];
    const std::uint32_t* order_before = nullptr;  // of the round before
    for (std::uint32_t round = 0; round < encoding_.rounds; ++round) {
      const std::uint32_t low = round * encoding_.key_bits;
      const std::uint32_t bits = std::min(encoding_.key_bits, p_.key.bits - low);
      word_sort s = word_sort_of(p_, encoding_, bits);
      s.uses_bitonic_network = algorithm_ == word_sort_algorithm::msd_bitonic;
      s.in = s.buffers[1] = words;
      s.buffers[0] = scratch_ + layout_.words[0];
      if (encoding_.rounds == 1 && key_is_whole_limbs(p_)) {
        const word_mapping mapping = mapping_of(p_, encoding_, b_);
        s.target = mapping.target;
        s.from_rows = true;
        s.rows = mapping.source;
      } else {
        encode_round_words(ctx_, operation_, p_, b_, low, bits, encoding_.limbs, order_before, words);
      }
      const index_output order_in_round = row_numbers_at(layout_.order_in_round);
      const index_output own_order = row_numbers_at(layout_.order[round % 2]);
      const index_output order_after = round + 1 == encoding_.rounds ? order : own_order;
      store_row_numbers_to(s.target, order_before != nullptr ? order_in_round : order_after);
      run_msd_sort(ctx_, operation_, s, tables());
      if (order_before != nullptr) {
        compose_orders(ctx_, operation_, order_before, static_cast<const std::uint32_t*>(order_in_round.data), p_.count,
                       order_after.data, bytes(order_after.type));
      }
      order_before = static_cast<const std::uint32_t*>(own_order.data);
    }
  }

  // Of sorted words, only the lowest limb is stored, in an index whose entries may have 8 bytes.
  void store_row_numbers_to(word_target& target, index_output index) const {
    target.limbs[0] = {static_cast<std::byte*>(index.data), bytes(index.type)};
    if (bytes(index.type) == 8) require(cudaMemsetAsync(index.data, 0, index.count * 8, ctx_.stream()), operation_);
  }

  const context& ctx_;
  const char* operation_;
  const sort_problem& p_;
  const sort_buffers& b_;
  const word_encoding& encoding_;
  word_sort_algorithm algorithm_;
  sort_scratch_layout layout_;
  std::byte* scratch_;
};

}  // namespace

void sort_by_words(const context& ctx, const char* operation, const sort_problem& p, const plan::planned& plan,
                   const sort_buffers& b, std::byte* scratch, word_sort_algorithm algorithm) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<word_sort_decision>();
  const word_sort_call call(ctx, operation, p, b, decided, algorithm, scratch);
  if (!decided.encoding.sorts_row_numbers) return call.sort_rows();
  const index_output order = call.sort_row_numbers();
  if (p.product == sort_product::gather_index) return;
  plan.inner<primitives::gathers_by_order>().run(ctx, p, b, {order.data, order.count, order.type},
                                                 scratch + decided.layout.tables);
}

}  // namespace sheaf::cuda
