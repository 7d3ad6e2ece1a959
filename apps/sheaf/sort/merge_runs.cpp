#include "apps/sheaf/sort/merge_runs.hpp"

#include <future>

#include "apps/sheaf/sort/background.hpp"
#include "apps/sheaf/sort/loser_tree.hpp"
#include "apps/sheaf/sort/merge_key.hpp"
#include "plan/store/direct.hpp"

namespace sheaf::jobs {
namespace {

// Disks reach their full speed with reads of some 100 KiB. Blocks larger than these only take more memory.
constexpr std::uint64_t most_block_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t usual_block_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t most_output_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t most_fan_in = 1024;
// The space of a run is freed in pieces, because freeing takes ext4 some 2 ms, whatever the size: a sort of 200 MB
// within 1 MiB of memory that freed each block took 89 s, one that frees pieces 1 s.
constexpr std::uint64_t least_released_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t most_released_pieces = 8;

// The size of each of the two blocks that collect the result.
std::uint64_t output_block_bytes(std::uint64_t memory_bytes) {
  return std::max(io::direct_floor(std::min(most_output_bytes, memory_bytes / 8)), io::direct_alignment);
}

// Memory for the blocks of all runs.
std::uint64_t input_memory_bytes(std::uint64_t memory_bytes) {
  return memory_bytes - std::min(memory_bytes, 2 * output_block_bytes(memory_bytes));
}

// Rows that fit in a block of a run wherever they lie in the file, because reads begin and end at multiples of the
// alignment.
std::uint64_t rows_of_block(std::uint64_t block_bytes, std::uint64_t record_bytes) {
  const std::uint64_t alignment_loss = 2 * io::direct_alignment;
  return std::max<std::uint64_t>((block_bytes - std::min(block_bytes, alignment_loss)) / record_bytes, 1);
}

// Reads a run in blocks; the next block is read while one is used.
class run_reader {
 public:
  run_reader(io::scratch_file& file, background& disk, const sorted_run& run, std::uint64_t record_bytes,
             std::uint64_t block_rows, bool releases)
      : file_(&file),
        disk_(&disk),
        record_bytes_(record_bytes),
        offset_(run.offset_bytes),
        unread_(run.count),
        block_rows_(std::min(block_rows, run.count)),
        released_to_(io::direct_ceiling(run.offset_bytes)),
        released_piece_(releases ? std::max(least_released_bytes, run.count * record_bytes / most_released_pieces)
                                 : ~std::uint64_t{0}),
        block_(block_memory()),
        next_block_(block_memory()) {
    fetch();
  }

  /// The next row, or null at the end of the run. It invalidates the row returned before.
  const std::byte* next() {
    row_ += record_bytes_;
    if (row_ != end_) return row_;
    return next_block();
  }
  const std::byte* next_block() {
    if (next_rows_ == 0) return nullptr;
    ready_.get();
    std::swap(block_, next_block_);
    row_ = block_.get() + next_skipped_;
    end_ = row_ + next_rows_ * record_bytes_;
    fetch();
    return row_;
  }

 private:
  io::direct_memory block_memory() const {
    return io::direct_memory_of(io::direct_ceiling(block_rows_ * record_bytes_) + io::direct_alignment);
  }

  void fetch() {
    next_rows_ = std::min(block_rows_, unread_);
    if (next_rows_ == 0) return;
    unread_ -= next_rows_;
    const std::uint64_t end = offset_ + next_rows_ * record_bytes_;
    const std::uint64_t from = io::direct_floor(offset_);
    next_skipped_ = offset_ - from;
    const std::uint64_t read = io::direct_ceiling(end) - from;
    // The next block reads the bytes past the last whole aligned unit again, so they are released later.
    const std::uint64_t done = io::direct_floor(end) - std::min(io::direct_floor(end), released_to_);
    const std::uint64_t released = done >= released_piece_ ? done : 0;
    ready_ = disk_->run([file = file_, from, to = next_block_.get(), read, first = released_to_, released] {
      file->read_at(from, to, read);
      if (released > 0) file->release(first, released);
    });
    released_to_ += released;
    offset_ = end;
  }

  io::scratch_file* file_;
  background* disk_;
  std::uint64_t record_bytes_;
  std::uint64_t offset_;
  std::uint64_t unread_;
  std::uint64_t block_rows_;
  std::uint64_t released_to_;
  std::uint64_t released_piece_;  ///< bytes that are released at once
  std::uint64_t next_rows_ = 0;
  std::uint64_t next_skipped_ = 0;
  io::direct_memory block_;
  io::direct_memory next_block_;
  const std::byte* row_ = nullptr;
  const std::byte* end_ = nullptr;
  std::future<void> ready_;
};

// Collects bytes in blocks. Another thread writes a block while the next one is collected (double buffering).
class block_writer {
 public:
  using sink = decltype(merge_output::write);

  // @param block_bytes  size of each of the two blocks; rounded up to io::direct_alignment.
  block_writer(background& thread, std::uint64_t block_bytes, sink write)
      : thread_(thread),
        block_bytes_(std::max(io::direct_ceiling(block_bytes), io::direct_alignment)),
        write_(std::move(write)),
        block_(io::direct_memory_of(block_bytes_)),
        written_(io::direct_memory_of(block_bytes_)) {}

  void add(const std::byte* from, std::uint64_t bytes) {
    if (bytes >= block_bytes_ - filled_) return add_in_pieces(from, bytes);
    std::memcpy(block_.get() + filled_, from, bytes);
    filled_ += bytes;
  }
  // Writes the last block and waits. @throws what the sink threw
  void finish() {
    if (filled_ > 0) flush();
    if (done_.valid()) done_.get();
  }

 private:
  void add_in_pieces(const std::byte* from, std::uint64_t bytes) {
    while (bytes > 0) {
      const std::uint64_t piece = std::min(bytes, block_bytes_ - filled_);
      std::memcpy(block_.get() + filled_, from, piece);
      filled_ += piece;
      from += piece;
      bytes -= piece;
      if (filled_ == block_bytes_) flush();
    }
  }

  void flush() {
    if (done_.valid()) done_.get();
    std::swap(block_, written_);
    done_ = thread_.run([this, bytes = std::exchange(filled_, 0)] { write_(written_.get(), bytes); });
  }

  background& thread_;
  std::uint64_t block_bytes_;
  sink write_;
  io::direct_memory block_;
  io::direct_memory written_;
  std::uint64_t filled_ = 0;
  std::future<void> done_;
};

template <std::uint32_t Words>
void merge(std::vector<run_reader>& readers, const merge_rows& rows, const merge_output& output, block_writer& out) {
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
  std::vector<std::byte> changed(output.change_part ? output.part_bytes : 0);
  while (!tree.all_ended()) {
    const std::uint32_t run = tree.winner();
    const std::byte* part = heads[run] + output.part_offset;
    if (output.change_part) {
      std::copy_n(part, output.part_bytes, changed.data());
      output.change_part(changed.data());
      part = changed.data();
    }
    out.add(part, output.part_bytes);
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
  const std::uint64_t block =
      std::max(record_bytes + 2 * io::direct_alignment, std::min(usual_block_bytes, memory_bytes / 64));
  return std::clamp<std::uint64_t>(input_memory_bytes(memory_bytes) / (2 * block), 2, most_fan_in);
}

void merge_runs(io::scratch_file& file, std::span<const sorted_run> runs, const merge_rows& rows,
                std::uint64_t memory_bytes, const merge_output& output) {
  const std::uint64_t share = input_memory_bytes(memory_bytes) / (2 * std::max<std::uint64_t>(runs.size(), 1));
  const std::uint64_t block_rows = rows_of_block(std::min(share, most_block_bytes), rows.record_bytes);
  std::vector<run_reader> readers;
  std::unique_ptr<block_writer> out;
  background disk;  // declared last, so destroyed first: its tasks use the blocks of readers and writer
  out = std::make_unique<block_writer>(disk, output_block_bytes(memory_bytes), output.write);
  out->add(reinterpret_cast<const std::byte*>(output.front.data()), output.front.size());
  readers.reserve(runs.size());
  for (const sorted_run& run : runs)
    readers.emplace_back(file, disk, run, rows.record_bytes, block_rows, output.releases_runs);
  switch ((rows.key.bits + 63) / 64) {
    case 1: merge<1>(readers, rows, output, *out); break;
    case 2: merge<2>(readers, rows, output, *out); break;
    case 3: merge<3>(readers, rows, output, *out); break;
    default: merge<4>(readers, rows, output, *out);
  }
  out->finish();
}

}  // namespace sheaf::jobs
