#include "apps/sheaf/files/record_file.hpp"

#include <algorithm>
#include <cstring>

#include "apps/sheaf/files/arrays/column_major.hpp"
#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/text/gzip.hpp"

namespace sheaf::io {
namespace {

std::vector<std::byte> front_of(const array_contents& file, std::uint64_t most_bytes) {
  std::vector<std::byte> front(std::min(most_bytes, file.size()));
  file.read_at(0, front.data(), front.size());
  return front;
}

bool starts_as_npy(const array_contents& file) { return io::starts_as_npy(front_of(file, npy_magic_bytes)); }

npy_array read_array(const array_contents& file, const char* option) {
  if (!starts_as_npy(file)) {
    const bool is_gzip = starts_as_gzip(front_of(file, npy_magic_bytes));
    fail(file.path(), "not an .npy file{}; raw files need {}", is_gzip ? " but gzip, which gzip -dc unpacks" : "",
         option);
  }
  return parse_npy_front(front_of(file, most_npy_front_bytes), file.size(), file.path());
}

// Refuses a width for an .npy file: read as a raw file, its header would count as records.
std::uint64_t raw_count(const array_contents& file, std::uint64_t item_bytes, const char* option) {
  if (starts_as_npy(file)) fail(file.path(), "an .npy file, but {} is for raw files", option);
  if (file.size() % item_bytes != 0) {
    fail(file.path(), "{} bytes are not a multiple of {} bytes: {} are left over", file.size(), item_bytes,
         file.size() % item_bytes);
  }
  return file.size() / item_bytes;
}

array_contents opened(const std::string& path, std::uint64_t record_bytes, const char* option, const unpacking& where) {
  return record_bytes == 0 ? array_contents(path, where) : array_contents(path, option);
}

void require_index(const npy_type& type, const std::string& path) {
  if (type.kind == 'u' || type.kind == 'i') return;
  if (type.kind == 'b') {
    fail(path, "descr is {}: a mask is not an index; numpy.flatnonzero makes an index of it", printable(type.descr));
  }
  fail(path, "descr is {}; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned",
       printable(type.descr));
}

index_type index_type_of(const npy_type& type) {
  if (type.kind == 'u') return type.item_bytes <= 4 ? index_type::u32 : index_type::u64;
  return type.item_bytes <= 4 ? index_type::i32 : index_type::i64;
}

// Numbers of 1 or 2 bytes, of either order of bytes, as numbers of 4.
template <class From, class To>
void widen(const std::byte* from, std::uint64_t count, bool big_endian, std::byte* to) {
  for (std::uint64_t i = 0; i < count; ++i) {
    From narrow = 0;
    std::memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
    if (big_endian && sizeof narrow == 2)
      narrow = static_cast<From>(__builtin_bswap16(static_cast<std::uint16_t>(narrow)));
    const To wide{narrow};
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

void widen(const const_records& from, const npy_type& type, std::byte* to) {
  const bool big_endian = type.order == '>';
  const bool has_sign = type.kind == 'i';
  if (from.record_bytes == 1) {
    return has_sign ? widen<std::int8_t, std::int32_t>(from.data, from.count, big_endian, to)
                    : widen<std::uint8_t, std::uint32_t>(from.data, from.count, big_endian, to);
  }
  has_sign ? widen<std::int16_t, std::int32_t>(from.data, from.count, big_endian, to)
           : widen<std::uint16_t, std::uint32_t>(from.data, from.count, big_endian, to);
}

std::uint64_t product(std::span<const std::uint64_t> extents) {
  std::uint64_t all = 1;
  for (const std::uint64_t extent : extents) all *= extent;  // cannot overflow: parse_npy has checked it
  return all;
}

}  // namespace

record_file::record_file(const std::string& path, std::uint64_t record_bytes, const char* option,
                         const unpacking& where)
    : contents_(opened(path, record_bytes, option, where)), is_npy_(record_bytes == 0) {
  if (is_npy_) {
    array_ = read_array(contents_, option);
    return;
  }
  array_.shape = {raw_count(contents_, record_bytes, option)};
  array_.type.descr = fmt::format("'|V{}'", record_bytes);
  array_.type.item_bytes = record_bytes;
  array_.data_bytes = contents_.size();
}

std::span<const std::uint64_t> record_file::row_shape(std::size_t axes) const { return shape().subspan(axes); }

void record_file::read_data(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  contents_.read_at(data_offset() + offset, to, bytes);
}

const_records record_file::rows(std::uint64_t most_bytes, std::size_t axes) const {
  const_records all = unmapped_rows(most_bytes, axes);
  if (!array_.column_major) {
    if (contents_.size() > 0) all.data = contents_.data() + data_offset();
    return all;
  }
  if (row_major_ == nullptr) {
    require_memory_for_copy(path(), array_.data_bytes);
    held_ = held_memory(path() + " in rows", array_.data_bytes);
    row_major_ = std::make_unique_for_overwrite<std::byte[]>(array_.data_bytes);
    progress_step step("bringing into rows " + path(), progress_unit::bytes, static_cast<double>(array_.data_bytes));
    const auto read = [&](std::uint64_t offset, void* into, std::uint64_t bytes) {
      read_data(offset, into, bytes);
      step.add(bytes);
    };
    read_column_major(read, shape(), type().item_bytes, 0, shape()[0], row_major_.get());
  }
  all.data = row_major_.get();
  return all;
}

const_records record_file::planned_rows(std::uint64_t most_bytes, std::size_t axes) const {
  return array_.column_major ? unmapped_rows(most_bytes, axes) : rows(most_bytes, axes);
}

const_records record_file::unmapped_rows(std::uint64_t most_bytes, std::size_t axes) const {
  if (shape().empty() && axes > 0) fail(path(), "shape is (): an array without dimensions has no rows");
  if (axes > shape().size()) fail(path(), "shape is {}, of fewer than {} dimensions", shape_text(shape()), axes);
  const std::uint64_t record_bytes = product(row_shape(axes)) * array_.type.item_bytes;
  if (record_bytes == 0) {
    fail(path(), "rows of shape {} of {} are empty", shape_text(row_shape(axes)), printable(array_.type.descr));
  }
  if (record_bytes > most_bytes) {
    fail(path(), "rows of shape {} of {} take {} bytes; records take 1 to {}", shape_text(row_shape(axes)),
         printable(array_.type.descr), record_bytes, most_bytes);
  }
  return {nullptr, product(shape().first(axes)), record_bytes};
}

void record_file::read_rows(std::uint64_t first, std::uint64_t number, std::byte* to) const {
  if (array_.column_major) {
    const auto read = [this](std::uint64_t offset, void* into, std::uint64_t bytes) { read_data(offset, into, bytes); };
    return read_column_major(read, shape(), type().item_bytes, first, number, to);
  }
  const std::uint64_t row_bytes = product(row_shape(1)) * type().item_bytes;
  read_data(first * row_bytes, to, number * row_bytes);
}

std::uint64_t record_file::held_bytes() const noexcept {
  return contents_.held_bytes() + (row_major_ != nullptr ? array_.data_bytes : 0);
}

index_file::index_file(const std::string& path, std::optional<index_type> type, const char* option, reading what)
    : file_(path, type ? bytes(*type) : 0, option) {
  if (!type) require_index(file_.type(), file_.path());
  indices_ = {nullptr, file_.unmapped_rows(sizeof(std::uint64_t), shape().size()).count,
              type ? *type : index_type_of(file_.type())};
  const std::uint64_t width_of_file = type ? bytes(*type) : file_.type().item_bytes;
  const std::uint64_t copied_bytes = bytes_of(indices_.count, bytes(indices_.type));
  const bool is_widened = width_of_file != bytes(indices_.type);
  const bool is_in_file = file_.has_native_numbers() || indices_.count == 0;
  // native_numbers counts its own copy.
  if (is_widened || (what == reading::header && !is_in_file))
    held_ = held_memory(file_.path() + " as numbers of this machine", copied_bytes);
  if (what == reading::header) return;
  const const_records rows = file_.rows(sizeof(std::uint64_t), shape().size());
  indices_.data = rows.data;
  const std::uint64_t width = bytes(indices_.type);
  if (rows.record_bytes == width) {
    numbers_ = native_numbers(rows, file_.type());
    indices_.data = numbers_.data();
    return;
  }
  widened_.resize(rows.count);
  widen(rows, file_.type(), reinterpret_cast<std::byte*>(widened_.data()));
  indices_.data = widened_.data();
}

}  // namespace sheaf::io
