#include <sheaf/distributed/worth.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "distributed/devices/access.hpp"
#include "distributed/movement/cost.hpp"
#include "distributed/sort/cost.hpp"
#include "distributed/sparse/cost.hpp"

namespace sheaf::distributed {
namespace {

template <class Seconds>
device_estimate estimated(const context& ctx, int most, Seconds seconds) {
  if (ctx.backend() != backend_kind::cuda) {
    throw error(error_code::bad_argument,
                fmt::format("an estimate on devices: a context of {}, not of cuda", name(ctx.backend())));
  }
  if (most < 1) throw error(error_code::bad_argument, fmt::format("an estimate on devices: {} of them", most));
  device_estimate all;
  for (int devices = 1; devices <= most; ++devices)
    all.seconds.push_back(seconds(devices, usual_link(link_kind::copies, access_between_gpus(devices))));
  return all;
}

/// A system on so many devices.
system_shape shape_on(const matrix_size& of, int devices) noexcept {
  const auto ranks = static_cast<std::uint64_t>(devices);
  const std::uint64_t others = of.rows - of.rows / ranks;
  const std::uint64_t most = std::min(others, of.entries / ranks);
  return {of.rows, of.entries, devices == 1 ? 0 : of.halo > 0 ? std::min(of.halo, most) : most, of.is_prepared};
}

}  // namespace

int device_estimate::worth() const noexcept {
  return cheapest_ranks(static_cast<int>(seconds.size()),
                        [&](int devices) { return seconds[static_cast<std::size_t>(devices) - 1]; });
}

device_estimate explain_sort_on_devices(const context& ctx, const sort_size& of, int most) {
  sort_shape shape{.rows = of.records, .row_bytes = of.record_bytes, .key = of.key};
  return estimated(ctx, most,
                   [&](int devices, const link_rates& link) { return sort_seconds(ctx, shape, devices, link); });
}

device_estimate explain_gather_on_devices(const context& ctx, const gather_size& of, int most) {
  const movement_shape shape{.entries = of.entries, .rows = of.records, .record_bytes = of.record_bytes};
  return estimated(ctx, most,
                   [&](int devices, const link_rates& link) { return gather_seconds(ctx, shape, devices, link); });
}

device_estimate explain_spmv_on_devices(const context& ctx, const matrix_size& of, int most) {
  return estimated(ctx, most, [&](int devices, const link_rates& link) {
    return product_seconds(ctx, shape_on(of, devices), devices, link);
  });
}

device_estimate explain_conjugate_gradient_on_devices(const context& ctx, const matrix_size& of, int most) {
  return estimated(ctx, most, [&](int devices, const link_rates& link) {
    return iteration_seconds(ctx, shape_on(of, devices), devices, link);
  });
}

}  // namespace sheaf::distributed
