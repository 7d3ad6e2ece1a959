#include "cuda/papers/variants.hpp"
#include "cuda/sort/msd.hpp"
#include "cuda/sort/run_words.hpp"

// cuda.msd_bitonic: the radix sort of He et al. 2007 (section 4.1) as the paper has it. MSD passes split the words
// until buckets fit shared memory, and a bitonic network finishes each bucket there. The passes are those of cuda.msd,
// which finishes buckets by a bin sort instead.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

/// The network takes so many times longer than the bin sort of cuda.msd.
constexpr double network_slowdown = 12;

plan::planned plan_msd_bitonic(const sort_problem& p, const plan::scope& scope) {
  return plan_msd(p, scope, network_slowdown);
}

void run_msd_bitonic(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                     std::byte* scratch) {
  sort_by_words(ctx, "cuda.msd_bitonic", p, plan, b, scratch, word_sort_algorithm::msd_bitonic);
}

}  // namespace

constinit const primitives::sort_variant sort_msd_bitonic{"cuda.msd_bitonic", backend_kind::cuda, plan_msd_bitonic,
                                                          run_msd_bitonic};

}  // namespace sheaf::cuda
