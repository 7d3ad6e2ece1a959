#include "cli/sort_external.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

#include "cli/background.hpp"

namespace sheaf::cli {
namespace {

constexpr std::uint64_t arrays_of_a_run = 3;  ///< read, sorted from, sorted into or written

std::uint64_t rows_of(std::span<const sorted_run> runs) {
  std::uint64_t rows = 0;
  for (const sorted_run& run : runs) rows += run.count;
  return rows;
}

}  // namespace

std::uint64_t rows_per_run(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t memory_bytes,
                           const std::function<std::uint64_t(std::uint64_t rows)>& scratch_bytes) {
  const std::uint64_t row_bytes = arrays_of_a_run * record_bytes;
  std::uint64_t fits = 1;
  std::uint64_t too_many = std::min(count, memory_bytes / row_bytes) + 1;
  while (too_many - fits > 1 && too_many > fits) {
    const std::uint64_t rows = fits + (too_many - fits) / 2;
    (rows * row_bytes + scratch_bytes(rows) <= memory_bytes ? fits : too_many) = rows;
  }
  const std::uint64_t runs = std::max<std::uint64_t>((count + fits - 1) / fits, 1);
  return std::max<std::uint64_t>((count + runs - 1) / runs, 1);  // all runs nearly as long as each other
}

std::vector<sorted_run> write_runs(io::scratch_file& file, const record_source& in, std::uint64_t run_rows,
                                   const std::function<void(const_records in, records out)>& sort,
                                   const row_progress& progress) {
  const std::uint64_t width = in.record_bytes;
  std::vector<sorted_run> runs;
  for (std::uint64_t first = 0; first < in.count; first += run_rows) {
    runs.push_back({first * width, std::min(run_rows, in.count - first)});
  }
  const context host = context::cpu(1);
  const buffer arrays[arrays_of_a_run] = {buffer(host, run_rows * width), buffer(host, run_rows * width),
                                          buffer(host, run_rows * width)};
  std::byte* unsorted = arrays[0].data();
  std::byte* sorted = arrays[1].data();
  std::byte* moved = arrays[2].data();
  background disk;
  const auto read = [&](std::size_t r, std::byte* to) { in.read(runs[r].offset_bytes / width, runs[r].count, to); };
  const auto write = [&](std::size_t r, const std::byte* from) {
    file.write_at(runs[r].offset_bytes, from, runs[r].count * width);
    progress(runs[r].count);
  };
  if (!runs.empty()) read(0, unsorted);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::future<void> done = disk.run([&, r, moved] {
      if (r > 0) write(r - 1, moved);
      if (r + 1 < runs.size()) read(r + 1, moved);
    });
    sort({unsorted, runs[r].count, width}, {sorted, runs[r].count, width});
    done.get();
    std::swap(unsorted, moved);  // what was read is sorted next
    std::swap(sorted, moved);    // what was sorted is written next
  }
  if (!runs.empty()) write(runs.size() - 1, moved);
  return runs;
}

merged merge_all(io::scratch_file& file, std::vector<sorted_run> runs, const merge_rows& rows,
                 std::uint64_t memory_bytes,
                 const std::function<void(const std::byte* rows, std::uint64_t count)>& write,
                 const row_progress& progress) {
  const std::uint64_t fan_in = most_merged_runs(rows.record_bytes, memory_bytes);
  std::uint64_t end = rows_of(runs) * rows.record_bytes;
  merged result{1};
  for (; runs.size() > fan_in; ++result.levels) {
    const std::size_t groups = (runs.size() + fan_in - 1) / fan_in;
    std::vector<sorted_run> longer;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = runs.size() * g / groups;
      const auto group = std::span(runs).subspan(first, runs.size() * (g + 1) / groups - first);
      longer.push_back({end, rows_of(group)});
      merge_runs(file, group, rows, memory_bytes, [&](const std::byte* from, std::uint64_t count) {
        file.write_at(end, from, count * rows.record_bytes);
        end += count * rows.record_bytes;
        progress(count);
      });
    }
    runs = std::move(longer);
  }
  merge_runs(file, runs, rows, memory_bytes, [&](const std::byte* from, std::uint64_t count) {
    write(from, count);
    progress(count);
  });
  return result;
}

}  // namespace sheaf::cli
