#include "io/record_file.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "io/python_literal.hpp"

namespace sheaf::io {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", path, what));
}

std::vector<std::byte> front_of(const input_file& file, std::uint64_t most_bytes) {
  std::vector<std::byte> front(std::min(most_bytes, file.size()));
  file.read_at(0, front.data(), front.size());
  return front;
}

bool starts_as_npy(const input_file& file) { return io::starts_as_npy(front_of(file, npy_magic_bytes)); }

npy_array read_array(const input_file& file, const char* option) {
  if (!starts_as_npy(file)) fail(file.path(), fmt::format("not an .npy file; raw files need {}", option));
  return parse_npy_front(front_of(file, most_npy_front_bytes), file.size(), file.path());
}

// Refuses a width for an .npy file: read as a raw file, its header would count as records.
std::uint64_t raw_count(const input_file& file, std::uint64_t item_bytes, const char* option) {
  if (starts_as_npy(file)) fail(file.path(), fmt::format("an .npy file, and {} is for raw files", option));
  if (file.size() % item_bytes != 0) {
    fail(file.path(), fmt::format("{} bytes are no whole number of {} bytes each: {} are left over", file.size(),
                                  item_bytes, file.size() % item_bytes));
  }
  return file.size() / item_bytes;
}

index_type index_type_of(const npy_type& type, const std::string& path) {
  const bool whole = type.kind == 'u' || type.kind == 'i';
  if (!whole || (type.item_bytes != 4 && type.item_bytes != 8) || type.order == '>') {
    fail(path, fmt::format("descr is {}{}; an index is '<u4', '<u8', '<i4' or '<i8'", printable(type.descr),
                           whole && type.order == '>' ? ", big-endian" : ""));
  }
  if (type.kind == 'u') return type.item_bytes == 4 ? index_type::u32 : index_type::u64;
  return type.item_bytes == 4 ? index_type::i32 : index_type::i64;
}

std::uint64_t product(std::span<const std::uint64_t> extents) {
  std::uint64_t all = 1;
  for (const std::uint64_t extent : extents) all *= extent;  // cannot overflow: parse_npy has checked it
  return all;
}

}  // namespace

record_file::record_file(const std::string& path, std::uint64_t record_bytes, const char* option)
    : file_(path), is_npy_(record_bytes == 0) {
  if (is_npy_) {
    array_ = read_array(file_, option);
    return;
  }
  array_.shape = {raw_count(file_, record_bytes, option)};
  array_.type.descr = fmt::format("'|V{}'", record_bytes);
  array_.type.item_bytes = record_bytes;
  array_.data_bytes = file_.size();
}

std::span<const std::uint64_t> record_file::row_shape(std::size_t axes) const { return shape().subspan(axes); }

const_records record_file::rows(std::uint64_t most_bytes, std::size_t axes) const {
  const_records all = unmapped_rows(most_bytes, axes);
  if (file_.size() > 0) all.data = file_.data() + data_offset();
  return all;
}

const_records record_file::unmapped_rows(std::uint64_t most_bytes, std::size_t axes) const {
  if (shape().empty() && axes > 0) fail(path(), "shape is (): an array without dimensions has no rows");
  if (axes > shape().size())
    fail(path(), fmt::format("shape is {}, of fewer than {} dimensions", shape_text(shape()), axes));
  const std::uint64_t record_bytes = product(row_shape(axes)) * array_.type.item_bytes;
  if (record_bytes == 0) {
    fail(path(),
         fmt::format("rows of shape {} of {} are empty", shape_text(row_shape(axes)), printable(array_.type.descr)));
  }
  if (record_bytes > most_bytes) {
    fail(path(), fmt::format("rows of shape {} of {} take {} bytes; records take 1 to {}", shape_text(row_shape(axes)),
                             printable(array_.type.descr), record_bytes, most_bytes));
  }
  return {nullptr, product(shape().first(axes)), record_bytes};
}

index_file::index_file(const std::string& path, std::optional<index_type> type, const char* option) : file_(path) {
  if (type) {
    shape_ = {raw_count(file_, bytes(*type), option)};
    indices_ = {file_.data(), shape_[0], *type};
  } else {
    npy_array array = read_array(file_, option);
    shape_ = std::move(array.shape);
    const index_type found = index_type_of(array.type, path);
    indices_ = {file_.data() + (file_.size() - array.data_bytes), product(shape_), found};
  }
  align();
}

void index_file::align() {
  const std::uint64_t width = bytes(indices_.type);
  if (reinterpret_cast<std::uintptr_t>(indices_.data) % width == 0) return;
  aligned_.resize((indices_.count * width + 7) / 8);
  std::memcpy(aligned_.data(), indices_.data, indices_.count * width);
  indices_.data = aligned_.data();
}

}  // namespace sheaf::io
