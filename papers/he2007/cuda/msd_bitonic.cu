#include "cuda/sort/by_words.hpp"
#include "cuda/sort/radix/launch.cuh"
#include "papers/he2007/cuda/network.cuh"
#include "primitives/sort/contract.hpp"

// cuda.msd_bitonic: a radix sort from the highest bits down with the ending of He et al. 2007 (section 4.1): a bitonic
// network sorts each group that fits shared memory. The passes before it are those of cuda.msd, which finishes groups
// by a bin sort instead.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

/// The network takes so many times longer than the bin sort of cuda.msd.
constexpr double network_slowdown = 12;

plan::planned plan_msd_bitonic(const sort_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_msd(p, scope, network_slowdown);
  plan.by_name_only = true;
  return plan;
}

void finish_by_network(const context& ctx, const radix_arguments& a) {
  with_limbs(a.limbs, [&](auto limbs) {
    with_payload<limbs()>(a.value_bytes, [&](auto payload) {
      if constexpr (payload() != payload_mode::values_16) {
        queue_finish<limbs(), payload(), finish_method::brought, bitonic_network>(ctx, a);
      }
    });
  });
}

void run_msd_bitonic(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                     std::byte* scratch) {
  sort_by_words(ctx, p, plan, b, scratch, finish_by_network);
}

}  // namespace

extern constinit const primitives::sort_variant sort_msd_bitonic{"cuda.msd_bitonic", backend_kind::cuda,
                                                                 plan_msd_bitonic, run_msd_bitonic};

}  // namespace sheaf::cuda
