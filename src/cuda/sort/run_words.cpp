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

  /// Sorts rows, or row numbers into the caller's index or into scratch. Returns where row numbers are.
  index_output sort() const {
    const bool is_index = p_.product == sort_product::gather_index;
    const index_output order = is_index ? b_.index : index_output{scratch_ + layout_.order, p_.count, index_type::u32};
    if (encoding_.is_extracted) {
      sort_in_rounds(order);
    } else {
      sort_words(order);
    }
    return order;
  }

 private:
  // The description of a sort by so many bits of the key, with the arrays that its passes write to.
  word_sort described(std::uint32_t key_bits) const {
    word_sort s = word_sort_of(p_, encoding_, key_bits);
    s.uses_bitonic_network = algorithm_ == word_sort_algorithm::msd_bitonic;
    s.buffers[1] = scratch_ + layout_.words[0];
    s.buffers[2] = words_fit_output(p_, encoding_) ? b_.out.data : scratch_ + layout_.words[1];
    if (s.value_bytes > 0) s.values[1] = scratch_ + layout_.values;
    return s;
  }

  void run(const word_sort& s) const {
    std::byte* const tables = scratch_ + layout_.tables;
    if (algorithm_ == word_sort_algorithm::onesweep) return run_onesweep(ctx_, operation_, s, tables, nullptr);
    run_msd_sort(ctx_, operation_, s, tables);
  }

  // Sorts words that hold rows or keys as they lie in rows. Separate values move beside them; these are the caller's,
  // or row numbers that end in `order`, as those in words do.
  void sort_words(index_output order) const {
    word_sort s = described(encoding_.key_bits);
    if (encoding_.payload == word_payload::separate) {
      s.values[0] = encoding_.sorts_row_numbers ? nullptr : const_cast<std::byte*>(b_.columns[0].in.data);
      s.values[2] = s.values_to = encoding_.sorts_row_numbers ? order.data : b_.columns[0].out.data;
    }
    if (encoding_.rows_are_words) {
      s.buffers[0] = const_cast<std::byte*>(b_.in.data);
      if (p_.writes_rows && !encoding_.sorts_row_numbers) s.target.words = b_.out.data;
      if (encoding_.key_bits <= 8 &&
          words_fit_output(p_, encoding_)) {  // the only pass writes to buffers[1], which has to be the output
        std::swap(s.buffers[1], s.buffers[2]);
        std::swap(s.values[1], s.values[2]);
      }
    } else {
      const word_mapping mapping = mapping_of(p_, encoding_, b_);
      s.target = mapping.target;
      s.rows = mapping.source;
    }
    if (encoding_.payload == word_payload::row_number) store_row_numbers_to(s.target, order);
    run(s);
  }

  // Sorts extracted keys, in as many rounds as they take, and leaves the row numbers in `order`.
  void sort_in_rounds(index_output order) const {
    const index_output between{scratch_ + layout_.order_between, order.count, order.type};
    void* order_before = nullptr;  // of the round before
    for (std::uint32_t round = 0; round < encoding_.rounds; ++round) {
      const std::uint32_t low = round * encoding_.key_bits;
      const std::uint32_t bits = std::min(encoding_.key_bits, p_.key.bits - low);
      const index_output order_after = (encoding_.rounds - round) % 2 == 1 ? order : between;
      word_sort s = described(bits);
      std::byte* const words = scratch_ + (s.value_bytes > 0 ? layout_.extracted : layout_.words[1]);
      extract_words(ctx_, operation_, p_, b_, encoding_.limbs, low, bits, order_before, bytes(order.type), words);
      s.buffers[0] = words;
      if (s.value_bytes > 0) {
        s.values[0] = order_before;
        s.values[2] = s.values_to = order_after.data;
      } else {
        store_row_numbers_to(s.target, order_after);
      }
      run(s);
      order_before = order_after.data;
    }
  }

  // Of sorted words, only the lowest limb is stored, in an index whose entries may have 8 bytes.
  void store_row_numbers_to(word_target& target, index_output index) const {
    target.data = static_cast<std::byte*>(index.data);
    target.stride = bytes(index.type);
    target.is_row_number = true;
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
  const index_output order = word_sort_call(ctx, operation, p, b, decided, algorithm, scratch).sort();
  if (!decided.encoding.sorts_row_numbers || p.product == sort_product::gather_index) return;
  plan.inner<primitives::gathers_by_order>().run(ctx, p, b, {order.data, order.count, order.type},
                                                 scratch + decided.layout.tables);
}

}  // namespace sheaf::cuda
