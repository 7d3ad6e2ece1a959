#pragma once

#include "apps/sheaf/files/sparse/header.hpp"

namespace sheaf::io {

/// Checks that a symmetric or skew-symmetric coordinate file, whose lines are known to be right, gives no pair of
/// places that are mirror images both above and below the diagonal. Index holds all places. Takes 16 bytes for each
/// entry, or 24 where Index is std::uint64_t. @throws error(bad_input) naming the first line whose entry was given
/// before as its mirror image, and the line before
template <class Index>
void require_pairs_once(const named_text& file, const market_header& header);

}  // namespace sheaf::io
