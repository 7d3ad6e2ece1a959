#pragma once

#include <cstring>

#include <sheaf/distributed/scatter.hpp>

#include "distributed/ranks.hpp"

// Gathers and scatters of arrays in the memory of each rank's context, which may be that of a device. Right answers are
// computed on the host from the whole arrays.
namespace sheaf::tests {
namespace movement_on_devices_detail {

using namespace distributed;
using byte_vector = std::vector<std::byte>;

/// A copy of a host array in the context's memory.
template <class T>
class context_array {
 public:
  context_array(const context& ctx, const std::vector<T>& from)
      : ctx_(ctx), memory_(ctx, from.size() * sizeof(T)), count_(from.size()) {
    if (count_ > 0) copy_bytes(ctx, memory_.data(), from.data(), memory_.size());
  }
  T* data() const { return memory_.as<T>(); }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    if (count_ > 0) copy_bytes(ctx_, host.data(), memory_.data(), memory_.size());
    return host;
  }

 private:
  context ctx_;
  buffer memory_;
  std::uint64_t count_;
};

template <class Index>
index_span span_of(const context_array<Index>& list, std::uint64_t count) {
  return {list.data(), count, index_span(std::span<const Index>()).type};
}

enum class order { uniform, zipf, one_row, distinct };
constexpr order all_orders[] = {order::uniform, order::zipf, order::one_row, order::distinct};

/// @param count  of distinct entries at most as many as rows
template <class Index>
std::vector<Index> list_of(order o, std::uint64_t count, std::uint64_t rows) {
  std::mt19937_64 random(41);
  std::vector<Index> list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t row = random() % rows;
    if (o == order::zipf)
      row = static_cast<std::uint64_t>(static_cast<double>(rows) / static_cast<double>(1 + row)) % rows;
    if (o == order::one_row) row = rows / 3;
    if (o == order::distinct) row = rows - 1 - i;
    list[i] = static_cast<Index>(row);
  }
  if (o == order::distinct) std::shuffle(list.begin(), list.end(), random);
  return list;
}

inline byte_vector bytes_of(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  byte_vector all(count);
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  return all;
}

/// Arrays of records with a gap behind each, whose bytes keep their value.
constexpr std::byte gap_byte{0x5a};
inline byte_vector with_gaps(const byte_vector& packed, std::uint64_t width, std::uint64_t stride) {
  byte_vector all(packed.size() / width * stride, gap_byte);
  for (std::uint64_t i = 0; i < packed.size() / width; ++i)
    std::memcpy(all.data() + i * stride, packed.data() + i * width, width);
  return all;
}

/// How one call's arrays lie on the ranks.
struct spread_case {
  std::uint64_t rows;
  std::uint64_t entries;
  std::uint64_t width;
  std::uint64_t gap;  ///< bytes behind each record
  order list_order;
  spread of_rows;
  spread of_list;
};

inline std::string words_of(const spread_case& c) {
  return std::to_string(c.rows) + " rows " + name(c.of_rows) + ", " + std::to_string(c.entries) + " entries " +
         name(c.of_list) + ", width " + std::to_string(c.width) + ", gap " + std::to_string(c.gap) + ", order " +
         std::to_string(static_cast<int>(c.list_order));
}

template <class Index>
void check_gather(const group& ranks, const spread_case& c) {
  SCOPED_TRACE("gather of " + words_of(c));
  const context& ctx = ranks.local();
  const std::uint64_t stride = c.width + c.gap;
  const byte_vector table = bytes_of(c.rows * c.width, 3);
  const auto list = list_of<Index>(c.list_order, c.entries, c.rows);
  const layout rows = layout_of(c.of_rows, c.rows, ranks.size());
  const layout entries = layout_of(c.of_list, c.entries, ranks.size());
  const auto my_entries = part_of(list, entries, ranks.rank());
  byte_vector expected(my_entries.size() * c.width);
  for (std::uint64_t i = 0; i < my_entries.size(); ++i)
    std::memcpy(expected.data() + i * c.width, table.data() + static_cast<std::uint64_t>(my_entries[i]) * c.width,
                c.width);
  expected = with_gaps(expected, c.width, stride);

  const context_array part(ctx, with_gaps(part_of(table, rows, ranks.rank(), c.width), c.width, stride));
  const context_array my_list(ctx, my_entries);
  const const_records my_table(part.data(), rows.count(ranks.rank()), c.width, stride);
  const byte_vector untouched(expected.size(), gap_byte);
  const auto check = [&](const auto& call) {
    const context_array out(ctx, untouched);
    call(records(out.data(), my_entries.size(), c.width, stride));
    EXPECT_TRUE(out.read() == expected);
  };
  const index_span index = span_of(my_list, my_entries.size());
  check([&](records out) { distributed::gather(ranks, my_table, rows, index, out); });
  const prepared_gather prepared = prepare_gather(ranks, index, rows);
  for (int run = 0; run < 2; ++run) check([&](records out) { prepared.run(my_table, out); });
  ranks.wait();
}

template <class Index>
void check_scatter(const group& ranks, const spread_case& c, duplicates repeated) {
  SCOPED_TRACE("scatter of " + words_of(c));
  const context& ctx = ranks.local();
  const std::uint64_t stride = c.width + c.gap;
  const byte_vector in = bytes_of(c.entries * c.width, 8);
  const byte_vector before = bytes_of(c.rows * c.width, 10);
  const auto list = list_of<Index>(c.list_order, c.entries, c.rows);
  byte_vector whole = before;
  for (std::uint64_t i = 0; i < c.entries; ++i)
    std::memcpy(whole.data() + static_cast<std::uint64_t>(list[i]) * c.width, in.data() + i * c.width, c.width);
  const layout rows = layout_of(c.of_rows, c.rows, ranks.size());
  const layout entries = layout_of(c.of_list, c.entries, ranks.size());
  const byte_vector expected = with_gaps(part_of(whole, rows, ranks.rank(), c.width), c.width, stride);
  const byte_vector start = with_gaps(part_of(before, rows, ranks.rank(), c.width), c.width, stride);

  const auto my_entries = part_of(list, entries, ranks.rank());
  const context_array part(ctx, with_gaps(part_of(in, entries, ranks.rank(), c.width), c.width, stride));
  const context_array my_list(ctx, my_entries);
  const const_records from(part.data(), my_entries.size(), c.width, stride);
  const auto check = [&](const auto& call) {
    const context_array out(ctx, start);
    call(records(out.data(), rows.count(ranks.rank()), c.width, stride));
    EXPECT_TRUE(out.read() == expected);
  };
  const index_span index = span_of(my_list, my_entries.size());
  check([&](records out) { distributed::scatter(ranks, from, index, out, rows, repeated); });
  const prepared_scatter prepared = prepare_scatter(ranks, index, rows);
  for (int run = 0; run < 2; ++run) check([&](records out) { prepared.run(from, out, repeated); });
  ranks.wait();
}

/// Numbers whose sums are exact in any order.
template <class Value>
void check_reduce(const group& ranks, const spread_case& c, reduction op, reduction_start start) {
  SCOPED_TRACE("reduction " + std::to_string(static_cast<int>(op)) + " of " + words_of(c));
  const context& ctx = ranks.local();
  std::mt19937_64 random(29);
  const auto numbers = [&](std::uint64_t count) {
    std::vector<Value> all(count);
    for (Value& v : all) v = static_cast<Value>(static_cast<int>(random() % 2001) - 1000);
    return all;
  };
  const std::vector<Value> in = numbers(c.entries * c.width);
  const std::vector<Value> before = numbers(c.rows * c.width);
  const auto list = list_of<std::uint32_t>(c.list_order, c.entries, c.rows);
  std::vector<Value> whole = before;
  std::vector<std::uint64_t> counts(c.rows);
  for (std::uint64_t i = 0; i < c.entries; ++i) {
    const std::uint64_t row = list[i];
    for (std::uint64_t k = 0; k < c.width; ++k) {
      Value& sum = whole[row * c.width + k];
      const Value more = in[i * c.width + k];
      if (counts[row] == 0 && start == reduction_start::identity) {
        sum = more;
      } else {
        sum = op == reduction::add ? static_cast<Value>(sum + more) : std::max(sum, more);
      }
    }
    ++counts[row];
  }
  if (start == reduction_start::identity && op == reduction::add) {
    for (std::uint64_t row = 0; row < c.rows; ++row) {
      for (std::uint64_t k = 0; counts[row] == 0 && k < c.width; ++k) whole[row * c.width + k] = 0;
    }
  }
  const layout rows = layout_of(c.of_rows, c.rows, ranks.size());
  const layout entries = layout_of(c.of_list, c.entries, ranks.size());
  const auto expected = part_of(whole, rows, ranks.rank(), c.width);
  const auto my_entries = part_of(list, entries, ranks.rank());
  const std::uint64_t my_rows = rows.count(ranks.rank());
  const context_array part(ctx, part_of(in, entries, ranks.rank(), c.width));
  const context_array my_list(ctx, my_entries);
  const const_value_rows from(part.data(), my_entries.size(), c.width, value_type_of<Value>());
  const auto check = [&](const auto& call) {
    const context_array out(ctx, part_of(before, rows, ranks.rank(), c.width));
    const context_array my_counts(ctx, std::vector<std::uint64_t>(my_rows, 77));
    scatter_reduce_rows_options options;
    options.start = start;
    options.counts = values(my_counts.data(), my_rows, value_type::u64);
    call(value_rows(out.data(), my_rows, c.width, value_type_of<Value>()), options);
    EXPECT_EQ(out.read(), expected);
    EXPECT_EQ(my_counts.read(), part_of(counts, rows, ranks.rank()));
  };
  const index_span index = span_of(my_list, my_entries.size());
  check([&](value_rows out, const scatter_reduce_rows_options& options) {
    distributed::scatter_reduce(ranks, from, index, out, rows, op, options);
  });
  const prepared_scatter prepared = prepare_scatter(ranks, index, rows);
  check(
      [&](value_rows out, const scatter_reduce_rows_options& options) { prepared.run_reduce(from, out, op, options); });
  ranks.wait();
}

/// Bad entries on several ranks: zeros come for them, nothing goes to them, and all ranks name the first.
inline void check_bad_entries(const group& ranks, std::uint64_t width) {
  SCOPED_TRACE("bad entries, width " + std::to_string(width));
  const context& ctx = ranks.local();
  const std::uint64_t rows_count = 1000;
  const std::uint64_t n = 6000;
  const layout rows = layout_of(spread::even, rows_count, ranks.size());
  const layout entries = layout_of(spread::even, n, ranks.size());
  const byte_vector table = bytes_of(rows_count * width, 5);
  auto list = list_of<std::int32_t>(order::uniform, n, rows_count);
  for (const std::uint64_t bad : {std::uint64_t{2000}, n - 1}) list[bad] = 1000;
  for (std::uint64_t bad = 2001; bad < 2300; ++bad) list[bad] = -3;
  const auto is_bad = [&](std::uint64_t i) { return list[i] < 0 || list[i] >= static_cast<std::int32_t>(rows_count); };
  byte_vector gathered(n * width);
  byte_vector scattered = table;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (is_bad(i)) continue;
    std::byte* const row = scattered.data() + static_cast<std::uint64_t>(list[i]) * width;
    std::memcpy(gathered.data() + i * width, table.data() + (row - scattered.data()), width);
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    if (!is_bad(i))
      std::memcpy(scattered.data() + static_cast<std::uint64_t>(list[i]) * width, gathered.data() + (n - 1 - i) * width,
                  width);
  }
  byte_vector reversed(n * width);
  for (std::uint64_t i = 0; i < n; ++i)
    std::memcpy(reversed.data() + i * width, gathered.data() + (n - 1 - i) * width, width);
  const auto my_entries = part_of(list, entries, ranks.rank());
  const context_array my_list(ctx, my_entries);
  const index_span index = span_of(my_list, my_entries.size());
  const context_array part(ctx, part_of(table, rows, ranks.rank(), width));
  const context_array out(ctx, byte_vector(my_entries.size() * width, gap_byte));
  distributed::gather(ranks, const_records(part.data(), rows.count(ranks.rank()), width), rows, index,
                      records(out.data(), my_entries.size(), width));
  EXPECT_TRUE(out.read() == part_of(gathered, entries, ranks.rank(), width));
  ctx.wait();  // the context has no report of its own
  EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }),
            "gather: index[2000] is 1000, past the table's 1000 records");
  const context_array in(ctx, part_of(reversed, entries, ranks.rank(), width));
  distributed::scatter(ranks, const_records(in.data(), my_entries.size(), width), index,
                       records(part.data(), rows.count(ranks.rank()), width), rows, duplicates::last);
  EXPECT_TRUE(part.read() == part_of(scattered, rows, ranks.rank(), width));
  ctx.wait();
  EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }),
            "scatter: index[2000] is 1000, past the output's 1000 records");
  EXPECT_EQ(message_of(error_code::bad_index, [&] { prepare_gather(ranks, index, rows); }),
            "gather: index[2000] is 1000, past the table's 1000 records");
  ranks.wait();
}

}  // namespace movement_on_devices_detail

/// Checks calls of movements on a group of any context. @param entries  of lists, in all
inline void check_movements(const distributed::group& ranks, std::uint64_t entries) {
  using namespace movement_on_devices_detail;
  const std::uint64_t rows = entries / 3;
  for (const std::uint64_t width : {1, 4, 8, 12, 16, 128, 1000}) {
    check_gather<std::uint32_t>(ranks, {rows, entries, width, 0, order::uniform, spread::even, spread::even});
    check_gather<std::int64_t>(ranks, {rows, entries, width, 4, order::zipf, spread::uneven, spread::some_empty});
    check_scatter<std::uint32_t>(ranks, {rows, entries, width, 0, order::uniform, spread::even, spread::even},
                                 duplicates::last);
    check_scatter<std::int64_t>(ranks, {entries, rows, width, 3, order::distinct, spread::some_empty, spread::uneven},
                                duplicates::any);
  }
  for (const std::uint64_t width : {8, 128}) {
    for (const order o : all_orders) {
      const std::uint64_t all = o == order::distinct ? rows : entries;
      check_gather<std::int32_t>(ranks, {rows, all, width, 0, o, spread::even, spread::uneven});
      check_scatter<std::int32_t>(ranks, {rows, all, width, 0, o, spread::uneven, spread::even}, duplicates::last);
    }
    for (const spread a : all_spreads) {
      for (const spread b : all_spreads) {
        check_gather<std::uint64_t>(ranks, {rows, entries, width, 8, order::zipf, a, b});
        check_scatter<std::uint64_t>(ranks, {rows, entries, width, 0, order::zipf, a, b}, duplicates::last);
      }
    }
    check_gather<std::uint32_t>(ranks, {rows, 0, width, 0, order::uniform, spread::even, spread::even});
    check_bad_entries(ranks, width);
  }
  for (const reduction_start start : {reduction_start::out, reduction_start::identity}) {
    const auto with = [&](std::uint64_t width, order o, spread a, spread b) {
      return spread_case{rows, entries, width, 0, o, a, b};
    };
    check_reduce<std::int32_t>(ranks, with(1, order::zipf, spread::even, spread::even), reduction::add, start);
    check_reduce<double>(ranks, with(5, order::uniform, spread::uneven, spread::some_empty), reduction::add, start);
    check_reduce<float>(ranks, with(3, order::one_row, spread::even, spread::one_has_all), reduction::add, start);
    check_reduce<double>(ranks, {20, 50, 10000, 0, order::uniform, spread::even, spread::uneven}, reduction::add,
                         start);
    check_reduce<float>(ranks, with(16, order::zipf, spread::some_empty, spread::uneven), reduction::max,
                        reduction_start::out);
  }
}

inline void movement_on_devices(const distributed::group& ranks) { check_movements(ranks, 5000); }

}  // namespace sheaf::tests
