#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>

// Gathers and scatters by a list that is used many times: it is studied once, and what was learned is kept.
namespace sheaf {

namespace primitives {
class prepared_movement;
}

/// What a preparation cost and what it is expected to save.
struct preparation {
  std::string variant;                ///< how runs are done
  double preparation_seconds = 0;     ///< measured
  double run_seconds = 0;             ///< of a run, predicted
  double unprepared_seconds = 0;      ///< of the same call without preparation, predicted
  std::uint64_t kept_bytes = 0;       ///< of memory, until the object goes
  std::uint64_t pays_after_runs = 0;  ///< runs that make up for the preparation; 0 if none do
};

struct prepare_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  sheaf::duplicates duplicates = sheaf::duplicates::any;  ///< scatter alone
  std::string_view variant = {};  ///< takes this variant whatever the planner thinks, "cuda.scheduled"
};

/// A gather by a list that was studied before. Movable handle; used by one thread at a time, as its context is.
class SHEAF_API prepared_gather {
 public:
  prepared_gather(const context& ctx, std::shared_ptr<primitives::prepared_movement> work, preparation report);

  /// out[i] = table[index[i]] for every i, with the list that was prepared.
  /// @param table  as many records as prepared for, of the width prepared for, each aligned to its width if that is 1,
  ///               2, 4, 8 or 16 bytes.
  /// @param out    as many as the list has entries; may not overlap table.
  /// A bad index writes zero bytes; it surfaced when the list was prepared, or, with the variant "kept", does at
  /// ctx.wait(). Queued on the context of the preparation.
  /// @throws error(bad_argument) if counts, widths or alignment are not those prepared for, or memory is not ctx's.
  void run(const_records table, records out) const;
  const preparation& report() const noexcept { return report_; }

 private:
  context ctx_;
  std::shared_ptr<primitives::prepared_movement> work_;
  preparation report_;
};

/// A scatter by a list that was studied before; see prepared_gather.
class SHEAF_API prepared_scatter {
 public:
  prepared_scatter(const context& ctx, std::shared_ptr<primitives::prepared_movement> work, preparation report);

  /// out[index[i]] = in[i] for every i. Records of out that no index names keep their value, and a bad index writes
  /// nothing. With duplicates::any the same writer wins in every run.
  void run(const_records in, records out) const;
  const preparation& report() const noexcept { return report_; }

 private:
  context ctx_;
  std::shared_ptr<primitives::prepared_movement> work_;
  preparation report_;
};

/// Studies a list for gathers from tables of table_count records of record_bytes bytes, expected_runs of them.
/// The list itself is not needed afterwards. Waits for the device, once.
/// @throws error(bad_argument) as gather does, and error(bad_index) for the first bad index of the list where the
/// preparation sees it (with variant "kept" the runs do).
SHEAF_API prepared_gather prepare_gather(const context& ctx, index_span index, std::uint64_t table_count,
                                         std::uint64_t record_bytes, std::uint64_t expected_runs,
                                         const prepare_options& options = {});

/// Studies a list for scatters into outputs of out_count records.
SHEAF_API prepared_scatter prepare_scatter(const context& ctx, index_span index, std::uint64_t out_count,
                                           std::uint64_t record_bytes, std::uint64_t expected_runs,
                                           const prepare_options& options = {});

}  // namespace sheaf
