#include <cstring>

#include <sheaf/distributed/scatter.hpp>
#include <sheaf/gather.hpp>

#include "distributed/devices/movement.hpp"
#include "distributed/movement/peers.hpp"
#include "distributed/ranks.hpp"

namespace sheaf::tests::distributed_movement_test {
namespace {

using namespace distributed;

enum class pattern { uniform, zipf, all_equal, reversed, identity };
constexpr pattern all_patterns[] = {pattern::uniform, pattern::zipf, pattern::all_equal, pattern::reversed,
                                    pattern::identity};

template <class Index>
std::vector<Index> list_of(pattern p, std::uint64_t count, std::uint64_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Index> list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t row = random() % rows;
    if (p == pattern::zipf)
      row = static_cast<std::uint64_t>(static_cast<double>(rows) / static_cast<double>(1 + random() % rows)) % rows;
    if (p == pattern::all_equal) row = rows / 3;
    if (p == pattern::reversed) row = rows - 1 - i % rows;
    if (p == pattern::identity) row = i % rows;
    list[i] = static_cast<Index>(row);
  }
  return list;
}

std::vector<std::byte> bytes_of(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> all(count);
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  return all;
}

struct shape {
  std::uint64_t rows;
  std::uint64_t entries;
  std::uint64_t width;
};
constexpr shape shapes[] = {{1000, 2500, 8}, {1000, 3000, 4}, {777, 1, 16},   {1, 900, 2},   {513, 2000, 1},
                            {300, 700, 37},  {50, 0, 8},      {250, 900, 64}, {90, 500, 101}};

limits small_rounds() {
  limits bounds;
  bounds.message_bytes = 64;
  bounds.chunk_bytes = 4000;
  return bounds;
}
limits grid_of_ranks() {
  limits bounds;
  bounds.two_level_ranks = 2;
  return bounds;
}

template <class Index>
void check_gather(const group& ranks, const shape& s, pattern p, spread table_spread, spread list_spread) {
  SCOPED_TRACE(name(table_spread) + " table, " + name(list_spread) + " list, pattern " +
               std::to_string(static_cast<int>(p)) + ", width " + std::to_string(s.width));
  const auto table = bytes_of(s.rows * s.width, 3);
  const auto list = list_of<Index>(p, s.entries, s.rows, 5);
  std::vector<std::byte> expected(s.entries * s.width);
  sheaf::gather(context::cpu(1), const_records(table.data(), s.rows, s.width), list,
                records(expected.data(), s.entries, s.width));
  const layout rows = layout_of(table_spread, s.rows, ranks.size());
  const layout entries = layout_of(list_spread, s.entries, ranks.size());
  const auto mine = part_of(table, rows, ranks.rank(), s.width);
  const auto my_list = part_of(list, entries, ranks.rank());
  // A stride past the width: the bytes between records keep their value.
  const std::uint64_t stride = s.width + 3;
  std::vector<std::byte> out(my_list.size() * stride, std::byte{0x5a});
  const auto check = [&] {
    for (std::uint64_t i = 0; i < my_list.size(); ++i) {
      for (std::uint64_t b = 0; b < stride; ++b) {
        const std::byte right =
            b < s.width ? expected[(entries.begin(ranks.rank()) + i) * s.width + b] : std::byte{0x5a};
        ASSERT_EQ(out[i * stride + b], right) << "record " << i << " byte " << b;
      }
    }
  };
  const const_records my_table(mine.data(), rows.count(ranks.rank()), s.width);
  distributed::gather(ranks, my_table, rows, my_list, records(out.data(), my_list.size(), s.width, stride));
  check();
  const prepared_gather prepared = prepare_gather(ranks, my_list, rows);
  for (int run = 0; run < 2; ++run) {
    std::fill(out.begin(), out.end(), std::byte{0x5a});
    prepared.run(my_table, records(out.data(), my_list.size(), s.width, stride));
    check();
  }
  ranks.wait();
}

TEST(DistributedGather, IsThatOfTheWholeTable) {
  for (const limits& bounds : {limits{}, small_rounds(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const shape& s : shapes)
            check_gather<std::uint32_t>(ranks, s, pattern::uniform, spread::even, spread::even);
          for (const pattern p : all_patterns)
            check_gather<std::int64_t>(ranks, shapes[0], p, spread::even, spread::even);
          for (const spread a : all_spreads) {
            for (const spread b : all_spreads) check_gather<std::int32_t>(ranks, shapes[1], pattern::zipf, a, b);
          }
          check_gather<std::uint64_t>(ranks, shapes[0], pattern::uniform, spread::uneven, spread::some_empty);
        },
        bounds);
  }
}

TEST(DistributedGather, NamesTheFirstBadIndexOfTheWholeListOnEveryRank) {
  for (const limits& bounds : {limits{}, small_rounds()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          const std::uint64_t n = 1200;
          const layout rows = layout::even(100, ranks.size());
          const layout entries = layout::even(n, ranks.size());
          std::vector<std::int32_t> list(n, 7);
          list[777] = 100;
          list[900] = -4;
          list[1199] = 2000;
          const std::vector<std::uint32_t> table(rows.count(ranks.rank()), 11);
          std::vector<std::uint32_t> out(entries.count(ranks.rank()), 99);
          const auto gather_once = [&] {
            distributed::gather(ranks, table, rows, part_of(list, entries, ranks.rank()), out);
            for (std::uint64_t i = 0; i < out.size(); ++i) {
              const std::uint64_t p = entries.begin(ranks.rank()) + i;
              ASSERT_EQ(out[i], p == 777 || p == 900 || p == 1199 ? 0U : 11U) << p;
            }
          };
          gather_once();
          list[3] = 555;  // of a later call
          list[777] = list[900] = list[1199] = 7;
          std::vector<std::uint32_t> again = out;
          distributed::gather(ranks, table, rows, part_of(list, entries, ranks.rank()), again);
          EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }),
                    "gather: index[777] is 100, past the table's 100 records");
          ranks.wait();
          list[3] = -9;
          EXPECT_EQ(message_of(error_code::bad_index,
                               [&] { prepare_gather(ranks, part_of(list, entries, ranks.rank()), rows); }),
                    "gather: index[3] is -9, outside the table's 100 records");
          ranks.wait();
        },
        bounds);
  }
}

TEST(DistributedGather, RefusesOnAllRanksWhatOneRefuses) {
  on_ranks_both_ways([](const group& ranks) {
    const int last = ranks.size() - 1;
    const std::string who = "rank " + std::to_string(last) + ": ";
    const layout rows = layout::even(64, ranks.size());
    const bool is_last = ranks.rank() == last;
    const std::vector<std::uint32_t> table(rows.count(ranks.rank()), 1);
    const std::vector<std::uint32_t> list(10, 3);
    std::vector<std::uint32_t> out(is_last ? 9 : 10, 5);
    const auto before = out;
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { distributed::gather(ranks, table, rows, list, out); }),
              who + "gather: index has 10 entries, but out has 9 records");
    EXPECT_EQ(out, before);
    const std::vector<std::uint32_t> other(table.size() + (is_last ? 1 : 0), 1);
    out.resize(10);
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { distributed::gather(ranks, other, rows, list, out); }),
              who + "gather: table has " + std::to_string(rows.count(last) + 1) +
                  " records, but its layout gives this rank " + std::to_string(rows.count(last)));
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] { distributed::gather(ranks, table, layout::even(64, ranks.size() + 1), list, out); }),
              "rank 0: gather: the layout of table is of " + std::to_string(ranks.size() + 1) +
                  " ranks, but the group has " + std::to_string(ranks.size()));
    if (ranks.size() > 1) {
      std::vector<std::uint64_t> wide_table(table.size());
      std::vector<std::uint64_t> wide(10);
      const auto disagree = [&] {
        if (is_last) return distributed::gather(ranks, wide_table, rows, list, wide);
        distributed::gather(ranks, table, rows, list, out);
      };
      EXPECT_EQ(message_of(error_code::bad_argument, disagree),
                "gather: the width of a record is 8 on rank " + std::to_string(last) + ", but 4 on rank 0");
    }
    distributed::gather(ranks, table, rows, list, out);  // the group goes on
    EXPECT_EQ(out, std::vector<std::uint32_t>(10, 1));
  });
}

template <class Index>
void check_scatter(const group& ranks, const shape& s, pattern p, spread out_spread, spread list_spread,
                   duplicates repeated) {
  SCOPED_TRACE(name(out_spread) + " out, " + name(list_spread) + " list, pattern " +
               std::to_string(static_cast<int>(p)) + ", width " + std::to_string(s.width));
  const auto in = bytes_of(s.entries * s.width, 8);
  const auto list = list_of<Index>(p, s.entries, s.rows, 9);
  const auto start = bytes_of(s.rows * s.width, 10);
  auto expected = start;
  scatter_options options;
  options.duplicates = duplicates::last;
  sheaf::scatter(context::cpu(1), const_records(in.data(), s.entries, s.width), list,
                 records(expected.data(), s.rows, s.width), options);
  const layout rows = layout_of(out_spread, s.rows, ranks.size());
  const layout entries = layout_of(list_spread, s.entries, ranks.size());
  const auto my_in = part_of(in, entries, ranks.rank(), s.width);
  const auto my_list = part_of(list, entries, ranks.rank());
  const auto right = part_of(expected, rows, ranks.rank(), s.width);
  auto out = part_of(start, rows, ranks.rank(), s.width);
  const records my_out(out.data(), rows.count(ranks.rank()), s.width);
  const const_records from(my_in.data(), my_list.size(), s.width);
  distributed::scatter(ranks, from, my_list, my_out, rows, repeated);
  EXPECT_EQ(out, right);
  const prepared_scatter prepared = prepare_scatter(ranks, my_list, rows);
  for (int run = 0; run < 2; ++run) {
    out = part_of(start, rows, ranks.rank(), s.width);
    prepared.run(from, records(out.data(), rows.count(ranks.rank()), s.width), repeated);
    EXPECT_EQ(out, right);
  }
  ranks.wait();
}

TEST(DistributedScatter, IsThatIntoTheWholeOutput) {
  for (const limits& bounds : {limits{}, small_rounds(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const shape& s : shapes)
            check_scatter<std::uint32_t>(ranks, s, pattern::uniform, spread::even, spread::even, duplicates::last);
          for (const pattern p : all_patterns)
            check_scatter<std::int64_t>(ranks, shapes[0], p, spread::uneven, spread::even, duplicates::last);
          for (const spread a : all_spreads) {
            for (const spread b : all_spreads)
              check_scatter<std::int32_t>(ranks, shapes[1], pattern::zipf, a, b, duplicates::last);
          }
          // Distinct indices.
          for (const pattern p : {pattern::reversed, pattern::identity})
            check_scatter<std::uint64_t>(ranks, {2000, 1500, 8}, p, spread::even, spread::uneven, duplicates::any);
        },
        bounds);
  }
}

TEST(DistributedScatter, WritesWholeRecordsOfOneWriter) {
  on_ranks_both_ways([](const group& ranks) {
    const layout rows = layout::even(10, ranks.size());
    const std::vector<std::uint64_t> in(100, 1000 + static_cast<std::uint64_t>(ranks.rank()));
    std::vector<std::uint32_t> list(100);
    for (std::uint32_t i = 0; i < 100; ++i) list[i] = i % 9;
    std::vector<std::uint64_t> out(rows.count(ranks.rank()), 7);
    distributed::scatter(ranks, in, list, out, rows);
    for (std::uint64_t i = 0; i < out.size(); ++i) {
      if (rows.begin(ranks.rank()) + i == 9) {
        EXPECT_EQ(out[i], 7U);
      } else {
        EXPECT_TRUE(out[i] >= 1000 && out[i] < 1000 + static_cast<std::uint64_t>(ranks.size())) << out[i];
      }
    }
  });
}

TEST(DistributedScatter, NamesTheFirstBadIndex) {
  on_ranks_both_ways([](const group& ranks) {
    const layout rows = layout::even(100, ranks.size());
    std::vector<std::uint32_t> list(50, 1);
    if (ranks.rank() == ranks.size() - 1) list[20] = 100;
    const std::vector<std::uint32_t> in(50, 4);
    std::vector<std::uint32_t> out(rows.count(ranks.rank()), 9);
    distributed::scatter(ranks, in, list, out, rows);
    EXPECT_EQ(
        message_of(error_code::bad_index, [&] { ranks.wait(); }),
        "scatter: index[" + std::to_string((ranks.size() - 1) * 50 + 20) + "] is 100, past the output's 100 records");
    // A reduction says it in the words of one process.
    std::vector<std::uint32_t> sums(rows.count(ranks.rank()));
    distributed::scatter_reduce(ranks, const_value_rows(in.data(), in.size(), 1, value_type::u32), list,
                                value_rows(sums.data(), sums.size(), 1, value_type::u32), rows, reduction::add);
    EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }),
              "scatter_reduce: index[" + std::to_string((ranks.size() - 1) * 50 + 20) +
                  "] is 100, past the output's 100 rows");
    for (std::uint64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], rows.begin(ranks.rank()) + i == 1 ? 4U : 9U);
  });
}

TEST(DistributedMovement, LoadsFromPeersWinForWideRecords) {
  EXPECT_FALSE(peer_loads_win(8, 4));
  EXPECT_FALSE(peer_loads_win(48, 4));
  EXPECT_TRUE(peer_loads_win(49, 4));
  EXPECT_FALSE(peer_loads_win(52, 0));
  EXPECT_TRUE(peer_loads_win(53, 0));
  EXPECT_TRUE(peer_loads_win(4096, 4));
}

TEST(DistributedMovement, OfArraysInMemoryOfTheContextIsThatOfHostArrays) {
  on_ranks_both_ways([](const group& ranks) { check_movements(ranks, 1200); });
}

template <class In, class Out>
void check_reduce(const group& ranks, reduction op, std::uint64_t width, spread out_spread, spread list_spread,
                  reduction_start start) {
  SCOPED_TRACE("reduction " + std::to_string(static_cast<int>(op)) + " width " + std::to_string(width) + " " +
               name(out_spread) + " " + name(list_spread));
  const std::uint64_t entries_count = 3000;
  const std::uint64_t rows_count = 211;
  std::mt19937_64 random(17);
  const auto number = [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(static_cast<double>(random() % 100000) / 7 - 5000);
    return static_cast<T>(random());
  };
  std::vector<In> in(entries_count * width);
  for (In& v : in) v = number(In{});
  std::vector<Out> before(rows_count * width);
  for (Out& v : before) v = number(Out{});
  const auto list = list_of<std::uint32_t>(pattern::zipf, entries_count, rows_count, 23);
  scatter_reduce_rows_options options;
  options.start = start;
  std::vector<std::uint64_t> counts(rows_count, 3);
  options.counts = counts;
  std::vector<Out> expected = before;
  sheaf::scatter_reduce(context::cpu(1), const_value_rows(in.data(), entries_count, width, value_type_of<In>()), list,
                        value_rows(expected.data(), rows_count, width, value_type_of<Out>()), op, options);
  const layout rows = layout_of(out_spread, rows_count, ranks.size());
  const layout entries = layout_of(list_spread, entries_count, ranks.size());
  const auto my_in = part_of(in, entries, ranks.rank(), width);
  const auto my_list = part_of(list, entries, ranks.rank());
  const auto right = part_of(expected, rows, ranks.rank(), width);
  const auto prepared = prepare_scatter(ranks, my_list, rows);
  for (const bool is_prepared : {false, true}) {
    auto out = part_of(before, rows, ranks.rank(), width);
    std::vector<std::uint64_t> my_counts(out.size() / width, 99);
    options.counts = my_counts;
    const const_value_rows from(my_in.data(), my_list.size(), width, value_type_of<In>());
    const value_rows to(out.data(), my_counts.size(), width, value_type_of<Out>());
    if (is_prepared) {
      prepared.run_reduce(from, to, op, options);
    } else {
      distributed::scatter_reduce(ranks, from, my_list, to, rows, op, options);
    }
    EXPECT_EQ(std::memcmp(out.data(), right.data(), out.size() * sizeof(Out)), 0);
    EXPECT_EQ(my_counts, part_of(counts, rows, ranks.rank()));
  }
  ranks.wait();
}

TEST(DistributedScatterReduce, HasTheBitsOfOneProcess) {
  for (const limits& bounds : {limits{}, small_rounds(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const reduction op : {reduction::add, reduction::min, reduction::max, reduction::subtract,
                                     reduction::multiply, reduction::mean, reduction::count}) {
            check_reduce<double, double>(ranks, op, 1, spread::even, spread::even, reduction_start::out);
            check_reduce<float, float>(ranks, op, 5, spread::uneven, spread::some_empty, reduction_start::identity);
            check_reduce<std::int32_t, std::int32_t>(ranks, op, 3, spread::one_has_all, spread::uneven,
                                                     reduction_start::out);
          }
          for (const reduction op : {reduction::add, reduction::max, reduction::mean}) {
            check_reduce<std::uint8_t, std::uint64_t>(ranks, op, 2, spread::even, spread::uneven,
                                                      reduction_start::identity);
            check_reduce<std::int8_t, std::int32_t>(ranks, op, 3, spread::uneven, spread::even, reduction_start::out);
            check_reduce<std::uint16_t, std::uint32_t>(ranks, op, 1, spread::even, spread::even, reduction_start::out);
            check_reduce<std::int16_t, std::int64_t>(ranks, op, 1, spread::one_has_all, spread::some_empty,
                                                     reduction_start::identity);
            check_reduce<std::uint64_t, std::uint64_t>(ranks, op, 1, spread::some_empty, spread::one_has_all,
                                                       reduction_start::out);
            check_reduce<std::int64_t, std::int64_t>(ranks, op, 7, spread::even, spread::even, reduction_start::out);
            check_reduce<std::int8_t, std::int8_t>(ranks, op, 1, spread::even, spread::uneven, reduction_start::out);
          }
        },
        bounds);
  }
}

}  // namespace
}  // namespace sheaf::tests::distributed_movement_test
