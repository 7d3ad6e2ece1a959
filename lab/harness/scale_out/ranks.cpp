#include "lab/harness/scale_out/ranks.hpp"

#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <sheaf/distributed/gpus.hpp>

#include "core/backends.hpp"
#include "distributed/collectives.hpp"
#include "distributed/threads.hpp"
#include "lab/harness/platform.hpp"

namespace sheaf::bench::scale_out {
namespace {

std::vector<context> gpus_of(int count) {
  const int there = core::backend_of(backend_kind::cuda).device_count();
  if (there < count) {
    throw error(error_code::backend_unavailable,
                fmt::format("scale-out: {} GPUs, but the machine has {}", count, std::max(0, there)));
  }
  std::vector<context> contexts;
  contexts.reserve(static_cast<std::size_t>(count));
  for (int device = 0; device < count; ++device) contexts.push_back(context::cuda(device));
  return contexts;
}

std::vector<std::uint64_t> gathered(const distributed::group& ranks, std::uint64_t mine) {
  return distributed::collective(
      ranks, [&](distributed::group_state& state, std::uint64_t) { return distributed::all_gather(state, mine); });
}

}  // namespace

void on_ranks(const place& where, int threads, const std::function<void(const distributed::group&)>& work) {
  if (where.backend == backend_kind::cpu) {
    return distributed::run_in_one_process(where.devices, std::max(1, threads / where.devices), {}, work);
  }
  const std::vector<context> contexts = gpus_of(where.devices);
  const bool is_nccl = where.link == distributed::link_kind::nccl;
  const auto carriers =
      is_nccl ? distributed::transports_in_one_process(where.devices) : distributed::transports_between_gpus(contexts);
  distributed::run_on_threads(
      where.devices,
      [&](int r) {
        const auto at = static_cast<std::size_t>(r);
        make_current(contexts[at]);
        return distributed::group(contexts[at],
                                  is_nccl ? distributed::nccl_transport(contexts[at], carriers[at]) : carriers[at]);
      },
      work);
}

distributed::group group_of_one(const context& ctx) {
  const auto carriers = ctx.backend() == backend_kind::cpu ? distributed::transports_in_one_process(1)
                                                           : distributed::transports_between_gpus({&ctx, 1});
  return distributed::group(ctx, carriers.front());
}

std::vector<double> numbers_of_ranks(const distributed::group& ranks, double mine) {
  std::vector<double> numbers;
  for (const std::uint64_t bits : gathered(ranks, std::bit_cast<std::uint64_t>(mine)))
    numbers.push_back(std::bit_cast<double>(bits));
  return numbers;
}

std::uint64_t sum_of_ranks(const distributed::group& ranks, std::uint64_t mine) {
  const std::vector<std::uint64_t> all = gathered(ranks, mine);
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

}  // namespace sheaf::bench::scale_out
