#include "papers/he2007/product_bytes.hpp"

namespace sheaf::bench::papers::he2007 {

using plan::he2007::operation;

plan::he2007::sizes gather_of(const product_sizes& s) noexcept {
  return {s.entries, s.columns, s.value_bytes, s.entries * s.column_bytes};
}

std::uint64_t modelled_passes(const product_sizes& s, const plan::he2007::parameters& p) noexcept {
  return plan::he2007::best_passes(operation::gather, gather_of(s), access_pattern::random(), p);
}

// The terms, in the order of the steps:
// 1. The gather reads `columns` once in every pass, a block of V for each access that misses, and writes an element of
//    R for each entry. The paper multiplies by the entry's value here, we do it in step 2.
// 2. The sums read R and `values`, an element of each for each entry; pointerB and pointerE, which are one list of
//    rows + 1 offsets; and they write an element of W for each row.
double moved_by_product(const product_sizes& s, double passes, const plan::he2007::parameters& p) noexcept {
  const double gathered =
      plan::he2007::moved_bytes(operation::gather, gather_of(s), access_pattern::random(), passes, p);
  const auto elements = static_cast<double>(s.entries * s.value_bytes);
  const auto offsets = static_cast<double>((s.rows + 1) * s.offset_bytes);
  const auto result = static_cast<double>(s.rows * s.value_bytes);
  return gathered + 2 * elements + offsets + result;
}

}  // namespace sheaf::bench::papers::he2007
