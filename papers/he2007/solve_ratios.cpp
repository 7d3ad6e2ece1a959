#include "papers/he2007/solve_ratios.hpp"

namespace sheaf::bench::papers::he2007 {

std::vector<solve_ratio> solve_ratios(std::span<const solve_time> times) {
  std::vector<solve_ratio> all;
  for (const solve_time& cpu : times) {
    if (cpu.is_on_device || cpu.is_f32) continue;
    solve_ratio ratio{.system = cpu.system, .cpu_f64 = cpu.seconds};
    for (const solve_time& cuda : times) {
      if (!cuda.is_on_device || cuda.system != cpu.system) continue;
      if (cuda.is_f32) {
        ratio.cuda_f32 = cuda.seconds;
        ratio.cuda_f32_with_transfers = cuda.seconds_with_transfers;
      } else {
        ratio.cuda_f64 = cuda.seconds;
      }
    }
    if (ratio.cuda_f32 > 0 || ratio.cuda_f64 > 0) all.push_back(ratio);
  }
  return all;
}

}  // namespace sheaf::bench::papers::he2007
