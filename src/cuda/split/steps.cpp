#include "cuda/split/steps.hpp"

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

using namespace primitives;

const char* word_pass_rejection(const split_problem& p) {
  if (p.has_wide_category()) return "splits by up to 32 bits";
  if (p.record_bytes != p.word_bytes) return "a record is more than one aligned word";
  if (p.has_separate_key() && p.word_bytes < 4) return "records of 1 and 2 bytes move only with their key in them";
  if (p.in_stride_bytes != p.word_bytes || p.out_stride_bytes != p.word_bytes) return "records are not contiguous";
  if (p.key_stride_bytes > ~std::uint32_t{0}) return "keys have a stride of 4 GiB or more";
  return nullptr;
}

split_pass word_pass_of(const split_problem& problem, const split_buffers& buffers) {
  split_pass pass;
  pass.count = problem.count;
  pass.word_bytes = problem.word_bytes;
  pass.categories = problem.categories;
  pass.offsets = buffers.offsets;
  if (problem.product == split_product::records) {
    pass.in = buffers.in.data;
    pass.out = buffers.out.data;
  } else if (problem.product == split_product::gather_index) {
    pass.out = static_cast<std::byte*>(buffers.index.data);
  } else {
    pass.scatter_index = buffers.index.data;
  }
  if (problem.has_separate_key()) {
    pass.keys = {.data = buffers.keys.data,
                 .stride = problem.key_stride_bytes,
                 .word_bytes =
                     problem.key_bytes == problem.key_word_bytes && problem.key_bytes <= 8 ? problem.key_word_bytes : 0,
                 .bits = problem.bits,
                 .categories = problem.categories,
                 .may_be_bad = problem.checks_category()};
  } else {
    pass.bits = problem.bits;
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
