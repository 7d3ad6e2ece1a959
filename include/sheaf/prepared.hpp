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

/// What the preparation of a gather or scatter found, took and saves.
struct preparation : preparation_report {
  access_pattern order;  ///< the order of the list, from a sample; unknown where no one pattern fits all of it
};

struct prepare_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  sheaf::duplicates duplicates = sheaf::duplicates::any;  ///< of a scatter alone
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.scheduled"; empty: the planner's choice
};

/// A gather by a list that prepare_gather inspected. It is a handle: copies share what was prepared. One thread at a
/// time uses it, as it does its context.
class SHEAF_API prepared_gather {
 public:
  prepared_gather(const context& ctx, std::shared_ptr<primitives::prepared_movement> work, preparation report);

  /// Gathers by the prepared list: out[i] = table[index[i]] for every i.
  /// @param table  as many records as prepared for, of the width prepared for, at any stride. Address and stride are
  ///               multiples of the largest power of two up to 16 that divides the width.
  /// @param out    as many records as the list has entries, as wide as table's and aligned the same way; may not
  ///               overlap table.
  /// With the variant "kept", a bad index writes zero bytes to its record of out and surfaces at ctx.wait(). Other
  /// variants never meet one, because their preparation throws for it.
  /// @throws error(bad_argument) if counts, widths or alignment are not those prepared for, out overlaps table, an
  /// array is not in ctx's memory, or this object was moved from; error(out_of_memory) if the scratch of a run does not
  /// fit.
  /// The result is bit-identical to gather's. The call is queued on the context of the preparation, as gather is.
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

  /// Scatters by the prepared list: out[index[i]] = in[i] for every i.
  /// @param in   as many records as the list has entries, of the width prepared for, aligned as for prepared_gather.
  /// @param out  as many records as prepared for, as wide and aligned the same way; may not overlap in. Records that no
  ///             index names keep their value.
  /// With the variant "kept", a bad index writes nothing and surfaces at ctx.wait(). @throws what prepared_gather::run
  /// throws.
  /// The result is bit-identical to scatter's for distinct indices and with duplicates::last. With duplicates::any, the
  /// same writer wins in every run unless the variant is "kept". The call is queued, as scatter is.
  void run(const_records in, records out) const;
  const preparation& report() const noexcept { return report_; }

 private:
  friend void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out);

  context ctx_;
  std::shared_ptr<primitives::prepared_movement> work_;
  preparation report_;
};

/// Inspects a list for gathers from tables of table_count records of record_bytes bytes each.
/// @param index          the list, aligned to its type; it is not needed afterwards.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// The preparation finds the order of the list from up to half a million of its entries; options.pattern counts where
/// no one order fits them. If runs would work differently from unprepared calls and 16 runs or more are expected, the
/// preparation times both on arrays of its own and keeps the faster. It does so only if no variant is forced, and if
/// these arrays fit into an eighth of memory and into the scratch limit.
/// @throws error(bad_argument) as gather does; error(bad_index) for the first bad index, if the preparation reads the
/// list (with the variant "kept", the runs read it); and what ctx.wait() throws for earlier calls.
/// When the call returns, the preparation is done, and with it all work queued on ctx before.
SHEAF_API prepared_gather prepare_gather(const context& ctx, index_span index, std::uint64_t table_count,
                                         std::uint64_t record_bytes, std::uint64_t expected_runs,
                                         const prepare_options& options = {});

/// Inspects a list for scatters into outputs of out_count records of record_bytes bytes each; see prepare_gather.
SHEAF_API prepared_scatter prepare_scatter(const context& ctx, index_span index, std::uint64_t out_count,
                                           std::uint64_t record_bytes, std::uint64_t expected_runs,
                                           const prepare_options& options = {});

}  // namespace sheaf
