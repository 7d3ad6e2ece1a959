#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sheaf::bench::papers::he2007 {

/// How long a solution took somewhere.
struct solve_time {
  std::string system;  ///< "NAS, class A"
  bool is_on_device = false;
  bool is_f32 = false;
  double seconds = 0;
  double seconds_with_transfers = 0;  ///< 0 where there are none, or were not measured
};

/// The times of one system on the CPU and on CUDA. 0 for what was not measured.
struct solve_ratio {
  std::string system;
  double cpu_f64 = 0;
  double cuda_f32 = 0;
  double cuda_f32_with_transfers = 0;
  double cuda_f64 = 0;
};

/// The systems that were solved on the CPU in f64 and on CUDA, in the order of the CPU's.
std::vector<solve_ratio> solve_ratios(std::span<const solve_time> times);

}  // namespace sheaf::bench::papers::he2007
