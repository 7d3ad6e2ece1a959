#include "lab/description/sparse/views.hpp"

#include "lab/description/plain_loops.hpp"
#include "lab/description/sparse/matrix.hpp"

namespace sheaf::jobs {

product_views views_of_product(const problem_spec& p, const array_set& arrays) {
  const std::uint64_t rows = primitives::rows_of_matrix(p);
  const std::uint64_t columns = primitives::columns_of_matrix(p);
  const index_span begins{arrays[places::offsets].data, p.has_row_ends ? rows : rows + 1, p.offset};
  const index_span ends{arrays[sparse_places::row_ends].data, rows, p.offset};
  const index_span columns_of_entries{arrays[places::index].data, p.count, p.index};
  const const_values values_of_entries{arrays[sparse_places::values].data, p.count, p.value};
  return {p.has_row_ends ? csr_view(rows, columns, begins, ends, columns_of_entries, values_of_entries)
                         : csr_view(rows, columns, begins, columns_of_entries, values_of_entries),
          {arrays[places::source].data, p.is_transposed ? rows : columns, p.value},
          {arrays[places::target].data, p.is_transposed ? columns : rows, p.value}};
}

}  // namespace sheaf::jobs
