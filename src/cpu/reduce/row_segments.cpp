#include "cpu/reduce/row_segments.hpp"

#include <omp.h>

#include <atomic>

#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

constexpr std::uint64_t chunk_entries = 512;
constexpr std::uint64_t no_row = ~std::uint64_t{0};
constexpr std::uint64_t segment_tasks_per_thread = 16;
constexpr std::uint64_t segment_pieces_per_thread = 16;

std::uint64_t padded(std::uint64_t row_bytes) { return (row_bytes + line_bytes - 1) / line_bytes * line_bytes; }

/// One of the pieces that are combined at a time.
struct piece {
  std::uint64_t segment;
  std::uint64_t number;  ///< of the piece in its segment
  std::uint64_t rows;    ///< that came to it
};

struct segment_arrays {
  segment_arrays(const segment_shape& shape, const segment_decision& d, core::scratch_arrays& arrays)
      : row_bytes(padded(shape.sum_row_bytes)),
        cuts(arrays.take<std::uint64_t>(d.tasks + 1)),
        long_segments(arrays.take<std::uint64_t>(d.long_segments)),
        pieces(arrays.take<piece>(d.pieces)),
        rows_of_pieces(arrays.take<std::byte>(d.pieces * row_bytes)),
        rows_of_threads(arrays.take<std::byte>(2 * d.threads * row_bytes)) {}

  std::byte* row_of_piece(std::uint64_t i) const { return rows_of_pieces + i * row_bytes; }
  std::byte* row_of_thread(std::uint64_t thread, std::uint64_t which) const {
    return rows_of_threads + (2 * thread + which) * row_bytes;
  }

  std::uint64_t row_bytes;
  std::uint64_t* cuts;
  std::uint64_t* long_segments;
  piece* pieces;
  std::byte* rows_of_pieces;
  std::byte* rows_of_threads;
};

/// What all threads know of a reduction.
struct reduction_frame {
  reduction_frame(const segment_reduction& reduction, const segment_shape& shape, const segment_decision& d)
      : r(reduction),
        decided(d),
        kernels(kernels_of_rows(r.rows.type, r.out.type, r.op, r.weights.count != 0, r.rows.values_per_row)),
        sum(sum_type(r.out.type, r.op)),
        width(r.rows.values_per_row),
        row_bytes(shape.row_bytes),
        scales(r.scales && (r.alpha != 1 || r.beta != 0)),
        starts_from_out(!r.scales && r.start == reduction_start::out),
        in_place(kernels.in_place && !scales),
        distance(prefetch_distance_of(std::max<std::uint64_t>(1, row_bytes))),
        prefetches(r.rows.count * r.rows.stride_bytes > least_prefetched_bytes / 4) {}

  std::byte* out_row(std::uint64_t segment) const {
    return static_cast<std::byte*>(r.out.data) + segment * r.out.stride_bytes;
  }
  void write_count(std::uint64_t segment, std::uint64_t rows) const {
    if (r.counts.count == 0) return;
    if (bytes(r.counts.type) == 4) {
      static_cast<std::uint32_t*>(r.counts.data)[segment] = static_cast<std::uint32_t>(rows);
    } else {
      static_cast<std::uint64_t*>(r.counts.data)[segment] = rows;
    }
  }
  /// Ends a segment whose sums are not in its row of out.
  void finish(std::uint64_t segment, const void* sums, std::uint64_t rows) const {
    write_count(segment, rows);
    if (scales) {
      kernels.scale(out_row(segment), sums, width, r.alpha, r.beta);
    } else if (rows > 0) {
      kernels.store(out_row(segment), sums, width, rows + (starts_from_out ? 1 : 0));
    } else if (!starts_from_out) {
      kernels.clear(out_row(segment), width);
    }
  }

  const segment_reduction& r;
  const segment_decision& decided;
  reduction_kernels kernels;
  value_type sum;
  std::uint64_t width;
  std::uint64_t row_bytes;
  bool scales;
  bool starts_from_out;
  bool in_place;
  std::uint64_t distance;  ///< prefetch distance in rows
  bool prefetches;
};

/// A thread's window on the list: where the rows of some hundred entries lie, and their weights.
class entry_window {
 public:
  /// @param end  of the entries that will be combined, beyond which none is looked at
  entry_window(const reduction_frame& frame, std::uint64_t end)
      : f_(frame), end_(std::min(end, frame.r.bounds.entries)) {}

  /// Combines the rows of entries [begin, end), in order. Returns how many came; the others are faults.
  std::uint64_t combine(std::uint64_t begin, std::uint64_t end, void* sums, bool is_first) {
    std::uint64_t came = 0;
    for (std::uint64_t at = begin; at < end;) {
      if (at - first_ >= count_) load(at, end);
      std::uint64_t entries = std::min(end - at, first_ + count_ - at);
      if (f_.kernels.combine != nullptr && f_.prefetches) {
        entries = std::min(entries, f_.distance);
        prefetch_until(at - first_ + entries + f_.distance);
      }
      came += combine_loaded(at - first_, entries, sums, is_first);
      is_first = false;
      at += entries;
    }
    return came;
  }
  bool found_fault() const { return found_fault_; }

 private:
  void load(std::uint64_t first, std::uint64_t least_end) {
    const segment_reduction& r = f_.r;
    first_ = first;
    count_ = std::min(chunk_entries, std::max(end_, least_end) - first);
    prefetched_ = 0;
    std::uint64_t bad = 0;
    with_entries(r.list, [&](const auto* entry) {
      const std::uint64_t stride = r.rows.stride_bytes;
      if (r.trusts_list) {
        for (std::uint64_t i = 0; i < count_; ++i) offsets_[i] = static_cast<std::uint64_t>(entry[first + i]) * stride;
        return;
      }
      const std::uint64_t limit = r.rows.count;
      for (std::uint64_t i = 0; i < count_; ++i) {
        const auto row = static_cast<std::uint64_t>(entry[first + i]);  // extends the sign
        offsets_[i] = row < limit ? row * stride : no_row;
        bad += row < limit ? 0 : 1;
      }
    });
    has_bad_ = bad != 0;
    if (r.weights.count != 0) convert_weights(r.weights, first, count_, f_.sum, weights_);
  }

  void prefetch_until(std::uint64_t entry) {
    constexpr std::uint64_t most_lines = 8;
    const auto* const base = static_cast<const std::byte*>(f_.r.rows.data);
    const std::uint64_t ahead = std::min(f_.row_bytes, most_lines * line_bytes);
    for (; prefetched_ < std::min(entry, count_); ++prefetched_) {
      for (std::uint64_t b = 0; b < ahead; b += line_bytes) prefetch(base, offsets_[prefetched_] + b, 1);
    }
  }

  const void* weight_at(std::uint64_t i) const { return weights_ + i * (f_.sum == value_type::f64 ? 8 : 4); }

  std::uint64_t combine_loaded(std::uint64_t first, std::uint64_t entries, void* sums, bool is_first) {
    if (has_bad_) return combine_good(first, entries, sums, is_first);
    if (f_.kernels.combine == nullptr) return entries;
    f_.kernels.combine(sums, static_cast<const std::byte*>(f_.r.rows.data), offsets_ + first, weight_at(first), entries,
                       f_.width, is_first);
    return entries;
  }

  // Entries side by side without the bad ones.
  [[gnu::noinline]] std::uint64_t combine_good(std::uint64_t first, std::uint64_t entries, void* sums, bool is_first) {
    std::uint64_t offsets[chunk_entries];
    alignas(8) std::byte weights[chunk_entries * 8];
    const std::uint64_t weight_bytes = f_.sum == value_type::f64 ? 8 : 4;
    std::uint64_t good = 0;
    for (std::uint64_t i = first; i < first + entries; ++i) {
      if (offsets_[i] == no_row) continue;
      offsets[good] = offsets_[i];
      std::memcpy(weights + good * weight_bytes, weight_at(i), weight_bytes);
      ++good;
    }
    found_fault_ |= good < entries;
    if (f_.kernels.combine != nullptr) {
      f_.kernels.combine(sums, static_cast<const std::byte*>(f_.r.rows.data), offsets, weights, good, f_.width,
                         is_first);
    }
    return good;
  }

  const reduction_frame& f_;
  std::uint64_t end_;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t prefetched_ = 0;  ///< entries of the window
  bool has_bad_ = false;
  bool found_fault_ = false;
  std::uint64_t offsets_[chunk_entries];
  alignas(8) std::byte weights_[chunk_entries * 8];
};

class segment_run {
 public:
  segment_run(const segment_reduction& r, const segment_shape& shape, const segment_decision& d, std::byte* scratch)
      : f_(r, shape, d), d_(d), arrays_(core::arrays_in<segment_arrays>(scratch, shape, d)) {}

  bool run() {
    cut();
    for_each_task(d_.tasks, d_.threads,
                  [&](std::uint64_t task) { do_segments(arrays_.cuts[task], arrays_.cuts[task + 1]); });
    do_long_segments(std::min(noted_.load(), d_.long_segments));
    return has_faults_.load();
  }

 private:
  // Cuts the segments where tasks get equal numbers of entries and segments. Cuts ascend for any bounds.
  void cut() {
    const segment_bounds& b = f_.r.bounds;
    arrays_.cuts[0] = 0;
    for (std::uint64_t task = 1; task < d_.tasks; ++task) {
      std::uint64_t low = part_begin(b.count, d_.tasks, task);
      if (b.ends.data == nullptr) {
        const std::uint64_t share = part_begin(b.entries + b.count, d_.tasks, task);
        low = 0;
        for (std::uint64_t high = b.count; low < high;) {
          const std::uint64_t middle = low + (high - low) / 2;
          if (b.begin(middle) + middle < share)
            low = middle + 1;
          else
            high = middle;
        }
      }
      arrays_.cuts[task] = std::max(arrays_.cuts[task - 1], low);
    }
    arrays_.cuts[d_.tasks] = b.count;
  }

  std::uint64_t thread() const { return d_.threads <= 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num()); }

  void do_segments(std::uint64_t begin, std::uint64_t end) {
    const segment_bounds& b = f_.r.bounds;
    // Segments with ends of their own may lie anywhere.
    entry_window window(f_, b.ends.data != nullptr ? b.entries : b.begin(end));
    bool has_faults = false;
    for (std::uint64_t s = begin; s < end; ++s) {
      const std::uint64_t first = b.begin(s);
      std::uint64_t last = b.end(s);
      if (first > last || last > b.entries) {
        has_faults = true;
        last = first;
      }
      if (last - first > d_.piece_rows && f_.kernels.combine != nullptr) {
        do_long_segment(window, s, first, last);
      } else {
        do_segment(window, s, first, last);
      }
    }
    if (has_faults || window.found_fault()) has_faults_.store(true, std::memory_order_relaxed);
  }

  void do_segment(entry_window& window, std::uint64_t s, std::uint64_t first, std::uint64_t last) {
    std::byte* const out = f_.out_row(s);
    if (f_.kernels.combine == nullptr) {  // a count
      const std::uint64_t rows = f_.r.trusts_list ? last - first : window.combine(first, last, nullptr, true);
      f_.kernels.count(out, f_.width, rows, f_.starts_from_out);
      f_.write_count(s, rows);
      return;
    }
    if (f_.in_place && first < last) {
      f_.write_count(s, window.combine(first, last, out, !f_.starts_from_out));
      return;
    }
    std::byte* const sums = arrays_.row_of_thread(thread(), 0);
    f_.finish(s, sums, combine_piece(window, s, first, last, 0, sums));
  }

  // A piece of a segment. The first begins with what out holds, if the reduction does.
  std::uint64_t combine_piece(entry_window& window, std::uint64_t s, std::uint64_t first, std::uint64_t last,
                              std::uint64_t number, std::byte* sums) {
    const std::uint64_t begin = number == 0 ? first : first + number * d_.piece_rows;
    const std::uint64_t end = last - begin > d_.piece_rows ? begin + d_.piece_rows : last;
    const bool from_out = f_.starts_from_out && number == 0;
    if (from_out) {
      f_.kernels.load(sums, f_.out_row(s), f_.width);
    } else if (begin == end) {
      f_.kernels.combine(sums, nullptr, nullptr, nullptr, 0, f_.width, true);
    }
    return window.combine(begin, end, sums, !from_out);
  }

  std::uint64_t pieces_of(std::uint64_t first, std::uint64_t last) const {
    return (last - first + d_.piece_rows - 1) / d_.piece_rows;
  }

  // Notes a long segment, whose pieces all threads share later; does it here if there is no place to note it.
  void do_long_segment(entry_window& window, std::uint64_t s, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t place = d_.long_segments == 0 ? 0 : noted_.fetch_add(1, std::memory_order_relaxed);
    if (place < d_.long_segments) {
      arrays_.long_segments[place] = s;
      return;
    }
    std::byte* const sums = arrays_.row_of_thread(thread(), 0);
    std::byte* const of_piece = arrays_.row_of_thread(thread(), 1);
    std::uint64_t rows = combine_piece(window, s, first, last, 0, sums);
    for (std::uint64_t p = 1; p < pieces_of(first, last); ++p) {
      rows += combine_piece(window, s, first, last, p, of_piece);
      f_.kernels.merge(sums, of_piece, f_.width);
    }
    f_.finish(s, sums, rows);
  }

  // Pieces of long segments, as many at a time as there are rows for; one thread then merges them in order.
  void do_long_segments(std::uint64_t count) {
    const segment_bounds& b = f_.r.bounds;
    std::byte* const sums = arrays_.row_of_thread(0, 0);
    std::uint64_t rows = 0;
    std::uint64_t next = 0;  // the first piece of long_segments[i] that is still to be done
    for (std::uint64_t i = 0; i < count;) {
      std::uint64_t filled = 0;
      for (; i < count && filled < d_.pieces; ++filled) {
        const std::uint64_t s = arrays_.long_segments[i];
        arrays_.pieces[filled] = {s, next, 0};
        if (++next < pieces_of(b.begin(s), b.end(s))) continue;
        next = 0;
        ++i;
      }
      for_each_task(filled, d_.threads, [&](std::uint64_t p) {
        piece& of = arrays_.pieces[p];
        entry_window window(f_, 0);
        of.rows = combine_piece(window, of.segment, b.begin(of.segment), b.end(of.segment), of.number,
                                arrays_.row_of_piece(p));
        if (window.found_fault()) has_faults_.store(true, std::memory_order_relaxed);
      });
      for (std::uint64_t p = 0; p < filled; ++p) {
        const piece& of = arrays_.pieces[p];
        if (of.number == 0) {
          std::memcpy(sums, arrays_.row_of_piece(p), f_.width * f_.kernels.sum_bytes);
          rows = 0;
        } else {
          f_.kernels.merge(sums, arrays_.row_of_piece(p), f_.width);
        }
        rows += of.rows;
        if (of.number + 1 == pieces_of(b.begin(of.segment), b.end(of.segment))) f_.finish(of.segment, sums, rows);
      }
    }
  }

  reduction_frame f_;
  const segment_decision& d_;
  segment_arrays arrays_;
  std::atomic<std::uint64_t> noted_ = 0;
  std::atomic<bool> has_faults_ = false;
};

}  // namespace

segment_decision decide_segments(const segment_shape& shape, const machine& machine) {
  const std::uint64_t bytes = shape.entries * (shape.row_bytes + sizeof(std::uint32_t)) +
                              shape.segments * (shape.out_row_bytes + sizeof(std::uint64_t));
  segment_decision d{};
  d.threads = parts_worth(bytes, machine.parallelism);
  d.tasks = d.threads == 1 ? 1 : std::clamp<std::uint64_t>(shape.segments, 1, segment_tasks_per_thread * d.threads);
  d.piece_rows = shape.piece_rows;
  if (d.threads > 1 && shape.entries > shape.piece_rows) {
    d.long_segments = std::min(shape.segments, shape.entries / shape.piece_rows + 1);
    d.pieces = std::min(segment_pieces_per_thread * d.threads, 2 * (shape.entries / shape.piece_rows + 1));
  }
  return d;
}

std::uint64_t segment_scratch_bytes(const segment_shape& shape, const segment_decision& decided) {
  return core::bytes_of<segment_arrays>(shape, decided);
}

bool reduce_segments(const segment_reduction& r, const segment_shape& shape, const segment_decision& decided,
                     std::byte* scratch) {
  return segment_run(r, shape, decided, scratch).run();
}

// Instructions in digits: calls of kernels for each segment, and loops over the values of each row.
double segment_step_seconds(const segment_shape& shape, std::uint64_t values_per_row, const machine& machine) {
  constexpr double digits_per_segment = 12;
  constexpr double digits_per_entry = 0.6;
  constexpr double digits_per_value = 0.05;
  return shared_digit_seconds(shape.segments, digits_per_segment, machine, machine.parallelism) +
         shared_digit_seconds(shape.entries, digits_per_entry + digits_per_value * static_cast<double>(values_per_row),
                              machine, machine.parallelism);
}

}  // namespace sheaf::cpu
