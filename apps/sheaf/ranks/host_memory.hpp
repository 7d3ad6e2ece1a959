#pragma once

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/context_array.hpp"

// Vectors and matrices of text are read into host memory and written from there. Where a rank works on a GPU, they
// travel by jobs::context_input and the like; on the CPU calls take them where they are. Rows of files travel in pieces
// (row_pieces.hpp).
namespace sheaf::cli {

/// Host memory of a rank.
buffer host_buffer(const distributed::group& ranks, std::uint64_t bytes);

/// Threads for what a rank does on the host, as reading text: those of its context, or its share of this process' where
/// it works on a GPU.
int host_threads(const distributed::group& ranks);

/// Brings results back to the host memory that they were made for. Collective.
void fetch_on_ranks(const distributed::group& ranks, const jobs::context_array& result);

}  // namespace sheaf::cli
