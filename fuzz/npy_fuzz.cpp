// .npy files are untrusted: whatever the bytes, the parser returns an array whose data are there and whose fields lie
// in its elements, or throws sheaf::error; arrays in Fortran order have the same rows however many are read at once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <sheaf/error.hpp>

#include "apps/sheaf/files/arrays/column_major.hpp"
#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/npy.hpp"

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

// Elements times their bytes are the data, and the data end where the file ends.
void look_at(const sheaf::io::npy_array& array, std::span<const std::byte> file) {
  std::uint64_t bytes = array.type.item_bytes;
  for (const std::uint64_t extent : array.shape) bytes *= extent;
  require(bytes == array.data_bytes && bytes <= file.size());
  require(array.data == file.data() + (file.size() - bytes));
}

void look_at_fields(const sheaf::io::npy_type& type) {
  std::uint64_t end = 0;
  for (const sheaf::io::npy_field& field : type.fields) {
    require(field.offset == end);
    end += field.count * field.type.item_bytes;
    const auto found = sheaf::io::find_field(type, field.name);
    require(!found || found->name == field.name || found->title == field.name);
    look_at_fields(field.type);
  }
  require(type.fields.empty() || end == type.item_bytes);
}

void read_rows(const sheaf::io::npy_array& array) {
  if (!array.column_major || array.data_bytes > 1U << 16) return;
  const std::uint64_t rows = array.shape[0];
  const std::uint64_t row_bytes = array.data_bytes / rows;
  const auto read = [&](std::uint64_t offset, void* to, std::uint64_t bytes) {
    require(offset <= array.data_bytes && bytes <= array.data_bytes - offset);
    std::memcpy(to, array.data + offset, bytes);
  };
  std::vector<std::byte> all(array.data_bytes);
  sheaf::io::read_column_major(read, array.shape, array.type.item_bytes, 0, rows, all.data());
  std::vector<std::byte> row(row_bytes);
  for (std::uint64_t i = 0; i < rows; i += 1 + rows / 8) {
    sheaf::io::read_column_major(read, array.shape, array.type.item_bytes, i, 1, row.data());
    require(std::memcmp(row.data(), all.data() + i * row_bytes, row_bytes) == 0);
  }
}

// What is written for an array that was read is read as the same.
void write_and_read(const sheaf::io::npy_array& array) {
  std::string copy = sheaf::io::format_npy_header(array.type, array.shape);
  require(copy.size() % 64 == 0);
  copy.append(reinterpret_cast<const char*>(array.data), array.data_bytes);
  const auto again = sheaf::io::parse_npy(std::as_bytes(std::span(copy.data(), copy.size())), "copy");
  require(again.type.descr == array.type.descr && again.type.item_bytes == array.type.item_bytes);
  require(again.type.kind == array.type.kind && again.type.order == array.type.order && again.shape == array.shape);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto array = sheaf::io::parse_npy(file, "input");
    look_at(array, file);
    look_at_fields(array.type);
    read_rows(array);
    write_and_read(array);
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_input);
  }
  return 0;
}
