#pragma once

#include <sheaf/distributed/layout.hpp>
#include <sheaf/memory.hpp>

#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/ranks/row_pieces.hpp"

namespace sheaf::cli {

/// Whether a file says its sizes before all of it is read: it is no stream, no array of an archive, no .gz.
bool says_its_sizes(const std::string& path);

/// This rank's rows of a file, where its calls reach them.
struct rows_of_rank {
  distributed::layout where;
  buffer memory;
  std::uint64_t width = 0;
  std::uint64_t count = 0;

  /// Parts of equal length. @param change  what is done with rows on their way, as load_rows() has it done
  rows_of_rank(const distributed::group& ranks, const io::record_file& file, const piece_work& change = {});
  /// @param parts  which rank has which rows of the file
  rows_of_rank(const distributed::group& ranks, const io::record_file& file, distributed::layout parts,
               const piece_work& change = {});
  const_records rows() const { return {memory.data(), count, width}; }
};

}  // namespace sheaf::cli
