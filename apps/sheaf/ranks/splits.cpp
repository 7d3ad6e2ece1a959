#include "apps/sheaf/ranks/splits.hpp"

#include <bit>

#include <sheaf/distributed/split.hpp>
#include <sheaf/gather.hpp>

#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/ranks/input_part.hpp"
#include "apps/sheaf/ranks/movements.hpp"
#include "apps/sheaf/ranks/part_file.hpp"
#include "apps/sheaf/ranks/report.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

namespace sheaf::cli {
namespace {

using distributed::group;
using distributed::layout;
using distributed::split_records;

split_records split_records_of(const group& ranks, const_records in, const split_key& key, bool with_offsets,
                               const std::string& keys_path) {
  split_records split = distributed::split(ranks, in, key, distributed::balance::exact, with_offsets);
  wait_for_index(ranks, keys_path);
  return split;
}

// This rank's part of records that were split, behind a header.
std::unique_ptr<part_file> written_part(const group& ranks, const std::string& path, const std::string& header,
                                        const split_records& split) {
  const std::uint64_t width = split.rows.record_bytes;
  auto file = std::make_unique<part_file>(ranks, path, header, bytes_of(split.where.count(), width));
  file->write_rows(split.where.begin(ranks.rank()), records(split.rows.memory.data(), split.rows.count, width));
  return file;
}

// Where categories begin, which all ranks know and the first one writes.
std::unique_ptr<part_file> written_offsets(const group& ranks, const std::string& path,
                                           std::span<const std::uint64_t> offsets) {
  auto file = std::make_unique<part_file>(ranks, path, numbers_header("'<u8'", offsets.size()), offsets.size_bytes());
  file->write(0, offsets.data(), ranks.rank() == 0 ? offsets.size_bytes() : 0);
  return file;
}

void commit(const group& ranks, std::initializer_list<const std::unique_ptr<part_file>*> files) {
  std::vector<part_file*> written;
  for (const auto* const file : files) {
    if (*file != nullptr) written.push_back(file->get());
  }
  part_file::commit_all(ranks, written);
}

std::optional<sized_call> size_of_split(const split_on_ranks_job& job) {
  if (job.in.empty() || !says_its_sizes(job.in) || (!job.keys_path.empty() && !says_its_sizes(job.keys_path)))
    return std::nullopt;
  const opened_split files = job.open();
  const const_records rows = files.in.unmapped_rows(primitives::most_record_bytes);
  const const_records keys =
      files.keys != nullptr ? files.keys->unmapped_rows(primitives::most_record_bytes) : const_records();
  const split_key key = files.key(rows, files.keys != nullptr ? keys : rows);
  const std::uint32_t bits =
      key.from == split_key::kind::category
          ? static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(key.categories, 2) - 1))
          : key.bits.count;
  const std::uint64_t width = rows.record_bytes + keys.record_bytes;
  const key_field field{.offset = 0, .bytes = (bits + 7) / 8, .bit_count = bits};
  return sorted_call({rows.count, std::max<std::uint64_t>(width, field.bytes), field});
}

}  // namespace

void split_on_ranks(const split_on_ranks_job& job, const rank_threads& threads) {
  work_on_ranks(
      job.common, threads, [&] { return size_of_split(job); },
      [&](const group& ranks) {
        const auto start = std::chrono::steady_clock::now();
        std::optional<opened_split> files;
        std::optional<rows_of_rank> in;
        std::optional<rows_of_rank> keys;
        agree_on_ranks(ranks, [&] {
          refuse_on_ranks(job.common);
          files.emplace(job.open());
          in.emplace(ranks, files->in);
          if (files->keys == nullptr) return;
          // Categories of the other order of bytes become numbers of this machine on their way.
          const bool is_reversed = files->has_categories && files->keys->type().order == '>';
          const std::uint64_t width = files->keys->type().item_bytes;
          keys.emplace(ranks, *files->keys, [=](std::uint64_t, std::uint64_t number, std::byte* at) {
            if (is_reversed) io::reverse_each(at, number, width);
          });
        });
        ranks.require_same("the number of records that a rank sees", in->where.count());
        const auto begin = std::chrono::steady_clock::now();
        const const_records rows = in->rows();
        const split_records split = split_records_of(ranks, rows, files->key(rows, keys ? keys->rows() : rows),
                                                     !job.offsets.empty(), job.keys_path);
        const double seconds = seconds_since(begin);
        in->memory = buffer();
        const std::uint64_t count = split.where.count();
        const auto out = written_part(ranks, job.output,
                                      output_header(files->in, std::span(&count, 1), files->in.row_shape()), split);
        const auto bounds = job.offsets.empty() ? nullptr : written_offsets(ranks, job.offsets, split.offsets);
        commit(ranks, {&out, &bounds});
        print_ranks_report(job.common, ranks, job.output,
                           {"split", count, split.rows.record_bytes, seconds, seconds_since(start)});
      });
}

namespace {

// The records of a process, once for each of their categories.
struct memberships_of_rank {
  std::vector<std::uint64_t> rows;  ///< of this process, from 0
  std::vector<std::byte> sources;   ///< the same in all of the file, as numbers of the type that is written

  memberships_of_rank(std::span<const std::uint64_t> row_offsets, std::uint64_t first, std::uint64_t end,
                      index_type type) {
    const std::uint64_t count = row_offsets[end] - row_offsets[first];
    const std::uint64_t width = bytes(type);
    rows.reserve(count);
    sources.reserve(count * width);
    for (std::uint64_t row = first; row < end; ++row) {
      const auto* const number = reinterpret_cast<const std::byte*>(&row);  // little-endian, as the files are
      for (std::uint64_t i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
        rows.push_back(row - first);
        sources.insert(sources.end(), number, number + width);
      }
    }
  }
};

}  // namespace

void multi_split_on_ranks(const multi_split_on_ranks_job& job) {
  work_on_ranks(job.common, {}, {}, [&](const group& ranks) {
    const auto start = std::chrono::steady_clock::now();
    const bool moves = !job.output.empty();
    std::optional<opened_multi_split> files;
    std::optional<rows_of_rank> in;
    std::optional<rows_of_rank> of;
    std::optional<memberships_of_rank> mine;
    buffer expanded;
    agree_on_ranks(ranks, [&] {
      refuse_on_ranks(job.common);
      files.emplace(job.open());
      const std::span<const std::uint64_t> row_offsets = files->row_offsets;
      const layout records = layout::even(row_offsets.size() - 1, ranks.size());
      std::vector<std::uint64_t> begins;
      for (const std::uint64_t begin : records.begins()) begins.push_back(row_offsets[begin]);
      of.emplace(ranks, files->categories, layout::at(std::move(begins)));
      mine.emplace(row_offsets, records.begin(ranks.rank()), records.end(ranks.rank()), files->source_type);
      if (!moves) return;
      in.emplace(ranks, *files->in, records);
      expanded = buffer(ranks.local(), bytes_of(of->count, in->width));
    });
    ranks.require_same("the number of categories that a process sees", of->where.count());
    const io::native_numbers numbers(of->rows(), files->categories.type());
    const split_key key = split_key::category({numbers.data(), of->count, of->width}, files->category_count);
    const auto begin = std::chrono::steady_clock::now();
    bool wants_offsets = !job.offsets.empty();
    std::vector<std::uint64_t> offsets;
    const auto split_of = [&](const_records rows) {
      split_records split = split_records_of(ranks, rows, key, wants_offsets, job.keys_path);
      if (std::exchange(wants_offsets, false)) offsets = split.offsets;
      return split;
    };
    std::optional<split_records> rows;
    if (moves) {
      const records to(expanded.data(), of->count, in->width);
      agree_on_ranks(ranks, [&] { sheaf::gather(ranks.local(), in->rows(), mine->rows, to); });
      rows = split_of(to);
      expanded = buffer();
    }
    std::optional<split_records> sources;
    if (!job.sources.empty()) sources = split_of({mine->sources.data(), of->count, bytes(files->source_type)});
    const double seconds = seconds_since(begin);
    const std::uint64_t count = of->where.count();
    const auto out = moves
                         ? written_part(ranks, job.output,
                                        output_header(*files->in, std::span(&count, 1), files->in->row_shape()), *rows)
                         : nullptr;
    const auto list = sources ? written_part(ranks, job.sources,
                                             files->sources_like != nullptr
                                                 ? index_header(*files->sources_like, files->source_type, count)
                                                 : numbers_header(descr_of(files->source_type), count),
                                             *sources)
                              : nullptr;
    const auto bounds = job.offsets.empty() ? nullptr : written_offsets(ranks, job.offsets, offsets);
    commit(ranks, {&out, &list, &bounds});
    const split_records& shown = moves ? *rows : *sources;
    print_ranks_report(job.common, ranks, moves ? job.output : job.sources,
                       {job.subcommand, count, shown.rows.record_bytes, seconds, seconds_since(start)});
  });
}

}  // namespace sheaf::cli
