#include <sheaf/gather.hpp>

#include "bench/primitives/movement.hpp"

namespace sheaf::bench {
namespace {

struct gather_rows {
  using options = gather_options;
  static constexpr auto run = &sheaf::gather;
  static constexpr auto explain = &sheaf::explain_gather;
  static constexpr auto prepare = &sheaf::prepare_gather;
  static constexpr auto peer = &peers::gather;
};

}  // namespace

std::vector<contender> gather_contenders(const context& ctx, const problem& p, const row_options& options,
                                         const workspace& arrays) {
  return movement_contenders<gather_rows>(ctx, p, options, arrays);
}

}  // namespace sheaf::bench
