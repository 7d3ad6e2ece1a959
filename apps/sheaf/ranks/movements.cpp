#include "apps/sheaf/ranks/movements.hpp"

#include <mutex>

#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/sort.hpp>

#include "apps/sheaf/files/failure.hpp"

#include "apps/sheaf/ranks/input_part.hpp"
#include "apps/sheaf/ranks/part_file.hpp"
#include "apps/sheaf/ranks/report.hpp"
#include "apps/sheaf/sort/key.hpp"

namespace sheaf::cli {

using distributed::group;
using distributed::layout;

namespace {

/// The bad character of the lowest row, which pieces of rows that threads look at side by side have.
class bad_characters {
 public:
  void keep(std::uint64_t first_row, std::optional<jobs::bad_character> found) {
    if (!found) return;
    found->row += first_row;
    const std::lock_guard lock(mutex_);
    if (!first_ || found->row < first_->row) first_ = found;
  }
  const std::optional<jobs::bad_character>& first() const noexcept { return first_; }

 private:
  std::mutex mutex_;
  std::optional<jobs::bad_character> first_;
};

std::optional<sized_call> size_of_sort(const sort_on_ranks_options& options) {
  if (!says_its_sizes(options.in)) return std::nullopt;
  const io::record_file file(options.in, options.record_bytes);
  const const_records rows = file.unmapped_rows(primitives::most_record_bytes);
  const jobs::row_order order = jobs::order_of_file(file, rows.record_bytes, options.keys, options.descending);
  return sorted_call({rows.count, rows.record_bytes, order.key});
}

std::optional<sized_call> size_of_gather(const movement_options& options) {
  if (!says_its_sizes(options.records_path) || !says_its_sizes(options.index)) return std::nullopt;
  const io::record_file file(options.records_path, options.record_bytes);
  const io::index_file index(options.index, options.index_kind, "--index-type", io::reading::header);
  const const_records rows = file.unmapped_rows(primitives::most_record_bytes);
  const distributed::gather_size size{index.indices().count, rows.count, rows.record_bytes};
  const std::uint64_t entry_bytes = size.record_bytes + bytes(index.indices().type);
  sized_call call;
  call.explain = [size](const context& ctx, int most) {
    return distributed::explain_gather_on_devices(ctx, size, most);
  };
  // Chunks of an exchange take what is left.
  call.bytes_on_each = [size, entry_bytes](int devices) {
    return (size.records * size.record_bytes + size.entries * entry_bytes) / static_cast<std::uint64_t>(devices) / 4 *
           5;
  };
  return call;
}

}  // namespace

sized_call sorted_call(const distributed::sort_size& size) {
  sized_call call;
  call.explain = [size](const context& ctx, int most) { return distributed::explain_sort_on_devices(ctx, size, most); };
  call.bytes_on_each = [size](int devices) {
    constexpr std::uint64_t most_scratch_of_a_record = 45;  // as sheaf/sort.hpp says
    const std::uint64_t mine = (size.records / static_cast<std::uint64_t>(devices) + 1);
    const std::uint64_t rows = mine * size.record_bytes;
    const bool compares_all = size.key.count == 1 && size.key.fields[0].bytes == size.record_bytes;
    const std::uint64_t scratch = compares_all ? rows / 10 * 11 : mine * most_scratch_of_a_record;
    if (devices == 1) return 2 * rows + scratch;
    // The input, a copy of all rows, those that come from others, the result; a number of each row's part, with counts
    // of parts, two and a half bytes; and the scratch of a group, which has three quarters of many rows at most.
    const std::uint64_t come = rows / static_cast<std::uint64_t>(devices) * static_cast<std::uint64_t>(devices - 1);
    return 3 * rows + come + mine * 5 / 2 + scratch / 4 * 3;
  };
  return call;
}

void sort_on_ranks(const sort_on_ranks_options& options, const rank_threads& threads) {
  const auto sizes = [&] { return size_of_sort(options); };
  work_on_ranks(options.common, threads, sizes, [&](const group& ranks) {
    const auto start = std::chrono::steady_clock::now();
    std::optional<io::record_file> file;
    std::optional<rows_of_rank> mine;
    std::optional<jobs::row_order> order;
    agree_on_ranks(ranks, [&] {
      refuse_on_ranks(options.common);
      refuse_streams({options.in, options.output});
      require_output(options.output, {options.in});
      file.emplace(options.in, options.record_bytes);
      const const_records rows_of_file = file->unmapped_rows(primitives::most_record_bytes);
      order.emplace(jobs::order_of_file(*file, rows_of_file.record_bytes, options.keys, options.descending));
      require_name_of_kind(options.output, *file);
      bad_characters bad;
      mine.emplace(ranks, *file, [&](std::uint64_t first, std::uint64_t number, std::byte* rows) {
        bad.keep(first, jobs::make_sortable(rows, number, rows_of_file.record_bytes, order->changes));
      });
      if (const auto& first = bad.first()) {
        io::fail(options.in, "record {}: character {} is {:#x}, which is not a code point",
                 mine->where.begin(ranks.rank()) + first->row, first->place, first->value);
      }
    });
    ranks.require_same("the number of records that a rank sees", mine->where.count());
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t width = mine->width;
    distributed::sorted_records sorted = distributed::sort_records(ranks, mine->rows(), order->key);
    const double seconds = seconds_since(begin);
    mine->memory = buffer();
    const std::uint64_t count = sorted.where.count();
    part_file out(ranks, options.output, output_header(*file, std::span(&count, 1), file->row_shape()),
                  bytes_of(count, width));
    out.write_rows(sorted.where.begin(ranks.rank()), records(sorted.rows.memory.data(), sorted.rows.count, width),
                   [&](std::uint64_t, std::uint64_t number, std::byte* rows) {
                     jobs::restore(rows, number, width, order->changes);
                   });
    out.commit();
    print_ranks_report(options.common, ranks, options.output, {"sort", count, width, seconds, seconds_since(start)});
  });
}

void gather_on_ranks(const movement_options& options, const rank_threads& threads) {
  const auto sizes = [&] { return size_of_gather(options); };
  work_on_ranks(options.common, threads, sizes, [&](const group& ranks) {
    const auto start = std::chrono::steady_clock::now();
    std::optional<io::record_file> file;
    std::optional<io::index_file> index;
    std::optional<rows_of_rank> table;
    std::optional<sent_bytes> sent_list;
    layout entries;
    index_span list;
    agree_on_ranks(ranks, [&] {
      refuse_on_ranks(options.common);
      refuse_streams({options.records_path, options.index, options.output});
      require_output(options.output, {options.records_path, options.index});
      file.emplace(options.records_path, options.record_bytes);
      index.emplace(options.index, options.index_kind);
      require_name_of_kind(options.output, *file);
      table.emplace(ranks, *file);
      const index_span all = index->indices();
      entries = layout::even(all.count, ranks.size());
      list = {static_cast<const std::byte*>(all.data) + entries.begin(ranks.rank()) * bytes(all.type),
              entries.count(ranks.rank()), all.type};
      sent_list.emplace(ranks, list.data, list.count * bytes(list.type));
      list.data = sent_list->data();
    });
    ranks.require_same("the number of entries that a rank sees", entries.count());
    const std::uint64_t width = table->width;
    buffer rows;
    agree_on_ranks(ranks, [&] { rows = buffer(ranks.local(), list.count * width); });
    const auto begin = std::chrono::steady_clock::now();
    const records to(rows.data(), list.count, width);
    distributed::gather(ranks, table->rows(), table->where, list, to);
    wait_for_index(ranks, options.index);
    const double seconds = seconds_since(begin);
    part_file out(ranks, options.output, output_header(*file, index->shape(), file->row_shape()),
                  bytes_of(entries.count(), width));
    out.write_rows(entries.begin(ranks.rank()), to);
    out.commit();
    print_ranks_report(options.common, ranks, options.output,
                       {"gather", entries.count(), width, seconds, seconds_since(start)});
  });
}

}  // namespace sheaf::cli
