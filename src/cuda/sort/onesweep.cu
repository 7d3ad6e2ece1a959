#include "cuda/sort/by_words.hpp"
#include "cuda/sort/radix/run.hpp"

// cuda.onesweep: radix sort by all digits of the key, from the lowest up (Adinets and Merrill 2022). It takes as long
// whatever the keys are, except that digits which all keys share take no pass. Here are its plan and its entry in the
// list of variants; radix/ has the kernel.
namespace sheaf::cuda {
namespace {

using namespace primitives;

plan::planned plan_onesweep(const sort_problem& problem, const plan::scope& scope) {
  const word_encoding encoding = onesweep_encoding_of(problem);
  if (encoding.limbs > 2 || encoding.holds_row_number())
    return plan::rejected("sorts words of 4 or 8 bytes without a row number");
  if (problem.count >= sorted_words_limit) return plan::rejected("counts in 31 bits");
  plan::planned plan;
  add_passes(plan, problem, encoding, sort_method::onesweep, std::ceil(encoding.key_bits / 8.0), scope.machine);
  complete_plan(problem, encoding, sort_method::onesweep, scope, plan);
  return plan;
}

void run_onesweep(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                  std::byte* scratch) {
  sort_by_words(ctx, p, plan, b, scratch);
}

}  // namespace

extern constinit const sort_variant sort_onesweep{"cuda.onesweep", backend_kind::cuda, plan_onesweep, run_onesweep};

}  // namespace sheaf::cuda
