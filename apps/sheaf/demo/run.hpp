#pragma once

#include "apps/sheaf/demo/limit.hpp"
#include "apps/sheaf/demo/profile.hpp"
#include "lab/description/job.hpp"

// `sheaf demo`: the samples of every job on generated inputs. Each answer is checked against values that are functions
// of the position alone. Times stand beside those of the plain loop that a user would write, where the memory is the
// host's, and beside a copy of as many bytes.
namespace sheaf::jobs {

struct demo_size {
  std::uint64_t array_bytes = 0;  ///< bytes of the records on each side
  std::uint64_t most_records = 0;
  double seconds_per_row = 0;  ///< time after which no further run of a row begins
};
/// Arrays much larger than the caches of the backend; of fewer bytes for a few threads, which take longer for each.
demo_size full_size(const context& ctx);
/// Arrays of a few MiB.
demo_size small_size();

/// One sample on one backend.
struct demo_row {
  std::string family;
  std::string problem;  ///< "gather/permutation/r8/u32/n=1024"; prepared calls append "/prepared"
  std::string variant;
  double seconds = 0;  ///< of the fastest run: what else runs on a machine slows some of them down
  double predicted_seconds = 0;
  std::uint64_t bytes = 0;            ///< bytes that bandwidth counts
  std::uint64_t mistakes = 0;         ///< 0 if the answer is right
  std::uint64_t footprint_bytes = 0;  ///< bytes of the arrays together
  double limit_bytes_per_second = 0;  ///< the limit at this footprint: a streamed copy, read plus written
  double plain_seconds = 0;  ///< of the fastest run of the plain loop that a user would write; 0 where none is timed
  double median_seconds = 0;

  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
  /// Share of the limit. Beyond 1 are only calls that read the same records again, from a cache.
  double share() const { return bytes_per_second() / limit_bytes_per_second; }
  /// Time of the plain loop over that of the call; 0 where none is timed.
  double factor() const { return plain_seconds / seconds; }
  /// 1 - |measured - predicted| / measured, and 0 where that is negative
  double accuracy() const;
};

/// The results of one backend.
struct demo_result {
  std::string backend;
  std::string device;   ///< name that the processor reports, if it does
  std::string profile;  ///< name of the machine profile that predictions come from
  rates_in_use rates;
  machine known;                   ///< the profile that predictions come from
  bool is_of_this_machine = true;  ///< whether that was measured here, or on such a device
  bool is_software = false;        ///< a renderer of OpenGL that runs on the CPU in place of a GPU
  int threads = 1;
  copy_limits limits;          ///< of this machine, measured before the rows
  std::vector<demo_row> rows;  ///< family by family

  std::uint64_t wrong_rows() const;
  double mean_accuracy() const;  ///< of predictions; 0 without rows
};

struct demo_settings {
  demo_size size;
  std::string_view variant = {};  ///< variant to force; empty: none. Prepared calls, which have others, are left out.
  rates_in_use rates = {};        ///< where the context's rates are from; its profile says so unless given
  std::function<void(const demo_result&)> on_row = {};  ///< called after the limits are measured and after each row
  std::function<void(const context&)> on_arrays = {};   ///< called once the arrays of a row are there, before its plan
  /// Runs a call on these arrays. Tests replace it by faulty ones, to see that the check fails.
  std::function<void(const std::function<void()>& call, const array_set& arrays)> around =
      [](const std::function<void()>& call, const array_set&) { call(); };
};

/// Number of rows that run_demo makes.
std::size_t demo_row_count(backend_kind backend, const demo_settings& settings);
demo_result run_demo(const context& ctx, const demo_settings& settings);

}  // namespace sheaf::jobs
