#include "apps/sheaf/subcommands/files/memberships.hpp"

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/streams.hpp"

namespace sheaf::cli {
namespace {

// Numbers as the file has them, so that a message shows a number below 0 as such.
template <class Number>
void require_ascending(const std::string& path, std::span<const Number> row_offsets, std::uint64_t entries,
                       const std::string& categories) {
  if (row_offsets[0] != 0) io::fail(path, "[0] is {}, not 0", row_offsets[0]);
  for (std::size_t i = 1; i < row_offsets.size(); ++i) {
    if (row_offsets[i] < row_offsets[i - 1])
      io::fail(path, "[{}] is {}, below [{}], which is {}", i, row_offsets[i], i - 1, row_offsets[i - 1]);
  }
  if (static_cast<std::uint64_t>(row_offsets.back()) != entries) {
    io::fail(path, "[{}], the last, is {}, but {} has {} entries", row_offsets.size() - 1, row_offsets.back(),
             io::shown_input(categories), entries);
  }
}

template <class Number>
std::span<const Number> numbers_of(index_span list) {
  return {static_cast<const Number*>(list.data), list.count};
}

}  // namespace

void require_category_type(const io::record_file& file, std::string_view of) {
  const io::npy_type& type = file.type();
  const bool known = !file.is_npy() || (type.kind == 'u' && type.item_bytes <= 4);
  if (!known) io::fail(file.path(), "descr is {}; categories are '|u1', '<u2' or '<u4'", type.descr);
  if (file.shape().size() != 1) {
    io::fail(file.path(), "shape is {}; categories are one number a {}", io::shape_text(file.shape()), of);
  }
}

row_offset_file::row_offset_file(const std::string& path, std::optional<index_type> type, io::reading what)
    : file_(path, type, "--index-type", what) {
  if (file_.shape().size() != 1) {
    io::fail(path, "shape is {}; row offsets are one number a record, and one more", io::shape_text(file_.shape()));
  }
  const index_span list = file_.indices();
  if (list.count == 0) io::fail(path, "no numbers; there is one row offset more than there are records");
  if (bytes(list.type) == 4) held_ = io::held_memory(path + " in 64 bits", io::bytes_of(list.count, 8));
  if (what == io::reading::header) return;
  switch (list.type) {
    case index_type::u64:
    case index_type::i64: numbers_ = numbers_of<std::uint64_t>(list); return;
    case index_type::u32:
    case index_type::i32: break;
  }
  const auto narrow = numbers_of<std::uint32_t>(list);  // those below 0 are refused before anybody reads them
  widened_.assign(narrow.begin(), narrow.end());
  numbers_ = widened_;
}

void row_offset_file::require_ascending_to(std::uint64_t entries, const std::string& categories) const {
  const index_span list = file_.indices();
  switch (list.type) {
    case index_type::u32: return require_ascending(file_.path(), numbers_of<std::uint32_t>(list), entries, categories);
    case index_type::u64: return require_ascending(file_.path(), numbers_of<std::uint64_t>(list), entries, categories);
    case index_type::i32: return require_ascending(file_.path(), numbers_of<std::int32_t>(list), entries, categories);
    case index_type::i64: return require_ascending(file_.path(), numbers_of<std::int64_t>(list), entries, categories);
  }
}

}  // namespace sheaf::cli
