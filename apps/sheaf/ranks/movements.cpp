#include "apps/sheaf/ranks/movements.hpp"

#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/sort.hpp>

#include "apps/sheaf/files/failure.hpp"

#include "apps/sheaf/ranks/host_memory.hpp"
#include "apps/sheaf/ranks/input_part.hpp"
#include "apps/sheaf/ranks/part_file.hpp"
#include "apps/sheaf/ranks/report.hpp"
#include "apps/sheaf/sort/key.hpp"

namespace sheaf::cli {

using distributed::group;
using distributed::layout;

void sort_on_ranks(const sort_on_ranks_options& options, const rank_threads& threads) {
  work_on_ranks(options.common, threads, [&](const group& ranks) {
    const auto start = std::chrono::steady_clock::now();
    std::optional<io::record_file> file;
    std::optional<rows_of_rank> mine;
    std::optional<context_input> sent;
    std::optional<jobs::row_order> order;
    agree_on_ranks(ranks, [&] {
      refuse_on_ranks(options.common);
      refuse_streams({options.in, options.output});
      require_output(options.output, {options.in});
      file.emplace(options.in, options.record_bytes);
      const const_records rows = file->unmapped_rows(primitives::most_record_bytes);
      order.emplace(jobs::order_of_file(*file, rows.record_bytes, options.keys, options.descending));
      require_name_of_kind(options.output, *file);
      mine.emplace(ranks, *file);
      const auto bad = jobs::make_sortable(mine->memory.data(), mine->count, mine->width, order->changes);
      if (bad) {
        io::fail(options.in, "record {}: character {} is {:#x}, which is not a code point",
                 mine->where.begin(ranks.rank()) + bad->row, bad->place, bad->value);
      }
      sent.emplace(ranks.local(), mine->memory.data(), mine->memory.size());
    });
    ranks.require_same("the number of records that a rank sees", mine->where.count());
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t width = mine->width;
    distributed::sorted_records sorted =
        distributed::sort_records(ranks, const_records(sent->data(), mine->count, width), order->key);
    const double seconds = seconds_since(begin);
    sent.reset();
    mine->memory = buffer();
    sorted.rows = in_host_memory(ranks, std::move(sorted.rows));
    jobs::restore(sorted.rows.memory.data(), sorted.rows.count, width, order->changes);
    const std::uint64_t count = sorted.where.count();
    part_file out(ranks, options.output, output_header(*file, std::span(&count, 1), file->row_shape()),
                  bytes_of(count, width));
    out.write(sorted.where.begin(ranks.rank()) * width, sorted.rows.memory.data(), sorted.rows.count * width);
    out.commit();
    print_ranks_report(options.common, ranks, options.output, {"sort", count, width, seconds, seconds_since(start)});
  });
}

void gather_on_ranks(const movement_options& options, const rank_threads& threads) {
  work_on_ranks(options.common, threads, [&](const group& ranks) {
    const auto start = std::chrono::steady_clock::now();
    std::optional<io::record_file> file;
    std::optional<io::index_file> index;
    std::optional<rows_of_rank> table;
    std::optional<context_input> sent_table;
    std::optional<context_input> sent_list;
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
      sent_table.emplace(ranks.local(), table->memory.data(), table->memory.size());
      sent_list.emplace(ranks.local(), list.data, list.count * bytes(list.type));
      list.data = sent_list->data();
    });
    ranks.require_same("the number of entries that a rank sees", entries.count());
    const std::uint64_t width = table->width;
    buffer rows;
    std::optional<context_array> to;
    agree_on_ranks(ranks, [&] {
      rows = host_buffer(ranks, list.count * width);
      to.emplace(ranks.local(), rows.data(), rows.size());
    });
    const auto begin = std::chrono::steady_clock::now();
    distributed::gather(ranks, const_records(sent_table->data(), table->count, width), table->where, list,
                        records(to->data(), list.count, width));
    wait_for_index(ranks, options.index);
    const double seconds = seconds_since(begin);
    fetch_on_ranks(ranks, *to);
    part_file out(ranks, options.output, output_header(*file, index->shape(), file->row_shape()),
                  bytes_of(entries.count(), width));
    out.write(entries.begin(ranks.rank()) * width, rows.data(), rows.size());
    out.commit();
    print_ranks_report(options.common, ranks, options.output,
                       {"gather", entries.count(), width, seconds, seconds_since(start)});
  });
}

}  // namespace sheaf::cli
