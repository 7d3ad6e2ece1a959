#include "cuda/split/steps.hpp"

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

using namespace primitives;

const char* word_pass_rejection(const split_problem& p) {
  if (p.record_bytes != p.word_bytes) return "a record is more than one aligned word";
  if (p.has_separate_key() && p.word_bytes < 4) return "records of 1 and 2 bytes move only with their key in them";
  if (p.in_stride_bytes != p.word_bytes || p.out_stride_bytes != p.word_bytes) return "records are not contiguous";
  if (p.key_stride_bytes > ~std::uint32_t{0}) return "keys have a stride of 4 GiB or more";
  return nullptr;
}

split_pass word_pass_of(const split_problem& p, const split_buffers& b) {
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
  if (p.has_separate_key()) {
    pass.keys = {.data = b.keys.data,
                 .stride = p.key_stride_bytes,
                 .word_bytes = p.key_bytes == p.key_word_bytes && p.key_bytes <= 8 ? p.key_word_bytes : 0,
                 .bits = p.bits,
                 .categories = p.categories,
                 .may_be_bad = p.checks_category()};
  } else {
    pass.bits = p.bits;
  }
  return pass;
}

bool split_empty_list(const context& ctx, const split_problem& p, const split_buffers& b) {
  if (p.count > 0) return false;
  if (b.offsets != nullptr) {
    require(cudaMemsetAsync(b.offsets, 0, (p.categories + 1) * sizeof(std::uint64_t), ctx.stream()), ctx);
  }
  return true;
}

}  // namespace sheaf::cuda
