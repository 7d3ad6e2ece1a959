#pragma once

#include <functional>

#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

namespace sheaf::jobs {

/// The library calls that a subcommand times and checks. Tests replace them by faulty ones, to see that the check
/// fails.
struct library_calls {
  std::function<void(const context&, const_records, index_span, records, const gather_options&)> gather = sheaf::gather;
  std::function<void(const context&, const_records, index_span, records, const scatter_options&)> scatter =
      sheaf::scatter;
};

}  // namespace sheaf::jobs
