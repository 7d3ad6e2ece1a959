#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sheaf/records.hpp>

#include "io/input_file.hpp"
#include "io/npy.hpp"

namespace sheaf::io {

/// A file of records: an .npy array, or raw records of a width that the caller knows.
class record_file {
 public:
  /// @param record_bytes  record width of a raw file; 0 for an .npy file.
  /// @param option        name of the option that gives the width of a raw file, for messages.
  /// @throws error(bad_input) if the file is of the other kind, malformed, or no whole number of records.
  record_file(const std::string& path, std::uint64_t record_bytes, const char* option = "--record-bytes");

  const std::string& path() const noexcept { return file_.path(); }
  const input_file& file() const noexcept { return file_; }
  /// Offset of the first row in the file.
  std::uint64_t data_offset() const noexcept { return file_.size() - array_.data_bytes; }
  bool is_npy() const noexcept { return is_npy_; }
  /// The element type: that of the .npy array, or bytes for raw records.
  const npy_type& type() const noexcept { return array_.type; }
  /// The shape. A raw file has one axis, its records.
  std::span<const std::uint64_t> shape() const noexcept { return array_.shape; }
  /// The shape of a row, if the first `axes` axes number the rows.
  std::span<const std::uint64_t> row_shape(std::size_t axes = 1) const;
  /// The rows of the mapped file. @throws error(bad_input) if there are fewer axes, or if a row is empty or wider than
  /// `most_bytes`; what input_file::data() throws
  const_records rows(std::uint64_t most_bytes, std::size_t axes = 1) const;
  /// Number and width of the rows, whose data are null: for callers who read the file() and do not map it.
  const_records unmapped_rows(std::uint64_t most_bytes, std::size_t axes = 1) const;

 private:
  input_file file_;
  bool is_npy_ = false;
  npy_array array_;
};

/// A mapped file of record numbers: an .npy array of any shape, or raw numbers of a type that the caller knows.
class index_file {
 public:
  /// @param type  type of a raw file; none for an .npy file.
  /// @param option  name of the option that gives the type of a raw file, for messages.
  /// @throws error(bad_input) if the file is of the other kind, malformed, or its type is not u4, u8, i4 or i8.
  index_file(const std::string& path, std::optional<index_type> type, const char* option = "--index-type");

  const std::string& path() const noexcept { return file_.path(); }
  std::span<const std::uint64_t> shape() const noexcept { return shape_; }
  index_span indices() const noexcept { return indices_; }

 private:
  void align();

  input_file file_;
  std::vector<std::uint64_t> shape_;
  index_span indices_;
  std::vector<std::uint64_t> aligned_;
};

}  // namespace sheaf::io
