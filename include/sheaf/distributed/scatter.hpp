#pragma once

#include <cstdint>
#include <memory>

#include <sheaf/distributed/gather.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>

namespace sheaf::distributed {

/// Scatters records to an output that lies on all ranks: out[index[i]] = in[i], where index counts the rows of the
/// whole output. Collective.
/// @param in        this rank's records
/// @param index     as many entries; see gather() for how positions in the whole list are counted
/// @param out       this rank's rows of the output, as many as out_rows says, as wide as in's. Rows that no index names
///                  keep their value.
/// @param repeated  what happens to rows that are named more than once: duplicates::any lets one record win,
///                  duplicates::last that of the last position of the whole list
/// A bad index writes nothing and surfaces at ranks.wait(), on every rank.
/// @throws error(bad_argument) as sheaf::scatter does, if out_rows does not fit, or if ranks disagree; and what every
/// call on a group may throw.
/// For distinct indices, and with duplicates::last, the result is bit-identical to sheaf::scatter's, for any number of
/// ranks. The work is done when the call returns. duplicates::any goes chunk by chunk, on devices as gather() does;
/// duplicates::last takes scratch for all records that come to a rank.
SHEAF_API void scatter(const group& ranks, const_records in, index_span index, records out, const layout& out_rows,
                       duplicates repeated = duplicates::any);

/// Combines rows of numbers by an index list: out[index[i]][k] = out[index[i]][k] op in[i][k], where index counts the
/// rows of the whole output. Types, operations, options and bits are those of sheaf::scatter_reduce of rows: the order
/// of sums is that of positions in the whole list, for any number of ranks. On CUDA, sums, differences, products and
/// means of floats have the same bits in every run on as many ranks. Collective.
/// @param out, options.counts  this rank's rows of the output, as many as out_rows says
/// A bad index changes nothing and surfaces at ranks.wait(), on every rank.
/// @throws error(bad_argument) as sheaf::scatter_reduce does, if out_rows does not fit, or if ranks disagree; and what
/// every call on a group may throw. Scratch: all rows that come to a rank, and those that it sends.
SHEAF_API void scatter_reduce(const group& ranks, const_value_rows in, index_span index, value_rows out,
                              const layout& out_rows, reduction op, const scatter_reduce_rows_options& options = {});

/// A scatter by a list that prepare_scatter inspected. A handle, copies share it.
class SHEAF_API prepared_scatter {
 public:
  /// Scatters records of any width, as scatter() does. Collective. @throws what scatter throws
  void run(const_records in, records out, duplicates repeated = duplicates::any) const;
  /// Combines rows, as scatter_reduce() does. Collective. @throws what scatter_reduce throws
  void run_reduce(const_value_rows in, value_rows out, reduction op,
                  const scatter_reduce_rows_options& options = {}) const;

  prepared_scatter(const group& ranks, std::shared_ptr<const routed_list> list)
      : ranks_(ranks), list_(std::move(list)) {}

 private:
  group ranks_;
  std::shared_ptr<const routed_list> list_;
};

/// Inspects a list for many scatters and reductions. Its entries are not needed afterwards. Collective.
/// @throws error(bad_index) for its first bad entry, on every rank; error(bad_argument) as scatter does
SHEAF_API prepared_scatter prepare_scatter(const group& ranks, index_span index, const layout& out_rows);

}  // namespace sheaf::distributed
