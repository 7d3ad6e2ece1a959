#pragma once

#include <mutex>

#include "primitives/sparse/spmv.hpp"

// Sums of rows, in one order for all variants and threads. A row is cut into pieces of piece_entries entries, counted
// from its first. In a piece one sum takes the entries 0, 2, 4, ... from 0 on, another the entries 1, 3, 5, ..., and
// the second is added to the first. The pieces of a row are added one after another. Products are rounded before they
// are added: no fused multiply-add (src/cpu/CMakeLists.txt).
namespace sheaf::cpu {

/// Entries of a piece. Threads share a long row by its pieces.
constexpr std::uint64_t piece_entries = 4096;

/// What a product reads and writes, with types erased.
struct row_product {
  csr_view a;
  std::uint64_t entries = 0;
  const void* x = nullptr;  ///< the vector, or x of each place where it was gathered before
  void* y = nullptr;
  std::uint64_t column_limit = 0;  ///< column_limit_of()
  double alpha = 1;
  double beta = 0;
  bool reads_y = false;
};

/// Writes y of sums: y = alpha * sum, or with reads_y y = alpha * sum + beta * y.
template <class Value, class Sum>
struct scaled_values {
  Sum alpha;
  Sum beta;
  bool reads_y;
  Value* y;

  scaled_values(double of_sum, double of_y, bool reads, void* to)
      : alpha(static_cast<Sum>(of_sum)), beta(static_cast<Sum>(of_y)), reads_y(reads), y(static_cast<Value*>(to)) {}
  [[gnu::always_inline]] void write(std::uint64_t row, Sum sum) const noexcept {
    const Sum scaled = alpha * sum;
    y[row] = static_cast<Value>(reads_y ? scaled + beta * static_cast<Sum>(y[row]) : scaled);
  }
};

/// What a thread has found to be wrong. Where it is, find_fault() says.
struct row_faults {
  bool in_rows = false;
  bool in_columns = false;
  bool found() const noexcept { return in_rows || in_columns; }
};

/// What threads find.
class shared_faults {
 public:
  void add(const row_faults& found) noexcept {
    if (found.in_rows) in_rows_.store(true, std::memory_order_relaxed);
    if (found.in_columns) in_columns_.store(true, std::memory_order_relaxed);
  }
  row_faults all() const noexcept { return {in_rows_, in_columns_}; }

 private:
  std::atomic<bool> in_rows_{false};
  std::atomic<bool> in_columns_{false};
};

/// Rows that are so long that their pieces are shared among threads, once all other rows are done.
struct long_row {
  std::uint64_t row;
  std::uint64_t begin;
  std::uint64_t count;        ///< entries
  std::uint64_t first_piece;  ///< place in the array of sums
};

class long_rows {
 public:
  long_rows(long_row* list, std::uint64_t most_rows, std::uint64_t most_pieces, std::uint64_t least_entries)
      : list_(list), most_rows_(most_rows), most_pieces_(most_pieces), least_entries_(least_entries) {}

  /// Notes a row of that many entries for later. False if it is to be done at once: it is short, or there is no room.
  bool take(std::uint64_t row, std::uint64_t begin, std::uint64_t count) noexcept;
  std::uint64_t count() const noexcept { return rows_; }
  std::uint64_t pieces() const noexcept { return pieces_; }
  const long_row& operator[](std::uint64_t i) const noexcept { return list_[i]; }

 private:
  std::mutex mutex_;
  long_row* list_;
  std::uint64_t most_rows_;
  std::uint64_t most_pieces_;
  std::uint64_t least_entries_;
  std::uint64_t rows_ = 0;
  std::uint64_t pieces_ = 0;
};

/// How the loops get x of an entry.
enum class x_access : std::uint8_t {
  direct,      ///< by the entry's column
  near,        ///< the same, where neighbours read the same few lines of x, which the first-level cache holds
  prefetched,  ///< by the entry's column, with a prefetch of the x of an entry further on
  gathered,    ///< from the entry's place, where a gather has put it
};

/// The loops for one combination of types.
struct row_kernels {
  /// Writes y of the rows [begin, end), but for those that `later`, if it is not null, takes.
  void (*rows)(const row_product& product, std::uint64_t begin, std::uint64_t end, long_rows* later,
               row_faults& faults);
  /// Writes the sum of the piece of `count` entries from `place` on to sums[piece].
  void (*piece)(const row_product& product, std::uint64_t place, std::uint64_t count, void* sums, std::uint64_t piece,
                row_faults& faults);
  /// Writes y of a row, from the sums of its pieces.
  void (*finish)(const row_product& product, std::uint64_t row, const void* sums, std::uint64_t pieces);
  std::uint64_t sum_bytes;  ///< of one sum
};

/// The loops for a product that is not transposed.
row_kernels row_kernels_of(const primitives::spmv_problem& problem, x_access access) noexcept;

}  // namespace sheaf::cpu
