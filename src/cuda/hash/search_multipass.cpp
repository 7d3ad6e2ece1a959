#include <algorithm>

#include "cuda/hash/cost.hpp"
#include "cuda/hash/look_ups.hpp"
#include "primitives/hash/search.hpp"

// The search cuda.multipass: He et al. 2007, section 4.2, with the multi-pass scheme of section 3.4. Each pass goes
// through all probes, and looks up those whose buckets lie in one part of the index, which L2 holds.
namespace sheaf::cuda {
namespace {

using primitives::hash_search_buffers;
using primitives::hash_search_problem;

constexpr std::uint64_t most_passes = 64;

double pass_seconds(const hash_search_problem& p, std::uint64_t passes, const machine& m) {
  const std::uint64_t keys = p.probes * p.probe_stride_bytes;
  const std::uint64_t answers = p.probes * std::max(answer_bytes(p), sector_bytes);  // written as parts of sectors
  return static_cast<double>(passes) * (m.streamed(keys, keys) + m.step_seconds) + m.streamed(answers, answers) +
         sector_seconds(p.probes, expected_slot_bytes(p.index) / passes, m);
}

plan::planned plan_multipass(const hash_search_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = index_rejection(p)) return plan::rejected(reason);
  std::uint64_t best = 2;
  for (std::uint64_t passes = 4; passes <= most_passes; passes *= 2) {
    if (pass_seconds(p, passes, m) < pass_seconds(p, best, m)) best = passes;
  }
  plan::planned plan;
  // One of the others is faster: of 2^22 probes of 2^25 keys direct ones take 83 us and passes 261, of 2^28 probes
  // parts take 5.5 ms and passes 14.3.
  plan.by_name_only = true;
  plan.add("latency", m.launch_seconds);
  plan.add("passes", pass_seconds(p, best, m));
  plan_look_ups(p, best, m, plan);
  return plan;
}

void run_multipass(const context& ctx, const hash_search_problem& p, const plan::planned& plan,
                   const hash_search_buffers& b, std::byte* scratch) {
  run_look_ups(ctx, p, plan, b, scratch);
}

}  // namespace

extern constinit const primitives::hash_search_variant hash_search_multipass{"cuda.multipass", backend_kind::cuda,
                                                                             plan_multipass, run_multipass};

}  // namespace sheaf::cuda
