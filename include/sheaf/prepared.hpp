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

// Inspector and executor: gathers and scatters by an index list that is used many times. prepare_* inspects the list
// once, and run() applies what it learned to new records.
namespace sheaf {

namespace primitives {
class prepared_movement;
}
class prepared_gather;
class prepared_scatter;
struct opengl_buffer;
/// Declared with their contracts in sheaf/interop/opengl.hpp.
SHEAF_API void opengl_run(const prepared_gather& prepared, const opengl_buffer& table, const opengl_buffer& out);
SHEAF_API void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out);

/// What the preparation of a gather or scatter found out, cost and saves.
struct preparation : preparation_report {
  access_pattern order;  ///< what the list was found to be; unknown where no one pattern fits all of it
};

struct prepare_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  sheaf::duplicates duplicates = sheaf::duplicates::any;  ///< scatter alone
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.scheduled"
};

/// A gather by a list that prepare_gather inspected. A handle; one thread uses it at a time, as it does its context.
class SHEAF_API prepared_gather {
 public:
  prepared_gather(const context& ctx, std::shared_ptr<primitives::prepared_movement> work, preparation report);

  /// out[i] = table[index[i]] for every i, with the list that was prepared.
  /// @param table  as many records as prepared for, of the width prepared for, at any stride; each aligned to its width
  ///               if that is 1, 2, 4, 8 or 16 bytes.
  /// @param out    as many records as the list has entries, as wide and as aligned as table's; may not overlap table.
  /// A bad index writes zero bytes to its record of out. It surfaced when the list was prepared; with the variant
  /// "kept" it surfaces at ctx.wait(). Queued on the context of the preparation.
  /// @throws error(bad_argument) if counts, widths or alignment are not those prepared for, memory is not ctx's, or
  /// this object was moved from.
  void run(const_records table, records out) const;
  const preparation& report() const noexcept { return report_; }

 private:
  friend void opengl_run(const prepared_gather& prepared, const opengl_buffer& table, const opengl_buffer& out);

  context ctx_;
  std::shared_ptr<primitives::prepared_movement> work_;
  preparation report_;
};

/// A scatter by a list that prepare_scatter inspected; see prepared_gather.
class SHEAF_API prepared_scatter {
 public:
  prepared_scatter(const context& ctx, std::shared_ptr<primitives::prepared_movement> work, preparation report);

  /// out[index[i]] = in[i] for every i, with the list that was prepared.
  /// @param in   as many records as the list has entries, of the width prepared for, aligned as for prepared_gather.
  /// @param out  as many records as prepared for, as wide; may not overlap in.
  /// Records of out that no index names keep their value, and a bad index writes nothing. With duplicates::any the same
  /// writer wins in every run. @throws error(bad_argument) as prepared_gather::run does.
  void run(const_records in, records out) const;
  const preparation& report() const noexcept { return report_; }

 private:
  friend void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out);

  context ctx_;
  std::shared_ptr<primitives::prepared_movement> work_;
  preparation report_;
};

/// Inspects a list for gathers from tables of table_count records of record_bytes bytes each.
/// @param index          the list; it is not needed afterwards.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// Returns when the preparation is done, and with it all work queued on ctx before. The order of the list is found from
/// up to half a million of its entries; options.pattern counts where no one order fits them. Where that order suggests
/// other work than an unprepared call would do, and 16 runs or more are to come, both are timed on arrays of the
/// preparation's own, if these take less than an eighth of memory, and the faster is taken.
/// @throws error(bad_argument) as gather does, and error(bad_index) for the first bad index of the list if the
/// preparation reads it. With the variant "kept" the runs read it.
SHEAF_API prepared_gather prepare_gather(const context& ctx, index_span index, std::uint64_t table_count,
                                         std::uint64_t record_bytes, std::uint64_t expected_runs,
                                         const prepare_options& options = {});

/// Inspects a list for scatters into outputs of out_count records; see prepare_gather.
SHEAF_API prepared_scatter prepare_scatter(const context& ctx, index_span index, std::uint64_t out_count,
                                           std::uint64_t record_bytes, std::uint64_t expected_runs,
                                           const prepare_options& options = {});

}  // namespace sheaf
