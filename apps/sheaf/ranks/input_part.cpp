#include "apps/sheaf/ranks/input_part.hpp"

#include "apps/sheaf/ranks/host_memory.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {

rows_of_rank::rows_of_rank(const distributed::group& ranks, const io::record_file& file)
    : rows_of_rank(ranks, file,
                   distributed::layout::even(file.unmapped_rows(primitives::most_record_bytes).count, ranks.size())) {}

rows_of_rank::rows_of_rank(const distributed::group& ranks, const io::record_file& file, distributed::layout parts)
    : where(std::move(parts)),
      width(file.unmapped_rows(primitives::most_record_bytes).record_bytes),
      count(where.count(ranks.rank())) {
  memory = host_buffer(ranks, count * width);
  file.read_rows(where.begin(ranks.rank()), count, memory.data());
}

}  // namespace sheaf::cli
