#pragma once

#include <cstdint>
#include <memory>

#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/export.hpp>
#include <sheaf/records.hpp>

namespace sheaf::distributed {

/// Gathers records of a table that lies on all ranks: out[i] = table[index[i]], where index counts the rows of the
/// whole table. Collective.
/// @param table       this rank's rows, as many as table_rows says, at any stride
/// @param table_rows  which rank has which rows; the same on all ranks
/// @param index       this rank's part of the list. Lists of ranks may have any length, and follow one another in the
///                    order of ranks: that is how positions in the whole list are counted. They may repeat.
/// @param out         as many records as index has entries, as wide as the table's; overlaps neither table nor index
/// A bad index surfaces at ranks.wait(), on every rank, and its record of out is filled with zeros.
/// @throws error(bad_argument) as sheaf::gather does, if table_rows does not fit, or if ranks disagree; and what every
/// call on a group may throw.
/// Where ranks are GPUs that read each other's memory, a table outlives the call also on a rank to which it throws.
/// The result is bit-identical to sheaf::gather's of the whole table, for any number of ranks. The work is done when
/// the call returns. Rows are asked of their owners and sent by them, chunk by chunk; scratch is some three chunks of
/// this rank's own, and two of what all ranks ask of this one in a chunk: where all ask one owner, it takes chunks of
/// all. On devices chunks are so long that even then they take half of the free memory, and records of more than some
/// 48 bytes are read from peers' memory, if all ranks can, without scratch.
SHEAF_API void gather(const group& ranks, const_records table, const layout& table_rows, index_span index, records out);

class routed_list;

/// A gather by a list that prepare_gather inspected: owners know what is asked of them. A handle, copies share it.
class SHEAF_API prepared_gather {
 public:
  /// Gathers records of any width, as gather() does. Collective. @throws what gather throws
  void run(const_records table, records out) const;

  prepared_gather(const group& ranks, std::shared_ptr<const routed_list> list)
      : ranks_(ranks), list_(std::move(list)) {}

 private:
  group ranks_;
  std::shared_ptr<const routed_list> list_;
};

/// Inspects a list for many gathers. Its entries are not needed afterwards. Collective.
/// @throws error(bad_index) for its first bad entry, on every rank; error(bad_argument) as gather does
SHEAF_API prepared_gather prepare_gather(const group& ranks, index_span index, const layout& table_rows);

}  // namespace sheaf::distributed
