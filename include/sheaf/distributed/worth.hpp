#pragma once

#include <cstdint>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/sort.hpp>

// On how many GPUs of one machine a call is worth its exchanges: what the library's model predicts of sizes alone,
// before there is a group. Rows and entries are those of all ranks together, in equal parts.
namespace sheaf::distributed {

/// A sort of records, or a split, whose key is the bits of its category.
struct sort_size {
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  sort_key key = sort_key::of<std::uint64_t>();
};

/// A gather by a list of any order.
struct gather_size {
  std::uint64_t entries = 0;
  std::uint64_t records = 0;  ///< of the table
  std::uint64_t record_bytes = 0;
};

/// Products by a square matrix of f64, or iterations of conjugate gradient. Without a halo, that of rows whose entries
/// lie in any columns.
struct matrix_size {
  std::uint64_t rows = 0;
  std::uint64_t entries = 0;
  std::uint64_t halo = 0;   ///< spmv_preparation::halo, where it is known
  bool is_prepared = true;  ///< false: a call of spmv(), which prepares its product first
};

/// What a call is predicted to take on 1, 2 and more GPUs, whose arrays are copied between them
/// (transports_between_gpus).
struct device_estimate {
  std::vector<double> seconds;  ///< on i + 1 GPUs; infinite where no variant can run

  /// The number of GPUs on which the call takes least; of equals the fewest, and all where none can do it.
  SHEAF_API int worth() const noexcept;
};

/// What a sort or a gather is predicted to take on 1 to `most` GPUs of one machine.
/// @param ctx   of CUDA, of one of the GPUs; others are taken to be like it
/// @param most  GPUs that there are. @throws error(bad_argument) if there is none, or ctx is not of CUDA.
/// i GPUs are those with the numbers 0 to i - 1. The rates of their links are not measured: GPUs that reach each other
/// by NVLink are taken for H200s (368 GB/s each way), those that do by PCI Express alone, or only through host memory,
/// for links of 20 GB/s, and those that this process does not see for linked ones. The same on every process that gives
/// the same sizes, sees the same GPUs and has one of the same profile: ranks that each ask come to one answer. Costs as
/// much as a plan.
SHEAF_API device_estimate explain_sort_on_devices(const context& ctx, const sort_size& of, int most);
SHEAF_API device_estimate explain_gather_on_devices(const context& ctx, const gather_size& of, int most);
/// Of a product, with its preparation unless it is prepared.
SHEAF_API device_estimate explain_spmv_on_devices(const context& ctx, const matrix_size& of, int most);
/// Of an iteration.
SHEAF_API device_estimate explain_conjugate_gradient_on_devices(const context& ctx, const matrix_size& of, int most);

}  // namespace sheaf::distributed
