#include "apps/sheaf/subcommands/files/search_keys.hpp"

#include <algorithm>

#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "core/printable.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::cli {
namespace {

bool is_number_or_date(const io::npy_type& type) {
  return std::string_view("iufMm").find(type.kind) != std::string_view::npos;
}

/// What has to agree of two types whose bits are compared: dates with their unit, and numbers but for their sign,
/// because integers of both signs have one bit pattern for each number that both have.
std::string family_of(const io::npy_type& type) {
  if (type.kind == 'u' || type.kind == 'i' || type.kind == 'f') return type.kind == 'f' ? "f" : "i";
  return type.descr.substr(std::min(type.descr.find(type.kind), type.descr.size()));
}

void require_width(const io::record_file& file, std::uint64_t bytes, std::string_view advice) {
  if (bytes == 4 || bytes == 8) return;
  io::fail(file.path(), "keys of {} bytes, not 4 or 8{}", bytes, advice);
}

}  // namespace

key_place parse_key_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto number = [&](std::size_t first, std::size_t length) {
    return primitives::parse_number(std::string_view(text).substr(first, length));
  };
  if (colon != text.npos) {
    const std::optional<std::uint64_t> offset = number(0, colon);
    const std::optional<std::uint64_t> bytes = number(colon + 1, text.npos);
    if (offset && bytes && (*bytes == 4 || *bytes == 8)) return {*offset, *bytes};
  }
  primitives::refuse("--key: '{}' is not OFFSET:BYTES with 4 or 8 bytes", core::printable(text));
}

key_file::key_file(const std::string& path, std::uint64_t key_bytes) : file_(path, key_bytes, "--key-bytes") {
  if (file_.is_npy() && !is_number_or_date(file_.type())) {
    io::fail(file_.path(), "descr is {}; keys are numbers or dates of 4 or 8 bytes",
             core::printable(file_.type().descr));
  }
  require_width(file_, file_.type().item_bytes, "");
  keys_ = file_.rows(primitives::most_record_bytes, file_.shape().size());
}

void key_file::reverse_bytes() {
  const std::uint64_t width = keys_.record_bytes;
  held_ = io::held_memory(file_.path() + " in the table's order of bytes", keys_.count * width);
  reversed_.assign(keys_.data, keys_.data + keys_.count * width);
  io::reverse_each(reversed_.data(), keys_.count, width);
  keys_.data = reversed_.data();
}

namespace {

// The key that a field is: a number or date of 4 or 8 bytes.
key_place key_of_field(const std::string& name, const io::record_file& table) {
  const std::optional<io::npy_field> field = jobs::field_of_rows(table, name);
  if (!field) {
    const std::string names = io::field_names(table.type());
    if (names.empty()) return parse_key_place(name);  // throws: not a place either
    primitives::refuse("--key: '{}' is neither OFFSET:BYTES nor a field of {}, whose fields are {}",
                       core::printable(name), table.path(), names);
  }
  const bool is_key = field->count == 1 && is_number_or_date(field->type) &&
                      (field->type.item_bytes == 4 || field->type.item_bytes == 8);
  if (!is_key) {
    io::fail(table.path(), "field {} is {}{}; keys are numbers or dates of 4 or 8 bytes", core::printable(name),
             field->count == 1 ? "" : fmt::format("{} times ", field->count), core::printable(field->type.descr));
  }
  return {field->offset, field->type.item_bytes, field->type};
}

}  // namespace

key_place key_of_rows(const std::string& given, const io::record_file& table, const_records rows) {
  if (given.empty()) {
    require_width(table, rows.record_bytes, "; --key OFFSET:BYTES says where the key lies in a row");
    if (!table.is_npy()) return {0, rows.record_bytes};
    if (!is_number_or_date(table.type())) {
      io::fail(table.path(),
               "descr is {}; a row is a key where it has numbers or dates, elsewhere --key OFFSET:BYTES says "
               "where the key lies in it",
               core::printable(table.type().descr));
    }
    if (table.type().item_bytes != rows.record_bytes) return {0, rows.record_bytes};
    return {0, rows.record_bytes, table.type()};
  }
  if (!jobs::is_key_place(given)) return key_of_field(given, table);
  key_place place = parse_key_place(given);
  if (place.offset > rows.record_bytes || place.bytes > rows.record_bytes - place.offset) {
    primitives::refuse("--key {}:{} ends past the {} bytes of a row of {}", place.offset, place.bytes,
                       rows.record_bytes, table.path());
  }
  const bool is_row = place.bytes == rows.record_bytes && table.type().item_bytes == place.bytes;
  if (!is_row || !table.is_npy() || !is_number_or_date(table.type())) return place;
  return {place.offset, place.bytes, table.type()};
}

bool bring_to_one_type(key_file& keys, const io::record_file& table, const key_place& place) {
  if (keys.keys().record_bytes != place.bytes) {
    io::fail(keys.file().path(), "keys of {} bytes, but those of {} have {}", keys.keys().record_bytes, table.path(),
             place.bytes);
  }
  const io::npy_type& type = keys.file().type();
  if (!keys.file().is_npy() || !place.type) return false;
  if (family_of(type) != family_of(*place.type)) {
    io::fail(keys.file().path(), "descr is {}, but {} has {}; bits are compared, so both need the same type",
             core::printable(type.descr), table.path(), core::printable(place.type->descr));
  }
  if (type.order == place.type->order) return false;
  keys.reverse_bytes();
  return true;
}

}  // namespace sheaf::cli
