#pragma once

#include <memory>
#include <span>
#include <string>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/ranks/row_pieces.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::cli {

/// One output of many ranks, each of which writes its part. The first rank makes the file under a hidden name
/// beside the output, the others open it there, and it gets its name once all have written: it appears whole or not at
/// all. All functions are collective.
class part_file {
 public:
  /// @param header  written by the first rank @param bytes  of all parts together
  part_file(const distributed::group& ranks, const std::string& path, const std::string& header, std::uint64_t bytes);
  ~part_file();
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;

  /// Writes this rank's part, `offset` bytes behind the header.
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes);
  /// Writes this rank's rows, which lie where its calls reach them. @param change  what is done with them on their way,
  /// as store_rows() has it done; on the CPU the rows themselves change
  void write_rows(std::uint64_t first_row, records rows, const piece_work& change = {});
  void commit();
  /// All of them appear, or none.
  static void commit_all(const distributed::group& ranks, std::span<part_file* const> files);

 private:
  const distributed::group& ranks_;
  std::string path_;
  std::uint64_t header_bytes_;
  std::unique_ptr<io::output_file> file_;  ///< of the first rank
  int descriptor_ = -1;                    ///< of the others
};

}  // namespace sheaf::cli
