#include "apps/sheaf/ranks/row_pieces.hpp"

#include <algorithm>
#include <cstring>

#include "apps/sheaf/ranks/host_memory.hpp"
#include "core/context_state.hpp"
#include "core/parallel_tasks.hpp"

namespace sheaf::cli {
namespace {

/// So many bytes travel while as many are copied by the processor, which then stay in its cache.
constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20;

/// Calls work(first, number) for parts of rows, by a few threads: one copies a fraction of what a link carries.
template <class Work>
void share(int most, std::uint64_t rows, std::uint64_t width, Work work) {
  constexpr std::uint64_t most_at_once = 8;
  constexpr std::uint64_t bytes_of_thread = std::uint64_t{256} << 10;
  const std::uint64_t threads = std::min(most_at_once, static_cast<std::uint64_t>(most));
  const std::uint64_t parts = std::clamp<std::uint64_t>(rows * width / bytes_of_thread, 1, threads);
  core::for_each_task(parts, threads, [&](std::uint64_t part) {
    const std::uint64_t first = rows / parts * part + std::min(part, rows % parts);
    const std::uint64_t next = rows / parts * (part + 1) + std::min(part + 1, rows % parts);
    work(first, next - first);
  });
}

/// Two pieces of page-locked memory, whose copies are over when it ends.
class piece_pair {
 public:
  /// @param rows  1 or more
  piece_pair(core::context_state& state, const records& rows)
      : state_(state),
        width_(rows.record_bytes),
        rows_(std::clamp<std::uint64_t>(piece_bytes / width_, 1, rows.count)),
        memory_(state_.staging_memory(2 * rows_ * width_)) {}
  piece_pair(const piece_pair&) = delete;
  piece_pair& operator=(const piece_pair&) = delete;
  ~piece_pair() {
    try {
      state_.finish_copies();
    } catch (...) {
      // The device has failed, and copies nothing any more.
    }
  }

  /// Of a piece.
  std::uint64_t rows() const noexcept { return rows_; }
  std::byte* at(std::uint64_t piece) const noexcept { return memory_.get() + piece % 2 * rows_ * width_; }

 private:
  core::context_state& state_;
  std::uint64_t width_;
  std::uint64_t rows_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace

void load_rows(const distributed::group& ranks, records to, const piece_work& read) {
  if (to.count == 0) return;
  if (!jobs::works_in_place(ranks.local())) return load_in_pieces(ranks.local().state(), host_threads(ranks), to, read);
  const std::uint64_t width = to.record_bytes;
  share(host_threads(ranks), to.count, width,
        [&](std::uint64_t first, std::uint64_t number) { read(first, number, to.data + first * width); });
}

void load_in_pieces(core::context_state& state, int threads, records to, const piece_work& read) {
  if (to.count == 0) return;
  const std::uint64_t width = to.record_bytes;
  const piece_pair pieces(state, to);
  for (std::uint64_t first = 0, piece = 0; first < to.count; first += pieces.rows(), ++piece) {
    const std::uint64_t number = std::min(pieces.rows(), to.count - first);
    std::byte* const at = pieces.at(piece);
    share(threads, number, width,
          [&](std::uint64_t begin, std::uint64_t count) { read(first + begin, count, at + begin * width); });
    state.finish_copies();  // of the piece before, whose memory is next
    state.queue_copy(to.data + first * width, at, number * width);
  }
  state.finish_copies();  // of the last piece, so that its failure is thrown
}

void store_rows(const distributed::group& ranks, records from, const piece_work& write) {
  if (from.count == 0) return;
  if (!jobs::works_in_place(ranks.local())) return store_in_pieces(ranks.local().state(), from, write);
  write(0, from.count, from.data);
}

void store_in_pieces(core::context_state& state, records from, const piece_work& write) {
  if (from.count == 0) return;
  const std::uint64_t width = from.record_bytes;
  const piece_pair pieces(state, from);
  const auto number_at = [&](std::uint64_t first) { return std::min(pieces.rows(), from.count - first); };
  const auto queue = [&](std::uint64_t first, std::uint64_t piece) {
    if (first < from.count) state.queue_copy(pieces.at(piece), from.data + first * width, number_at(first) * width);
  };
  queue(0, 0);
  for (std::uint64_t first = 0, piece = 0; first < from.count; first += pieces.rows(), ++piece) {
    state.finish_copies();
    queue(first + pieces.rows(), piece + 1);
    write(first, number_at(first), pieces.at(piece));
  }
}

sent_bytes::sent_bytes(const distributed::group& ranks, const void* host, std::uint64_t bytes)
    : data_(static_cast<const std::byte*>(host)) {
  if (jobs::works_in_place(ranks.local())) return;
  copy_ = buffer(ranks.local(), bytes);
  load_rows(ranks, {copy_.data(), bytes, 1},
            [&](std::uint64_t first, std::uint64_t number, std::byte* to) { std::memcpy(to, data_ + first, number); });
  data_ = copy_.data();
}

}  // namespace sheaf::cli
