#include <sheaf/scatter.hpp>

#include "bench/primitives/movement.hpp"

namespace sheaf::bench {
namespace {

struct scatter_rows {
  using options = scatter_options;
  static constexpr auto run = &sheaf::scatter;
  static constexpr auto explain = &sheaf::explain_scatter;
  static constexpr auto prepare = &sheaf::prepare_scatter;
  static constexpr auto peer = &peers::scatter;
};

}  // namespace

std::vector<contender> scatter_contenders(const context& ctx, const problem& p, const row_options& options,
                                          const workspace& arrays) {
  return movement_contenders<scatter_rows>(ctx, p, options, arrays);
}

}  // namespace sheaf::bench
