#include "cli/sort_merge.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cli/background.hpp"
#include "cli/loser_tree.hpp"
#include "cli/merge_key.hpp"

namespace sheaf::cli {
namespace {

// Disks reach their speed with reads of some 100 KiB on; larger blocks than these only spread over more memory.
constexpr std::uint64_t most_block_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t usual_block_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t most_output_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t most_fan_in = 1024;

std::uint64_t whole_rows(std::uint64_t bytes, std::uint64_t record_bytes) {
  return std::max<std::uint64_t>(bytes / record_bytes, 1);
}

// Of each of the two blocks that the result is collected in.
std::uint64_t output_rows(std::uint64_t record_bytes, std::uint64_t memory_bytes) {
  return whole_rows(std::min(most_output_bytes, memory_bytes / 8), record_bytes);
}

std::uint64_t for_input(std::uint64_t record_bytes, std::uint64_t memory_bytes) {
  const std::uint64_t output = 2 * output_rows(record_bytes, memory_bytes) * record_bytes;
  return memory_bytes - std::min(memory_bytes, output);
}

using bytes_array = std::unique_ptr<std::byte[]>;

bytes_array memory_for(std::uint64_t bytes) { return bytes_array(new std::byte[bytes]); }  // not cleared

// One run, read in blocks; the next block is fetched while one is used.
class run_reader {
 public:
  run_reader(io::scratch_file& file, background& disk, const sorted_run& run, std::uint64_t record_bytes,
             std::uint64_t block_rows)
      : file_(&file),
        disk_(&disk),
        record_bytes_(record_bytes),
        offset_(run.offset_bytes),
        unread_(run.count),
        block_rows_(std::min(block_rows, run.count)),
        block_(memory_for(block_rows_ * record_bytes)),
        next_block_(memory_for(block_rows_ * record_bytes)) {
    fetch();
  }

  /// The next row, or null at the end of the run. The one before is not read again.
  const std::byte* next() {
    row_ += record_bytes_;
    if (row_ != end_) return row_;
    return next_block();
  }
  const std::byte* next_block() {
    if (next_rows_ == 0) return nullptr;
    ready_.get();
    std::swap(block_, next_block_);
    row_ = block_.get();
    end_ = row_ + next_rows_ * record_bytes_;
    fetch();
    return row_;
  }

 private:
  void fetch() {
    next_rows_ = std::min(block_rows_, unread_);
    if (next_rows_ == 0) return;
    unread_ -= next_rows_;
    ready_ = disk_->run([file = file_, from = offset_, to = next_block_.get(), bytes = next_rows_ * record_bytes_] {
      file->read_at(from, to, bytes);
      file->release(from, bytes);
    });
    offset_ += next_rows_ * record_bytes_;
  }

  io::scratch_file* file_;
  background* disk_;
  std::uint64_t record_bytes_;
  std::uint64_t offset_;
  std::uint64_t unread_;
  std::uint64_t block_rows_;
  std::uint64_t next_rows_ = 0;
  bytes_array block_;
  bytes_array next_block_;
  const std::byte* row_ = nullptr;
  const std::byte* end_ = nullptr;
  std::future<void> ready_;
};

// Collects rows and has them written while it collects the next ones.
class row_collector {
 public:
  using writer = std::function<void(const std::byte*, std::uint64_t)>;

  row_collector(background& disk, std::uint64_t record_bytes, std::uint64_t block_rows, const writer& write)
      : disk_(disk),
        write_(write),
        record_bytes_(record_bytes),
        block_rows_(block_rows),
        block_(memory_for(block_rows * record_bytes)),
        written_(memory_for(block_rows * record_bytes)) {}

  void add(const std::byte* row) {
    std::memcpy(block_.get() + count_ * record_bytes_, row, record_bytes_);
    if (++count_ == block_rows_) flush();
  }
  void finish() {
    flush();
    if (done_.valid()) done_.get();
  }

 private:
  void flush() {
    if (done_.valid()) done_.get();
    std::swap(block_, written_);
    done_ = disk_.run([this, rows = written_.get(), count = std::exchange(count_, 0)] {
      if (count > 0) write_(rows, count);
    });
  }

  background& disk_;
  const writer& write_;
  std::uint64_t record_bytes_;
  std::uint64_t block_rows_;
  std::uint64_t count_ = 0;
  bytes_array block_;
  bytes_array written_;
  std::future<void> done_;
};

template <std::uint32_t Words>
void merge(std::vector<run_reader>& readers, const merge_rows& rows, row_collector& out) {
  const merge_key_reader<Words> key_of(rows.key, rows.record_bytes);
  std::vector<const std::byte*> heads;
  std::vector<merge_key<Words>> keys;
  for (run_reader& reader : readers) {
    heads.push_back(reader.next_block());
    keys.push_back(heads.back() != nullptr ? key_of(heads.back()) : merge_key<Words>::highest());
  }
  if (heads.empty()) return;
  loser_tree<merge_key<Words>> tree(keys);
  for (std::uint32_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == nullptr) tree.end(i);
  }
  while (!tree.all_ended()) {
    const std::uint32_t run = tree.winner();
    out.add(heads[run]);
    heads[run] = readers[run].next();
    if (heads[run] != nullptr) {
      tree.replace(key_of(heads[run]));
    } else {
      tree.end(run);
    }
  }
}

}  // namespace

std::uint64_t most_merged_runs(std::uint64_t record_bytes, std::uint64_t memory_bytes) {
  const std::uint64_t block = std::max(record_bytes, std::min(usual_block_bytes, memory_bytes / 64));
  return std::clamp<std::uint64_t>(for_input(record_bytes, memory_bytes) / (2 * block), 2, most_fan_in);
}

void merge_runs(io::scratch_file& file, std::span<const sorted_run> runs, const merge_rows& rows,
                std::uint64_t memory_bytes,
                const std::function<void(const std::byte* rows, std::uint64_t count)>& write) {
  const std::uint64_t width = rows.record_bytes;
  const std::uint64_t share = for_input(width, memory_bytes) / (2 * std::max<std::uint64_t>(runs.size(), 1));
  std::vector<run_reader> readers;  // destroyed after `disk`, whose work fills their blocks
  readers.reserve(runs.size());
  std::unique_ptr<row_collector> out;
  background disk;
  out = std::make_unique<row_collector>(disk, width, output_rows(width, memory_bytes), write);
  const std::uint64_t block_rows = whole_rows(std::min(share, most_block_bytes), width);
  for (const sorted_run& run : runs) readers.emplace_back(file, disk, run, width, block_rows);
  switch ((rows.key.bits + 63) / 64) {
    case 1: merge<1>(readers, rows, *out); break;
    case 2: merge<2>(readers, rows, *out); break;
    case 3: merge<3>(readers, rows, *out); break;
    default: merge<4>(readers, rows, *out);
  }
  out->finish();
}

}  // namespace sheaf::cli
