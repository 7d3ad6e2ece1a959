#pragma once

#include <optional>
#include <span>
#include <vector>

#include "apps/sheaf/files/record_file.hpp"

// Files that say which categories records belong to.
namespace sheaf::cli {

/// Categories are one unsigned number of 1, 2 or 4 bytes each.
/// @param of  what each of them is of, for messages: "record"
/// @throws error(bad_input) for an array of another type or shape
void require_category_type(const io::record_file& file, std::string_view of);

/// The place of each record's first category among all of them, and where the last record's end: one number more than
/// there are records, as the row offsets of compressed rows.
class row_offset_file {
 public:
  /// @param type  of a raw file; none for an array of whole numbers of any width.
  /// @param what  of the file; of its header alone there are no numbers()
  /// @throws error(bad_input) for an array of another type or shape, and for a file without numbers
  row_offset_file(const std::string& path, std::optional<index_type> type, io::reading what = io::reading::all);

  std::uint64_t records() const noexcept { return file_.indices().count - 1; }
  std::span<const std::uint64_t> numbers() const noexcept { return numbers_; }
  /// @param categories  the file that the places are in, which has so many entries
  /// @throws error(bad_input) naming place and value, where the numbers do not ascend from 0 to `entries`
  void require_ascending_to(std::uint64_t entries, const std::string& categories) const;

 private:
  io::index_file file_;
  io::held_memory held_;                ///< of what follows, also where only the header is read
  std::vector<std::uint64_t> widened_;  ///< numbers that the file has in 32 bits
  std::span<const std::uint64_t> numbers_;
};

}  // namespace sheaf::cli
