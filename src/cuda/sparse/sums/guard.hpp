#pragma once

#include "cuda/device/state.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::cuda {

/// What the kernels of one call need to report what is wrong with a matrix; passed by value.
struct csr_guard {
  index_guard columns;  ///< its words are those of a bad column
  const core::index_words* row_begin = nullptr;
  const core::index_words* row_end = nullptr;
  const core::index_words* backwards = nullptr;
  std::uint64_t entries = 0;
  std::uint32_t has_signed_offsets = 0;
  std::uint32_t* is_faulty = nullptr;  ///< null, or what is set to 1 where a fault is reported
};

/// Begins a call.
inline csr_guard guard_of(const context& ctx, const primitives::spmv_problem& p, primitives::csr_call by) {
  using primitives::csr_fault;
  csr_guard guard;
  guard.columns = state_of(ctx).guard(words_of(by, csr_fault::column), p.column, p.columns);
  guard.row_begin = &words_of(by, csr_fault::row_begin);
  guard.row_end = &words_of(by, csr_fault::row_end);
  guard.backwards = &words_of(by, csr_fault::backwards);
  guard.entries = p.entries;
  guard.has_signed_offsets = p.offset == index_type::i32 || p.offset == index_type::i64 ? 1 : 0;
  return guard;
}

}  // namespace sheaf::cuda
