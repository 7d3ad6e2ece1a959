#pragma once

#include <optional>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/npy.hpp"

namespace sheaf::io {

/// A file of records: an array of an .npy or .npz file, or raw records of a width that the caller knows. Rows of an
/// array in Fortran order are brought into C order as they are read. Numbers keep their order of bytes.
class record_file {
 public:
  /// @param record_bytes  record width of a raw file; 0 for an array.
  /// @param option        name of the option that gives the width of a raw file, for messages.
  /// @param where         where a deflated array goes.
  /// @throws error(bad_input) if the file is of the other kind, malformed, or no whole number of records.
  record_file(const std::string& path, std::uint64_t record_bytes, const char* option = "--record-bytes",
              const unpacking& where = {});

  const std::string& path() const noexcept { return contents_.path(); }
  bool is_npy() const noexcept { return is_npy_; }
  /// The element type: that of the array, or bytes for raw records.
  const npy_type& type() const noexcept { return array_.type; }
  /// The shape. A raw file has one axis, its records.
  std::span<const std::uint64_t> shape() const noexcept { return array_.shape; }
  /// The shape of a row, if the first `axes` axes number the rows.
  std::span<const std::uint64_t> row_shape(std::size_t axes = 1) const;
  /// The rows in memory: mapped, or in memory of this object where they were deflated or lay column by column. May have
  /// any alignment. @throws error(bad_input) if there are fewer axes, or if a row is empty or wider than `most_bytes`;
  /// what input_file::data() throws
  const_records rows(std::uint64_t most_bytes, std::size_t axes = 1) const;
  /// Number and width of the rows, whose data are null: for callers who read them by read_rows() and do not map them.
  const_records unmapped_rows(std::uint64_t most_bytes, std::size_t axes = 1) const;
  /// The rows as a plan looks at them, without reading them: where they lie, or null data where rows() copies them to
  /// memory of its own, which is aligned.
  const_records planned_rows(std::uint64_t most_bytes, std::size_t axes = 1) const;
  /// Copies rows [first, first + number) along the first axis, side by side, without mapping them.
  void read_rows(std::uint64_t first, std::uint64_t number, std::byte* to) const;
  /// Whether the bytes of a row lie side by side, so that few rows are read as fast as many.
  bool is_row_by_row() const noexcept { return !array_.column_major; }
  /// Whether rows() is the mapped file, which takes no memory that the system cannot have back.
  bool is_mapped() const noexcept { return !array_.column_major && held_bytes() == 0; }
  /// Memory that this object has taken for the array so far.
  std::uint64_t held_bytes() const noexcept;
  /// Whether the items are numbers as this machine has them, aligned, so that native_numbers copies none.
  bool has_native_numbers() const noexcept {
    const bool is_aligned = array_.column_major || data_offset() % array_.type.item_bytes == 0;
    return is_aligned && array_.type.order != '>';
  }
  /// Memory that it keeps beside the rows once rows() has been called: what they were brought into C order from.
  std::uint64_t bytes_beside_rows() const noexcept { return array_.column_major ? contents_.held_bytes() : 0; }

 private:
  std::uint64_t data_offset() const noexcept { return contents_.size() - array_.data_bytes; }
  void read_data(std::uint64_t offset, void* to, std::uint64_t bytes) const;

  array_contents contents_;
  bool is_npy_ = false;
  npy_array array_;
  mutable std::unique_ptr<std::byte[]> row_major_;  ///< the data in C order, once they are asked for
  mutable held_memory held_;                        ///< of these
};

/// How much of a file is wanted.
enum class reading : std::uint8_t {
  all,
  header,  ///< types and sizes; data are null
};

/// Record numbers in memory, as numbers of this machine: an array of any shape, or raw numbers of a type that the
/// caller knows. Numbers of 1 and 2 bytes become numbers of 4.
class index_file {
 public:
  /// @param type  type of a raw file; none for an array.
  /// @param option  name of the option that gives the type of a raw file, for messages.
  /// @param what  reading::header leaves the data of indices() null.
  /// @throws error(bad_input) if the file is of the other kind, malformed, or not of whole numbers.
  index_file(const std::string& path, std::optional<index_type> type, const char* option = "--index-type",
             reading what = reading::all);

  const std::string& path() const noexcept { return file_.path(); }
  std::span<const std::uint64_t> shape() const noexcept { return file_.shape(); }
  index_span indices() const noexcept { return indices_; }

 private:
  record_file file_;
  index_span indices_;
  held_memory held_;  ///< of a copy that is made here, or would be if the data were read
  native_numbers numbers_;
  std::vector<std::uint32_t> widened_;  ///< numbers of 4 bytes, of either sign
};

}  // namespace sheaf::io
