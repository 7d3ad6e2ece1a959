#pragma once

#include "core/scratch_offsets.hpp"
#include "papers/cuda/table_scan.hpp"
#include "primitives/split/contract.hpp"

// The basic split of Patidar and Narayanan 2009 (Algorithm 1 of section 3, Algorithm 2 of section 3.1) with its
// parameters, on the CPU and on CUDA: what cpu.one_step, cuda.two_step and their likes run, and what SplitSort repeats.
namespace sheaf::papers::patidar2009 {

/// Most categories of one pass, for which the paper's devices had shared memory (section 3.2; 3.5 says 1 K).
constexpr std::uint32_t most_categories = 2048;

/// The steps of Algorithm 2. Of the one-step form the last is `local_split`, which writes to the output.
enum class split_step : std::uint8_t { count, scan, local_split, scatter };

/// Called after each step, when its work has been queued.
struct split_listener {
  void* state;
  void (*step_done)(void* state, split_step step);
};

struct basic_split_form {
  bool has_two_steps = true;             ///< records are split within their segment first, and copied in runs then
  bool is_ordered = true;                ///< counters are incremented in the order of the records (Appendix A)
  std::uint32_t segment_records = 8192;  ///< the paper's K
  std::uint32_t blocks = 0;              ///< of CUDA: so many blocks loop over the segments; 0: one for each segment
};

inline std::uint64_t segments_of(std::uint64_t count, std::uint32_t segment_records) {
  return count / segment_records + (count % segment_records != 0);
}

/// Why the basic split cannot run the problem; null if it can.
inline const char* basic_split_rejection(const primitives::split_problem& p, const basic_split_form& form) {
  if (p.product != primitives::split_product::records || p.has_separate_key()) {
    return "splits records by bits of the records";
  }
  if (p.categories == 0 || p.categories > most_categories) return "splits into at most 2048 categories";
  if (std::max(p.in_stride_bytes, p.out_stride_bytes) >> 32 != 0) return "records have a stride of 4 GiB or more";
  if (p.stable && !form.is_ordered) return "does not keep the order within a category";
  if (segments_of(p.count, form.segment_records) >= std::uint64_t{1} << 31) return "handles fewer than 2^31 segments";
  return nullptr;
}

/// Where the tables of a basic split begin in its scratch, in bytes. A table of runs has an entry for each category and
/// segment, in column-major order: those of a category side by side.
struct basic_split_scratch {
  std::uint64_t tile_sums = 0;   ///< sums of the tiles of a table of runs
  std::uint64_t run_begin = 0;   ///< where the run of a segment begins in the output
  std::uint64_t run_count = 0;   ///< records of a run
  std::uint64_t local_scan = 0;  ///< where the run begins in its segment, once that is split
  std::uint64_t local = 0;       ///< the records, each segment split, without gaps
  std::uint64_t bytes = 0;       ///< of the whole scratch

  basic_split_scratch(const primitives::split_problem& problem, const basic_split_form& form) {
    core::scratch_offsets arrays;
    const std::uint64_t runs = problem.categories * segments_of(problem.count, form.segment_records);
    tile_sums = arrays.take((runs / scan_tile_entries + 1) * sizeof(std::uint64_t));
    run_begin = arrays.take(runs * sizeof(std::uint64_t));
    run_count = arrays.take(runs * sizeof(std::uint32_t));
    if (form.has_two_steps) {
      local_scan = arrays.take(runs * sizeof(std::uint32_t));
      local = arrays.take(problem.count * problem.record_bytes);
    }
    bytes = arrays.bytes();
  }
};

}  // namespace sheaf::papers::patidar2009

namespace sheaf::cpu {

/// The plan of a form, which runs by name only.
plan::planned plan_basic_split(const primitives::split_problem& problem,
                               const papers::patidar2009::basic_split_form& form, const machine& machine);
/// Runs a basic split that basic_split_rejection takes. A thread splits a segment alone, so that all forms are ordered.
void run_basic_split(const context& ctx, const primitives::split_problem& problem,
                     const papers::patidar2009::basic_split_form& form, const primitives::split_buffers& buffers,
                     std::byte* scratch, const papers::patidar2009::split_listener* listener = nullptr);

}  // namespace sheaf::cpu

namespace sheaf::cuda {

/// The plan of a form, which runs by name only.
plan::planned plan_basic_split(const primitives::split_problem& problem,
                               const papers::patidar2009::basic_split_form& form, const machine& machine);
/// Queues a basic split that basic_split_rejection takes.
void run_basic_split(const context& ctx, const primitives::split_problem& problem,
                     const papers::patidar2009::basic_split_form& form, const primitives::split_buffers& buffers,
                     std::byte* scratch, const papers::patidar2009::split_listener* listener = nullptr);

}  // namespace sheaf::cuda
