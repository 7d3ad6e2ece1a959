#include "distributed/sparse/column_inspector.hpp"

#include <algorithm>
#include <cstring>

#include <sheaf/gather.hpp>
#include <sheaf/sort.hpp>

#include "core/context_state.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::distributed {
namespace {

using primitives::column_words;
using primitives::rank_row_block;
using primitives::rank_rows;
using primitives::row_blocks_of;

/// Memory where the group's context works, whose bytes are 0.
buffer zeros(const group_state& state, std::uint64_t byte_count) {
  buffer made(state.ctx, byte_count);
  if (byte_count > 0) state.ctx.state().fill(made.data(), 0, byte_count);
  return made;
}

/// By the steps of the group's backend.
class inspector_by_bits final : public column_inspector {
 public:
  inspector_by_bits(const group_state& state, const rank_rows& rows)
      : state_(state),
        steps_(primitives::rank_column_steps_of(state.ctx.backend())),
        rows_(rows),
        blocks_(row_blocks_of(rows.a.rows)) {}

  look look_at_rows() override {
    remote_ = new_set(rows_.a.columns);
    const buffer found = zeros(state_, sizeof(primitives::rows_found));
    const buffer flags(state_.ctx, blocks_);
    steps_.look(state_.ctx, rows_, found.as<primitives::rows_found>(), flags.as<unsigned char>(), words_of(remote_));
    look seen;
    seen.has_remote.resize(blocks_);
    primitives::rows_found of_rows;
    copy_bytes(state_.ctx, &of_rows, found.data(), sizeof of_rows);
    copy_bytes(state_.ctx, seen.has_remote.data(), flags.data(), blocks_);
    seen.has_fault = of_rows.faults != 0;
    seen.longest_row = of_rows.longest_row;
    return seen;
  }

  column_list remote() override { return listed(remote_); }

  column_list own(const std::vector<unsigned char>& is_boundary) override {
    is_boundary_ = brought(state_, is_boundary.data(), blocks_);
    own_ = new_set(rows_.own_columns);
    steps_.collect_own(state_.ctx, rows_, is_boundary_.as<unsigned char>(), words_of(own_));
    column_list list = listed(own_);
    own_count_ = list.count;
    return list;
  }

  buffer renumbered(index_type type, std::uint64_t below) override {
    const std::uint64_t width = bytes(type);
    const std::uint64_t places = rows_.a.column_indices.count;
    buffer to(state_.ctx, places * width);
    // Products may look at the columns of places that belong to no row.
    const auto fill = [&](std::uint64_t begin, std::uint64_t end) {
      if (begin < end) state_.ctx.state().fill(to.data() + begin * width, 0, (end - begin) * width);
    };
    if (rows_.a.rows == 0) {
      fill(0, places);
      return to;
    }
    const std::vector<std::uint64_t> of_rows = numbers_at(state_, rows_.a.row_begins, {0, rows_.a.rows});
    fill(0, of_rows[0]);
    fill(of_rows[1], places);
    steps_.renumber(
        state_.ctx, rows_,
        {is_boundary_.as<unsigned char>(), words_of(remote_), words_of(own_), below, own_count_, type, to.data()});
    return to;
  }

 private:
  buffer new_set(std::uint64_t columns) const {
    return zeros(state_, column_words::words_for(columns) * sizeof(primitives::column_word));
  }
  static column_words words_of(const buffer& memory) noexcept {
    return {memory.as<primitives::column_word>(), memory.size() / sizeof(primitives::column_word)};
  }

  column_list listed(const buffer& set) const {
    const column_words words = words_of(set);
    steps_.count(state_.ctx, words);
    column_list list;
    copy_bytes(state_.ctx, &list.count, &words.words[words.count - 1].before, sizeof list.count);
    list.memory = buffer(state_.ctx, list.count * sizeof(std::uint64_t));
    if (list.count > 0) steps_.list(state_.ctx, words, list.memory.as<std::uint64_t>());
    return list;
  }

  const group_state& state_;
  const primitives::rank_column_steps& steps_;
  rank_rows rows_;
  std::uint64_t blocks_;
  buffer remote_, own_;
  buffer is_boundary_;
  std::uint64_t own_count_ = 0;
};

/// Columns that are collected one by one, sorted, and then found by binary search. On the host.
class host_columns {
 public:
  void add(std::uint64_t column) {
    if (list_.empty() || list_.back() != column) list_.push_back(column);
  }
  void finish(const context& host) {
    if (!std::is_sorted(list_.begin(), list_.end())) {
      std::vector<std::uint64_t> sorted(list_.size());
      sheaf::sort_keys(host, list_, sorted);
      list_.swap(sorted);
    }
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
  }
  const std::vector<std::uint64_t>& list() const noexcept { return list_; }
  std::uint64_t number(std::uint64_t column) const noexcept {
    return static_cast<std::uint64_t>(std::lower_bound(list_.begin(), list_.end(), column) - list_.begin());
  }

 private:
  std::vector<std::uint64_t> list_;
};

class inspector_by_lists final : public column_inspector {
 public:
  inspector_by_lists(const group_state& state, const rank_rows& rows) : state_(state), rows_(rows) {
    rows_.a.row_begins = seen_list(state, rows.a.row_begins, begins_);
    rows_.a.column_indices = seen_list(state, rows.a.column_indices, columns_);
  }

  look look_at_rows() override {
    look seen;
    seen.has_remote.resize(row_blocks_of(rows_.a.rows));
    seen.has_fault = primitives::find_fault(problem(), rows_.a, primitives::csr_call::spmv, 0).found();
    if (seen.has_fault) return seen;
    const primitives::host_rows lie(problem(), rows_.a);
    primitives::with_entries(rows_.a.column_indices, [&](const auto* column) {
      for (std::uint64_t row = 0; row < rows_.a.rows; ++row) {
        const std::uint64_t end = lie.end(row);
        seen.longest_row = std::max(seen.longest_row, end - lie.begin(row));
        for (std::uint64_t place = lie.begin(row); place < end; ++place) {
          const auto c = static_cast<std::uint64_t>(column[place]);
          if (c - rows_.first_column < rows_.own_columns) continue;
          seen.has_remote[row / rank_row_block] = 1;
          remote_.add(c);
        }
      }
    });
    return seen;
  }

  column_list remote() override { return listed(remote_); }

  column_list own(const std::vector<unsigned char>& is_boundary) override {
    is_boundary_ = is_boundary;
    for_entries([&](std::uint64_t, std::uint64_t column, bool is_of_boundary) {
      const std::uint64_t local = column - rows_.first_column;
      if (is_of_boundary && local < rows_.own_columns) own_.add(local);
    });
    return listed(own_);
  }

  buffer renumbered(index_type type, std::uint64_t below) override {
    buffer written(state_.host, rows_.a.column_indices.count * bytes(type));
    if (written.size() > 0) std::memset(written.data(), 0, written.size());
    const auto write = [&](auto* to) {
      for_entries([&](std::uint64_t place, std::uint64_t column, bool is_of_boundary) {
        std::uint64_t local = column - rows_.first_column;
        if (is_of_boundary) {
          if (local < rows_.own_columns) {
            local = below + own_.number(local);
          } else {
            const std::uint64_t at = remote_.number(column);
            local = at < below ? at : own_.list().size() + at;
          }
        }
        to[place] = static_cast<std::remove_cvref_t<decltype(*to)>>(local);
      });
    };
    type == index_type::u32 ? write(written.as<std::uint32_t>()) : write(written.as<std::uint64_t>());
    if (!state_.goes_by_primitives) return written;
    return brought(state_, written.data(), written.size());
  }

 private:
  primitives::spmv_problem problem() const {
    primitives::spmv_problem of;
    of.rows = rows_.a.rows;
    of.columns = rows_.a.columns;
    of.entries = rows_.a.column_indices.count;
    of.column = rows_.a.column_indices.type;
    return of;
  }

  /// Calls body(place, column, whether its row's block is one of the boundary).
  template <class Body>
  void for_entries(Body body) const {
    const primitives::host_rows lie(problem(), rows_.a);
    primitives::with_entries(rows_.a.column_indices, [&](const auto* column) {
      for (std::uint64_t block = 0; block < is_boundary_.size(); ++block) {
        const std::uint64_t end = lie.begin(std::min(rows_.a.rows, (block + 1) * rank_row_block));
        for (std::uint64_t place = lie.begin(block * rank_row_block); place < end; ++place)
          body(place, static_cast<std::uint64_t>(column[place]), is_boundary_[block] != 0);
      }
    });
  }

  column_list listed(host_columns& columns) const {
    columns.finish(state_.host);
    const auto& list = columns.list();
    return {brought(state_, list.data(), list.size() * sizeof(std::uint64_t)), list.size()};
  }

  const group_state& state_;
  rank_rows rows_;
  buffer begins_, columns_;
  host_columns remote_, own_;
  std::vector<unsigned char> is_boundary_;
};

}  // namespace

std::unique_ptr<column_inspector> inspector_of(const group_state& state, const rank_rows& rows) {
  constexpr std::uint64_t columns_of_entry = 32;  // whose bits and counts take 8 bytes
  if (rows.a.columns / columns_of_entry <= rows.a.column_indices.count)
    return std::make_unique<inspector_by_bits>(state, rows);
  return std::make_unique<inspector_by_lists>(state, rows);
}

std::vector<std::uint64_t> numbers_at(const group_state& state, index_span list,
                                      const std::vector<std::uint64_t>& positions) {
  std::vector<std::uint64_t> numbers(positions.size());
  if (positions.empty()) return numbers;
  if (!state.goes_by_primitives) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = primitives::bits_at(list, positions[i]);
    return numbers;
  }
  const std::uint64_t width = bytes(list.type);
  const buffer index = brought(state, positions.data(), positions.size() * sizeof(std::uint64_t));
  const buffer there(state.ctx, positions.size() * width);
  sheaf::gather(state.ctx, const_records(list.data, list.count, width),
                index_span(index.data(), positions.size(), index_type::u64),
                records(there.data(), positions.size(), width));
  const buffer here(state.host, there.size());
  copy_bytes(state.ctx, here.data(), there.data(), there.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = primitives::bits_at({here.data(), numbers.size(), list.type}, i);
  return numbers;
}

index_span seen_list(const group_state& state, index_span list, buffer& copied) {
  if (!state.goes_by_primitives || list.count == 0) return list;
  copied = buffer(state.host, list.count * bytes(list.type));
  copy_bytes(state.ctx, copied.data(), list.data, copied.size());
  return {copied.data(), list.count, list.type};
}

buffer brought(const group_state& state, const void* data, std::uint64_t byte_count) {
  buffer to(state.ctx, byte_count);
  copy_bytes(state.ctx, to.data(), data, byte_count);
  return to;
}

}  // namespace sheaf::distributed
