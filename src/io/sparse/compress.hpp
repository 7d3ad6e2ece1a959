#pragma once

#include <vector>

#include "io/sparse/csr_matrix.hpp"
#include "io/sparse/entries.hpp"

namespace sheaf::io {

/// Brings entries into compressed rows; those of one place are added up in their order. Frees the blocks.
template <class Index, class Value>
csr_matrix<Value> compress(std::vector<entry_block<Index, Value>> blocks, const market_header& header,
                           const row_ranges& ranges, int threads);

}  // namespace sheaf::io
