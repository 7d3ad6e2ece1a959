#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/scatter.hpp>

#include "inputs/pattern.hpp"
#include "jobs/library_calls.hpp"

// `sheaf demo`: gather and scatter on generated inputs. Each answer is checked against values that are functions of the
// position alone.
namespace sheaf::jobs {

struct demo_size {
  std::uint64_t array_bytes = 0;  ///< bytes of the records on each side
  std::uint64_t most_records = 0;
  double seconds_per_row = 0;  ///< time after which no further run of a row begins
};
/// Arrays much larger than the caches of the backend.
demo_size full_size(backend_kind backend);
/// Arrays of a few MiB.
demo_size small_size();

/// What a row of the demo runs.
struct demo_problem {
  enum class operation : std::uint8_t { gather, scatter, scatter_last };
  operation what = operation::gather;
  inputs::pattern pattern;
  std::uint64_t record_bytes = 0;
};
std::vector<demo_problem> demo_problems();
/// "gather/permutation/r8/u32/n=1024".
std::string name(const demo_problem& problem, std::uint64_t count);

struct demo_row {
  std::string problem;
  std::string variant;
  double seconds = 0;  ///< median of the runs
  double predicted_seconds = 0;
  std::uint64_t bytes = 0;  ///< record bytes read and written
  std::uint64_t wrong_records = 0;

  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

/// The results of one backend.
struct demo_result {
  std::string backend;
  std::string device;   ///< name that the processor reports, if it does
  std::string profile;  ///< name of the machine profile that predictions come from
  int threads = 1;
  double copy_bytes_per_second = 0;  ///< the machine's limit: a streamed copy, read plus written
  std::vector<demo_row> rows;

  double share(const demo_row& row) const { return row.bytes_per_second() / copy_bytes_per_second; }
  std::uint64_t wrong_rows() const;
};

struct demo_settings {
  demo_size size;
  std::string_view variant;  ///< variant to force; empty: none
  library_calls calls;
  std::function<void(const demo_result&)> on_row;  ///< called after the limit is measured and after each row
};

demo_result run_demo(const context& ctx, const demo_settings& settings);

}  // namespace sheaf::jobs
