#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// What users of a backend call today in place of a primitive.
namespace sheaf::bench::peers {

/// The peers of one entry on one backend. Each is called the way that is fastest for it; none where none is built for
/// the row's widths and types. Scratch memory is allocated before they are timed, as ours is.
struct peer_row {
  std::string_view primitive;  ///< name of an entry
  backend_kind backend;
  std::vector<contender> (*make)(const context& ctx, const problem& p, const workspace& arrays);
};

/// The peers of a row on the context's backend.
std::vector<contender> peers_of(const context& ctx, const problem& p, const workspace& arrays);

namespace host {
std::span<const peer_row> all();
}
/// Linked only where the CUDA backend is built.
namespace device {
std::span<const peer_row> all();
}

}  // namespace sheaf::bench::peers
