#pragma once

#include "cuda/sort/words/encoding.hpp"

// The scratch of a sort of words, and the description of such a sort without its addresses. Plans need the size, runs
// the places.
namespace sheaf::cuda {

/// Words are encoded, and moved by every second pass, in the output of the rows instead of in scratch.
bool words_fit_output(const primitives::sort_problem& p, const word_encoding& encoding);

/// Bytes of the entries of the order that a sort of fewer than 2^32 rows yields.
std::uint32_t row_number_bytes(const primitives::sort_problem& p);

/// Bytes of the caller's value or of the row number that moves beside a word (word_payload::separate).
std::uint32_t separate_value_bytes(const primitives::sort_problem& p, const word_encoding& encoding);

/// A sort of the problem's words by key_bits bits of the key, without addresses.
word_sort word_sort_of(const primitives::sort_problem& p, const word_encoding& encoding, sort_method method,
                       std::uint32_t key_bits);

/// Where the arrays of a sort begin in its scratch, in bytes.
struct sort_scratch_layout {
  std::uint64_t words[2] = {};      ///< word arrays that passes write to
  std::uint64_t extracted = 0;      ///< extracted keys of separate values
  std::uint64_t order = 0;          ///< row numbers in order, if they are not wanted by the caller
  std::uint64_t order_between = 0;  ///< the order after every second round, if there are several
  std::uint64_t values = 0;         ///< separate values that passes write to; the other array is the caller's
  std::uint64_t tables = 0;         ///< tables of the radix sort
  std::uint64_t bytes = 0;          ///< bytes of the whole scratch

  sort_scratch_layout(const primitives::sort_problem& p, const word_encoding& encoding, sort_method method);
};

/// What the plans of cuda.msd and cuda.onesweep decide for run.
struct word_sort_decision {
  word_encoding encoding;
  sort_scratch_layout layout;
  sort_method method;
};

/// Completes the plan of a sort by words: its decision, its scratch, and the gathers that it ends with.
void finish_plan(const primitives::sort_problem& p, const word_encoding& encoding, sort_method method,
                 const plan::scope& in, plan::planned& plan);

}  // namespace sheaf::cuda
