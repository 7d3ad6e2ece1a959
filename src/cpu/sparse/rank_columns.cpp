#include "primitives/sparse/rank_columns.hpp"

#include <atomic>

#include "cpu/threads/parts.hpp"
#include "primitives/sparse/host_matrix.hpp"

// Columns that a rank's rows need of other ranks. Threads take blocks of rows as they come, and set bits of one set;
// in which order does not show.
namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Blocks of rows that a thread takes at once.
constexpr std::uint64_t row_blocks_of_task = 16;

struct block_rows {
  std::uint64_t first;
  std::uint64_t end;
};

/// Calls work(block, rows) for each block of rows.
template <class Work>
void for_row_blocks(const context& ctx, const rank_rows& rows, Work work) {
  const std::uint64_t blocks = row_blocks_of(rows.a.rows);
  const std::uint64_t matrix_bytes = rows.a.column_indices.count * bytes(rows.a.column_indices.type);
  const std::uint64_t threads = parts_worth(matrix_bytes, static_cast<std::uint64_t>(ctx.threads()));
  for_each_task((blocks + row_blocks_of_task - 1) / row_blocks_of_task, threads, [&](std::uint64_t task) {
    const std::uint64_t end = std::min(blocks, (task + 1) * row_blocks_of_task);
    for (std::uint64_t block = task * row_blocks_of_task; block < end; ++block) {
      const std::uint64_t first = block * rank_row_block;
      work(block, block_rows{first, std::min(rows.a.rows, first + rank_row_block)});
    }
  });
}

/// Most bits are set already, and a read does not take the line from other threads.
void set_bit(const column_words& columns, std::uint64_t column) {
  const std::atomic_ref<std::uint64_t> bits(columns.words[column / columns_of_word].bits);
  const std::uint64_t mine = std::uint64_t{1} << column % columns_of_word;
  if ((bits.load(std::memory_order_relaxed) & mine) == 0) bits.fetch_or(mine, std::memory_order_relaxed);
}

void raise_to(std::uint64_t& to, std::uint64_t value) {
  const std::atomic_ref<std::uint64_t> most(to);
  std::uint64_t before = most.load(std::memory_order_relaxed);
  while (before < value && !most.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

spmv_problem shape_of_rank(const csr_view& a) {
  spmv_problem problem;
  problem.rows = a.rows;
  problem.entries = a.column_indices.count;
  return problem;
}

void look_at_rank(const context& ctx, const rank_rows& rows, rows_found* found, unsigned char* has_remote,
                  const column_words& remote) {
  const host_rows lie(shape_of_rank(rows.a), rows.a);
  with_entries(rows.a.column_indices, [&](const auto* column) {
    for_row_blocks(ctx, rows, [&](std::uint64_t block, block_rows range) {
      has_remote[block] = 0;
      std::uint64_t longest = 0;
      for (std::uint64_t row = range.first; row < range.end; ++row) {
        if (!lie.is_row(row)) return raise_to(found->faults, 1);
        longest = std::max(longest, lie.end(row) - lie.begin(row));
      }
      raise_to(found->longest_row, longest);
      const std::uint64_t end = lie.begin(range.end);
      for (std::uint64_t place = lie.begin(range.first); place < end; ++place) {
        const auto c = static_cast<std::uint64_t>(column[place]);  // extends the sign
        if (c - rows.first_column < rows.own_columns) continue;
        if (c >= rows.a.columns) return raise_to(found->faults, 1);
        has_remote[block] = 1;
        set_bit(remote, c);
      }
    });
  });
}

void collect_own_columns(const context& ctx, const rank_rows& rows, const unsigned char* is_boundary,
                         const column_words& own) {
  const host_rows lie(shape_of_rank(rows.a), rows.a);
  with_entries(rows.a.column_indices, [&](const auto* column) {
    for_row_blocks(ctx, rows, [&](std::uint64_t block, block_rows range) {
      if (is_boundary[block] == 0) return;
      const std::uint64_t end = lie.begin(range.end);
      for (std::uint64_t place = lie.begin(range.first); place < end; ++place) {
        const std::uint64_t c = static_cast<std::uint64_t>(column[place]) - rows.first_column;
        if (c < rows.own_columns) set_bit(own, c);
      }
    });
  });
}

/// Columns of words [begin, end).
std::uint64_t columns_of_words(const column_words& columns, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t sum = 0;
  for (std::uint64_t w = begin; w < end; ++w) sum += static_cast<std::uint64_t>(std::popcount(columns.words[w].bits));
  return sum;
}

std::uint64_t parts_of_words(const context& ctx, const column_words& columns) {
  return parts_worth(columns.count * sizeof(column_word), static_cast<std::uint64_t>(ctx.threads()));
}

void count_columns(const context& ctx, const column_words& columns) {
  const std::uint64_t parts = parts_of_words(ctx, columns);
  std::vector<std::uint64_t> before(parts + 1);
  for_each_range(columns.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    before[part + 1] = columns_of_words(columns, begin, end);
  });
  for (std::uint64_t part = 0; part < parts; ++part) before[part + 1] += before[part];
  for_each_range(columns.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    std::uint64_t sum = before[part];
    for (std::uint64_t w = begin; w < end; ++w) {
      columns.words[w].before = sum;
      sum += static_cast<std::uint64_t>(std::popcount(columns.words[w].bits));
    }
  });
}

void list_of_columns(const context& ctx, const column_words& columns, std::uint64_t* to) {
  for_each_range(columns.count, parts_of_words(ctx, columns),
                 [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                   for (std::uint64_t w = begin; w < end; ++w) {
                     std::uint64_t* next = to + columns.words[w].before;
                     for (std::uint64_t bits = columns.words[w].bits; bits != 0; bits &= bits - 1)
                       *next++ = w * columns_of_word + static_cast<std::uint64_t>(std::countr_zero(bits));
                   }
                 });
}

template <class To, class Column>
void renumber_rank_as(const context& ctx, const rank_rows& rows, const renumbered_columns& by, const Column* column) {
  const host_rows lie(shape_of_rank(rows.a), rows.a);
  To* const to = static_cast<To*>(by.to);
  for_row_blocks(ctx, rows, [&](std::uint64_t block, block_rows range) {
    const bool is_boundary = by.is_boundary[block] != 0;
    const std::uint64_t end = lie.begin(range.end);
    for (std::uint64_t place = lie.begin(range.first); place < end; ++place) {
      const auto c = static_cast<std::uint64_t>(column[place]);
      std::uint64_t local = c - rows.first_column;
      if (is_boundary) {
        if (local < rows.own_columns) {
          local = by.below + by.own.number(local);
        } else {
          const std::uint64_t at = by.remote.number(c);
          local = at < by.below ? at : by.own_count + at;
        }
      }
      to[place] = static_cast<To>(local);
    }
  });
}

void renumber_rank(const context& ctx, const rank_rows& rows, const renumbered_columns& by) {
  with_entries(rows.a.column_indices, [&](const auto* column) {
    by.type == index_type::u32 ? renumber_rank_as<std::uint32_t>(ctx, rows, by, column)
                               : renumber_rank_as<std::uint64_t>(ctx, rows, by, column);
  });
}

}  // namespace

extern constinit const primitives::rank_column_steps steps_of_rank_columns{
    look_at_rank, collect_own_columns, count_columns, list_of_columns, renumber_rank};

}  // namespace sheaf::cpu
