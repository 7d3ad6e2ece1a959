#include <algorithm>

#include <fmt/format.h>
#include <sheaf/distributed/gpus.hpp>

#include "core/backends.hpp"
#include "lab/harness/scale_out/trial.hpp"
#include "primitives/views.hpp"

namespace sheaf::bench {
namespace scale_out {
namespace {

/// Refuses what would be ignored.
void require_measurable(const scale_out_request& request, std::span<const backend_kind> named) {
  if (std::ranges::find(named, backend_kind::opengl) != named.end())
    primitives::refuse("scale-out: calls between devices are of cpu and cuda, not of --backend opengl");
  if (!request.transports.empty() && std::ranges::find(named, backend_kind::cuda) == named.end())
    primitives::refuse("scale-out: --transports is for GPUs, not for --backend cpu");
}

std::vector<place> places_of(const scale_out_request& request, backend_kind backend) {
  if (backend == backend_kind::cpu) return {{backend, request.devices, distributed::link_kind::threads}};
  if (request.transports.empty()) return {{backend, request.devices, distributed::link_kind::copies}};
  std::vector<place> places;
  for (const std::string& transport : request.transports) {
    const bool is_nccl = transport == "nccl";
    places.push_back(
        {backend, request.devices, is_nccl ? distributed::link_kind::nccl : distributed::link_kind::copies});
  }
  return places;
}

void run_rank(const distributed::group& ranks, const scale_out_request& request, const place& where, results& found) {
  results* const kept = ranks.rank() == 0 ? &found : nullptr;
  const distributed::link_rates rates = distributed::measure_link(ranks);
  if (kept != nullptr) {
    kept->links.push_back({where, rates});
    print(kept->links.back());
  }
  const auto nccl = request.no_peer ? nullptr : peers::join_nccl(ranks);
  for (const std::uint64_t rows : request.rows) {
    const stage on{ranks, request, where, rates, rows, nccl, kept};
    run_sorts(on);
    run_movements(on);
    run_systems(on);
  }
}

}  // namespace
}  // namespace scale_out

bool scale_out_request::wants(std::string_view call) const {
  return calls.empty() || std::ranges::find(calls, call) != calls.end();
}

scale_out::results run_scale_out(const scale_out_request& request, std::span<const backend_kind> backends, int threads,
                                 bool are_named) {
  if (are_named) scale_out::require_measurable(request, backends);
  scale_out::results found;
  for (const backend_kind backend : backends) {
    if (backend == backend_kind::opengl) continue;
    if (!are_named && backend == backend_kind::cuda && core::backend_of(backend).device_count() < request.devices) {
      fmt::print(stderr, "sheaf-bench: scale-out: this machine has fewer than {} GPUs\n", request.devices);
      continue;
    }
    for (const scale_out::place& where : scale_out::places_of(request, backend)) {
      scale_out::on_ranks(where, threads,
                          [&](const distributed::group& ranks) { scale_out::run_rank(ranks, request, where, found); });
    }
  }
  scale_out::print_summary(found);
  return found;
}

}  // namespace sheaf::bench
