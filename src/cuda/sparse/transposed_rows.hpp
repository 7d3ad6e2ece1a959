#pragma once

#include "cuda/sparse/spmm.hpp"
#include "cuda/sparse/transposition.hpp"

// The arrays of a transposed matrix by whose rows products with dense matrices are made.
namespace sheaf::cuda {

struct transposed_rows {
  transposed_entries entries;

  transposed_rows(const spmv_problem& p, core::scratch_arrays& place)
      : entries{place.take<std::uint64_t>(p.columns + 1),
                place.take<std::byte>(p.entries * (has_narrow_sources(p) ? 4 : 8)),
                place.take<std::byte>(p.entries * p.value_bytes())} {}

  summed_rows summed(const spmv_problem& p) const {
    summed_rows rows;
    rows.begins = entries.offsets;
    rows.ends = entries.offsets + 1;
    rows.has_wide_offsets = true;
    rows.limit = p.entries;
    rows.columns = entries.columns;
    rows.has_wide_columns = !has_narrow_sources(p);
    rows.column_limit = p.rows;
    rows.values = entries.values;
    rows.value = p.value;
    rows.may_be_wrong = false;
    return rows;
  }
};

}  // namespace sheaf::cuda
