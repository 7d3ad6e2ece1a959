#include "apps/sheaf/sort/external.hpp"

#include <algorithm>
#include <utility>

#include "apps/sheaf/sort/background.hpp"
#include "plan/store/direct.hpp"

namespace sheaf::jobs {
namespace {

// A run is sorted from one array into another; the third is written to the file and then read into.
constexpr std::uint64_t arrays_of_a_run = 3;

std::uint64_t rows_of(std::span<const sorted_run> runs) {
  std::uint64_t rows = 0;
  for (const sorted_run& run : runs) rows += run.count;
  return rows;
}

std::uint64_t end_of(const sorted_run& run, std::uint64_t record_bytes) {
  return run.offset_bytes + io::direct_ceiling(run.count * record_bytes);
}

// With less memory than this, blocks of runs are too small to be read from the disk one by one. A sort of 200 MB took,
// through the cache and past it, 0.8 and 4.0 s within 1 MiB, 0.5 and 1.2 s within 4, 0.8 and 0.9 s within 8; 0.5 s
// within 64 (best of three, two cores of a virtual machine and its network disk, both in use).
constexpr std::uint64_t least_direct_memory_bytes = std::uint64_t{8} << 20;

}  // namespace

io::cache_use cache_use_for(std::uint64_t memory_bytes) {
  return memory_bytes < least_direct_memory_bytes ? io::cache_use::keep : io::cache_use::bypass;
}

std::uint64_t rows_per_run(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t memory_bytes,
                           const std::function<std::uint64_t(std::uint64_t rows)>& scratch_bytes) {
  const std::uint64_t row_bytes = arrays_of_a_run * record_bytes;
  const auto runs_fit = [&](std::uint64_t rows) { return rows * row_bytes + scratch_bytes(rows) <= memory_bytes; };
  std::uint64_t fits = 1;
  std::uint64_t too_many = std::min(count, memory_bytes / row_bytes) + 1;
  while (too_many - fits > 1 && too_many > fits) {
    const std::uint64_t rows = fits + (too_many - fits) / 2;
    (runs_fit(rows) ? fits : too_many) = rows;
  }
  const std::uint64_t runs = std::max<std::uint64_t>((count + fits - 1) / fits, 1);
  const std::uint64_t equal = std::max<std::uint64_t>((count + runs - 1) / runs, 1);  // runs of nearly equal length
  return runs_fit(equal) ? equal : fits;
}

std::uint64_t run_file_bytes(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t run_rows) {
  const std::uint64_t whole_runs = count / run_rows;
  return whole_runs * io::direct_ceiling(run_rows * record_bytes) +
         io::direct_ceiling((count - whole_runs * run_rows) * record_bytes);
}

std::vector<sorted_run> write_runs(io::scratch_file& file, const record_source& in, std::uint64_t run_rows,
                                   const std::function<void(const_records in, records out)>& sort,
                                   const row_progress& progress) {
  const std::uint64_t width = in.record_bytes;
  const std::uint64_t run_bytes = io::direct_ceiling(run_rows * width);
  std::vector<sorted_run> runs;
  for (std::uint64_t first = 0; first < in.count; first += run_rows) {
    runs.push_back({runs.size() * run_bytes, std::min(run_rows, in.count - first)});
  }
  const io::direct_memory arrays[arrays_of_a_run] = {io::direct_memory_of(run_bytes), io::direct_memory_of(run_bytes),
                                                     io::direct_memory_of(run_bytes)};
  std::byte* unsorted = arrays[0].get();
  std::byte* sorted = arrays[1].get();
  std::byte* in_transfer = arrays[2].get();
  const auto read = [&](std::size_t r, std::byte* to) { in.read(r * run_rows, runs[r].count, to); };
  const auto write = [&](std::size_t r, std::byte* from) {
    const std::uint64_t bytes = runs[r].count * width;
    std::fill_n(from + bytes, io::direct_ceiling(bytes) - bytes, std::byte{});
    file.write_at(runs[r].offset_bytes, from, io::direct_ceiling(bytes));
    progress(runs[r].count);
  };
  background disk;
  if (!runs.empty()) read(0, unsorted);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    std::future<void> done = disk.run([&, run, in_transfer] {
      if (run > 0) write(run - 1, in_transfer);
      if (run + 1 < runs.size()) read(run + 1, in_transfer);
    });
    sort({unsorted, runs[run].count, width}, {sorted, runs[run].count, width});
    done.get();
    std::swap(unsorted, in_transfer);  // the run just read is sorted next
    std::swap(sorted, in_transfer);    // the run just sorted is written next
  }
  if (!runs.empty()) write(runs.size() - 1, in_transfer);
  return runs;
}

std::uint64_t merge_levels(std::uint64_t runs, std::uint64_t record_bytes, std::uint64_t memory_bytes) {
  const std::uint64_t fan_in = most_merged_runs(record_bytes, memory_bytes);
  std::uint64_t levels = 1;
  for (; runs > fan_in; ++levels) runs = (runs + fan_in - 1) / fan_in;
  return levels;
}

merged merge_all(io::scratch_file& file, std::vector<sorted_run> runs, const merge_rows& rows,
                 std::uint64_t memory_bytes, const merge_output& output, const row_progress& progress) {
  const std::uint64_t width = rows.record_bytes;
  const std::uint64_t fan_in = most_merged_runs(width, memory_bytes);
  std::uint64_t end = 0;
  for (const sorted_run& run : runs) end = std::max(end, end_of(run, width));
  merged result{1};
  for (; runs.size() > fan_in; ++result.levels) {
    const std::size_t groups = (runs.size() + fan_in - 1) / fan_in;
    std::vector<sorted_run> longer;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = runs.size() * g / groups;
      const auto group = std::span(runs).subspan(first, runs.size() * (g + 1) / groups - first);
      longer.push_back({end, rows_of(group)});
      const auto append = [&](const std::byte* from, std::uint64_t bytes) {
        // The block extends to the aligned length, and the next run begins there.
        file.write_at(end, from, io::direct_ceiling(bytes));
        end += io::direct_ceiling(bytes);
      };
      merge_runs(file, group, rows, memory_bytes, {"", 0, width, append, true});
      // The runs of a group lie side by side.
      file.release(group.front().offset_bytes, end_of(group.back(), width) - group.front().offset_bytes);
      progress(longer.back().count);
    }
    runs = std::move(longer);
  }
  std::uint64_t written = 0;
  const auto write = [&](std::byte* block, std::uint64_t bytes) {
    output.write(block, bytes);
    const std::uint64_t before = written;
    written += bytes;
    progress(written / output.part_bytes - before / output.part_bytes);
  };
  merge_runs(file, runs, rows, memory_bytes,
             {output.front, output.part_offset, output.part_bytes, write, false, output.change_part});
  return result;
}

}  // namespace sheaf::jobs
