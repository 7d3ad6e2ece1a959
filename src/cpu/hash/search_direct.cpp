#include "cpu/hash/answers.hpp"
#include "cpu/hash/look_up.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// The four steps of He et al. 2007, section 4.2: each thread takes a range of the probes, finds the bucket of each (1)
// and its matches (2); a prefix sum of their numbers (3) says where the record numbers go (4). A probe reads one line
// at random, and where that has no place for its key a second one; a thread fetches those of many probes at once.
plan::planned plan_direct(const hash_search_problem& problem, const plan::scope& scope) {
  if (!is_bucket_index(problem)) return plan::rejected("searches only what a CPU variant has built");
  const answers_decision d = decide_answers(problem, scope.machine.parallelism);
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<answer_arrays>(problem, d);
  plan.decided.set(d);
  add_direct_cost(problem, scope.machine, d.parts, plan);
  return plan;
}

void run_direct(const context&, const hash_search_problem& problem, const plan::planned& plan,
                const hash_search_buffers& buffers, std::byte* scratch) {
  const auto d = plan.decided.get<answers_decision>();
  run_search(problem, buffers, d, core::arrays_in<answer_arrays>(scratch, problem, d),
             [&]<class Key, class Id>(const index_view<Key, Id>& index, const auto& answers) {
               for_each_range(problem.probes, d.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                 look_up(index, begin, end, answers.wants_ids, hash_reader<Key>(buffers.probes),
                         [&answers](std::uint64_t i, const found_rows<Id>& rows) { answers.put(i, rows); });
               });
             });
}

}  // namespace

extern constinit const hash_search_variant hash_search_direct{"cpu.direct", backend_kind::cpu, plan_direct, run_direct};

}  // namespace sheaf::cpu
