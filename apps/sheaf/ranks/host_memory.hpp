#pragma once

#include <sheaf/distributed/sort.hpp>

#include "apps/sheaf/context_array.hpp"

// Files are read into host memory and written from there. Where a rank works on a GPU, its arrays travel by
// jobs::context_input and the like; on the CPU calls take them where they are.
namespace sheaf::cli {

/// Host memory of a rank.
buffer host_buffer(const distributed::group& ranks, std::uint64_t bytes);

/// Threads for what a rank does on the host, as reading text: those of its context, or its share of this process' where
/// it works on a GPU.
int host_threads(const distributed::group& ranks);

/// A result in host memory: itself where it lies there. Collective.
distributed::owned_records in_host_memory(const distributed::group& ranks, distributed::owned_records result);

/// Brings results back to the host memory that they were made for. Collective.
void fetch_on_ranks(const distributed::group& ranks, const jobs::context_array& result);

}  // namespace sheaf::cli
