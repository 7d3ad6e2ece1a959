#include "apps/sheaf/ranks/input_part.hpp"

#include <cstring>

#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/ranks/host_memory.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {

bool says_its_sizes(const std::string& path) {
  return !io::names_stream(path) && path.find(".npz") == path.npos && !path.ends_with(".gz");
}

rows_of_rank::rows_of_rank(const distributed::group& ranks, const io::record_file& file, const piece_work& change)
    : rows_of_rank(ranks, file,
                   distributed::layout::even(file.unmapped_rows(primitives::most_record_bytes).count, ranks.size()),
                   change) {}

rows_of_rank::rows_of_rank(const distributed::group& ranks, const io::record_file& file, distributed::layout parts,
                           const piece_work& change)
    : where(std::move(parts)),
      memory(ranks.local(), where.count(ranks.rank()) * file.unmapped_rows(primitives::most_record_bytes).record_bytes),
      width(file.unmapped_rows(primitives::most_record_bytes).record_bytes),
      count(where.count(ranks.rank())) {
  const std::uint64_t begin = where.begin(ranks.rank());
  const auto changed = [&](std::uint64_t first, std::uint64_t number, std::byte* at) {
    if (change) change(first, number, at);
  };
  const records to(memory.data(), count, width);
  if (file.is_row_by_row()) {
    load_rows(ranks, to, [&](std::uint64_t first, std::uint64_t number, std::byte* at) {
      file.read_rows(begin + first, number, at);
      changed(first, number, at);
    });
    return;
  }
  // Of an array that lies column by column all rows are read at once.
  const bool is_in_place = jobs::works_in_place(ranks.local());
  const buffer copy = is_in_place ? buffer() : host_buffer(ranks, count * width);
  std::byte* const all = is_in_place ? memory.data() : copy.data();
  file.read_rows(begin, count, all);
  load_rows(ranks, to, [&](std::uint64_t first, std::uint64_t number, std::byte* at) {
    if (!is_in_place) std::memcpy(at, all + first * width, number * width);
    changed(first, number, at);
  });
}

}  // namespace sheaf::cli
