#pragma once

#include "apps/sheaf/files/record_file.hpp"

// The keys of a search: those to search for, and where they lie in the rows of a table.
namespace sheaf::cli {

/// Where the key lies in a row.
struct key_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<io::npy_type> type = {};  ///< where it is known: of a field, and of rows that are numbers
};

/// OFFSET:BYTES. @throws error(bad_argument) for anything else
key_place parse_key_place(const std::string& text);

/// The keys to search for, in the order of bytes that the table's have.
class key_file {
 public:
  /// @param key_bytes  of a raw file
  key_file(const std::string& path, std::uint64_t key_bytes);

  const_records keys() const { return keys_; }
  const io::record_file& file() const { return file_; }
  void reverse_bytes();

 private:
  io::record_file file_;
  const_records keys_;
  io::held_memory held_;
  std::vector<std::byte> reversed_;
};

/// Where the key lies in rows of a table. @param given  what the user says, OFFSET:BYTES or the name of a field; empty:
/// the rows are the keys
/// @throws error(bad_input) for rows that are not keys, error(bad_argument) for a place or a field that they lack
key_place key_of_rows(const std::string& given, const io::record_file& table, const_records rows);

/// Keys and rows of one width and one type, in one order of bytes. Types are compared where both are known: a key at
/// OFFSET:BYTES of a row has none. Returns whether the keys were read, to reverse their bytes.
bool bring_to_one_type(key_file& keys, const io::record_file& table, const key_place& place);

}  // namespace sheaf::cli
