#pragma once

#include <string>
#include <vector>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "apps/sheaf/files/sparse/entries.hpp"

namespace sheaf::io {

/// Brings entries into compressed rows; those of one place are added up in their order. Frees the blocks.
/// @param origin  what the message calls the file
/// @throws error(bad_input) for entries of one place that are finite, and their sum is not
template <class Index, class Value>
csr_matrix<Value> compress(std::vector<entry_block<Index, Value>> blocks, const market_header& header,
                           const row_ranges& ranges, int threads, const std::string& origin);

}  // namespace sheaf::io
