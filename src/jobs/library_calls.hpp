#pragma once

#include <functional>

#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

namespace sheaf::jobs {

/// The calls that a subcommand times and checks. Tests hand in ones that err, and see that it is found out.
struct library_calls {
  std::function<void(const context&, const_records, index_span, records, const gather_options&)> gather = sheaf::gather;
  std::function<void(const context&, const_records, index_span, records, const scatter_options&)> scatter =
      sheaf::scatter;
};

}  // namespace sheaf::jobs
