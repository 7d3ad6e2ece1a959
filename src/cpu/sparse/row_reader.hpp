#pragma once

#include "primitives/movement/multipass.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::cpu {

/// The least number that is not a column, to be compared with a column's bits as an unsigned number of its width:
/// negative columns lie above it.
inline std::uint64_t column_limit_of(const primitives::spmv_problem& p) noexcept {
  return primitives::reachable_records(gather_of_columns(p));
}

/// Calls body with a number of the width of such indices, unsigned.
template <class Body>
auto with_index_width(index_type type, Body body) {
  return bytes(type) == 8 ? body(std::uint64_t{}) : body(std::uint32_t{});
}

/// Calls body(value, sum) with numbers of the types of a matrix's values and of sums.
template <class Body>
auto with_value_and_sum(const primitives::spmv_problem& p, Body body) {
  if (p.value == value_type::f64) return body(double{}, double{});
  return p.sums == spmv_sums::f64 ? body(float{}, double{}) : body(float{}, float{});
}

/// Where the rows of a matrix lie, for offsets of one width.
template <class Offset>
struct row_places {
  const Offset* begins;
  const Offset* ends;
  std::uint64_t entries;  ///< the largest offset that is right, as bits of offsets without their sign

  row_places(const csr_view& a, std::uint64_t entry_count)
      : begins(static_cast<const Offset*>(a.row_begins.data)),
        ends(a.has_row_ends ? static_cast<const Offset*>(a.row_ends.data) : begins + 1),
        entries(a.row_begins.type == index_type::i32 ? std::min(entry_count, most_signed) : entry_count) {}

  bool is_row(std::uint64_t first, std::uint64_t last) const noexcept { return first <= last && last <= entries; }
  bool is_row(std::uint64_t row) const noexcept { return is_row(begins[row], ends[row]); }

 private:
  static constexpr std::uint64_t most_signed = 0x7fffffff;  // the bits of negative numbers lie above
};

/// Where the rows of a matrix lie, for offsets of any type, which is looked at each time.
class row_reader {
 public:
  row_reader(const csr_view& a, std::uint64_t entries)
      : narrow_(a, entries), wide_(a, entries), type_(a.row_begins.type) {}

  /// The bits of an offset, sign-extended where the type is signed.
  std::uint64_t begin(std::uint64_t row) const noexcept {
    return bytes(type_) == 8 ? wide_.begins[row] : extended(narrow_.begins[row]);
  }
  std::uint64_t end(std::uint64_t row) const noexcept {
    return bytes(type_) == 8 ? wide_.ends[row] : extended(narrow_.ends[row]);
  }
  bool is_row(std::uint64_t row) const noexcept { return bytes(type_) == 8 ? wide_.is_row(row) : narrow_.is_row(row); }
  std::uint64_t entries() const noexcept { return wide_.entries; }

 private:
  std::uint64_t extended(std::uint32_t bits) const noexcept {
    return type_ == index_type::i32 ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bits)}) : bits;
  }

  row_places<std::uint32_t> narrow_;
  row_places<std::uint64_t> wide_;
  index_type type_;
};

}  // namespace sheaf::cpu
