#include <cmath>
#include <cstring>
#include <numeric>

#include <sheaf/distributed/split.hpp>

#include "distributed/devices/sort.hpp"
#include "distributed/sort/part_edges.hpp"
#include "distributed/state.hpp"
#include "primitives/ranks/steps.hpp"

namespace sheaf::tests::distributed_sort_test {
namespace {

using namespace distributed;

__extension__ using wide_number = unsigned __int128;

enum class keys_of { uniform, zipf, all_equal, reversed, two_values, sorted };
constexpr keys_of all_keys[] = {keys_of::uniform,  keys_of::zipf,       keys_of::all_equal,
                                keys_of::reversed, keys_of::two_values, keys_of::sorted};

std::uint64_t key_at(keys_of k, std::uint64_t i, std::uint64_t count, std::mt19937_64& random) {
  switch (k) {
    case keys_of::uniform: return random();
    case keys_of::zipf: return count / (1 + random() % count);
    case keys_of::all_equal: return 0x123456789abcdef0U;
    case keys_of::reversed: return (count - i) << 20;
    case keys_of::two_values: return random() % 3 == 0 ? ~std::uint64_t{0} : 0;
    default: return i * 3;
  }
}

template <class T>
std::vector<T> keys(keys_of k, std::uint64_t count) {
  std::mt19937_64 random(count + 1);
  std::vector<T> all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = key_at(k, i, count, random);
    if constexpr (std::is_floating_point_v<T>) {
      all[i] = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(bits)) * 1e-3);
      if (i % 97 == 0) all[i] = i % 2 == 0 ? -T{0} : std::numeric_limits<T>::quiet_NaN();
    } else {
      all[i] = static_cast<T>(bits);
    }
  }
  return all;
}

limits few_bytes() {
  limits bounds;
  bounds.message_bytes = 64;
  bounds.chunk_bytes = 640;  // so that parts travel in groups
  return bounds;
}
limits grid_of_ranks() {
  limits bounds;
  bounds.two_level_ranks = 2;
  bounds.chunk_bytes = 64000;
  return bounds;
}

template <class T>
void expect_bytes(std::span<const T> got, const std::vector<T>& right) {
  ASSERT_EQ(got.size(), right.size());
  if (right.empty()) return;
  EXPECT_EQ(std::memcmp(got.data(), right.data(), right.size() * sizeof(T)), 0);
}

template <class T>
void check_keys(const group& ranks, keys_of k, std::uint64_t count, spread s, bool descending = false) {
  SCOPED_TRACE("keys " + std::to_string(static_cast<int>(k)) + " of " + std::to_string(sizeof(T)) + " bytes, " +
               std::to_string(count) + " " + name(s));
  const std::vector<T> all = keys<T>(k, count);
  std::vector<T> expected(count);
  sheaf::sort_keys(context::cpu(1), all, expected, {descending});
  const layout rows = layout_of(s, count, ranks.size());
  const sorted_records got = sort_keys(ranks, part_of(all, rows, ranks.rank()), descending);
  EXPECT_EQ(got.where, layout::even(count, ranks.size()));
  expect_bytes(got.rows.as<T>(), part_of(expected, got.where, ranks.rank()));
}

TEST(DistributedSort, OfKeysIsThatOfAll) {
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const keys_of k : all_keys) {
            check_keys<std::uint64_t>(ranks, k, 20000, spread::even);
            check_keys<std::int32_t>(ranks, k, 9000, spread::uneven);
            check_keys<double>(ranks, k, 9001, spread::some_empty, true);
            check_keys<float>(ranks, k, 700, spread::one_has_all);
            check_keys<std::uint8_t>(ranks, k, 6000, spread::even, true);
            check_keys<std::int64_t>(ranks, k, 5000, spread::one_has_all, true);
            check_keys<std::uint16_t>(ranks, k, 12000, spread::uneven);
            check_keys<wide_number>(ranks, k, 9000, spread::even);
          }
          for (const std::uint64_t count : {0, 1, 2, 3, 7, 100}) {
            for (const spread s : all_spreads) check_keys<std::uint64_t>(ranks, keys_of::uniform, count, s);
          }
        },
        bounds);
  }
}

struct row {
  std::uint32_t low;
  char name[5];
  std::uint8_t group_of;
  std::int16_t number;
  std::uint64_t position;
};

std::vector<row> rows_of(keys_of k, std::uint64_t count) {
  std::mt19937_64 random(count * 5);
  std::vector<row> all(count);
  std::memset(static_cast<void*>(all.data()), 0, count * sizeof(row));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = key_at(k, i, count, random);
    all[i].low = static_cast<std::uint32_t>(bits);
    std::memcpy(all[i].name, &bits, 5);
    all[i].group_of = static_cast<std::uint8_t>(bits % 3);
    all[i].number = static_cast<std::int16_t>(bits >> 7);
    all[i].position = i;
  }
  return all;
}

TEST(DistributedSort, OfRecordsIsStableByFields) {
  const sort_key by[] = {
      sort_key{key_field{offsetof(row, group_of), 1}},
      sort_key{{offsetof(row, name), 5, key_type::bytes, true}, {offsetof(row, number), 2, key_type::signed_integer}},
      sort_key{{offsetof(row, low), 4, key_type::unsigned_integer, false, 3, 7}},
      sort_key{{offsetof(row, low), 20, key_type::bytes}, {offsetof(row, group_of), 1}},
  };
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [&](const group& ranks) {
          for (const sort_key& key : by) {
            for (const keys_of k : all_keys) {
              for (const spread s : {spread::even, spread::uneven, spread::one_has_all}) {
                const std::uint64_t count = 5500;
                const std::vector<row> all = rows_of(k, count);
                std::vector<row> expected(count);
                sheaf::sort_records(context::cpu(1), all, key, expected);
                const layout rows = layout_of(s, count, ranks.size());
                const auto mine = part_of(all, rows, ranks.rank());
                const sorted_records got = distributed::sort_records(ranks, mine, key);
                expect_bytes(got.rows.as<row>(), part_of(expected, got.where, ranks.rank()));
                // By key: the same rows in the same order, and no key on two ranks.
                const sorted_records whole = distributed::sort_records(ranks, mine, key, balance::by_key);
                EXPECT_EQ(whole.where.count(), count);
                expect_bytes(whole.rows.as<row>(), part_of(expected, whole.where, ranks.rank()));
                if (key.count == 1 && key.fields[0].bytes == 1) {
                  for (int r = 1; r < ranks.size(); ++r) {
                    const std::uint64_t begin = whole.where.begin(r);
                    if (begin == 0 || begin == count) continue;
                    EXPECT_NE(expected[begin - 1].group_of, expected[begin].group_of);
                  }
                }
              }
            }
          }
        },
        bounds);
  }
}

TEST(DistributedSort, OfPairsBringsValuesAlong) {
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const keys_of k : all_keys) {
            for (const spread s : all_spreads) {
              const std::uint64_t count = 7000;
              const auto all = keys<std::uint32_t>(k, count);
              std::vector<std::uint16_t> narrow(count);
              std::vector<std::array<char, 11>> wide(count);
              for (std::uint64_t i = 0; i < count; ++i) {
                narrow[i] = static_cast<std::uint16_t>(i);
                for (std::size_t b = 0; b < 11; ++b) wide[i][b] = static_cast<char>(i * 7 + b);
              }
              std::vector<std::uint32_t> keys_out(count);
              auto narrow_out = narrow;
              auto wide_out = wide;
              const sort_column columns[] = {{narrow, narrow_out}, {wide, wide_out}};
              sheaf::sort_pairs(context::cpu(1), all, sort_key::of<std::uint32_t>(), keys_out, columns);
              const layout rows = layout_of(s, count, ranks.size());
              const auto my_keys = part_of(all, rows, ranks.rank());
              const auto my_narrow = part_of(narrow, rows, ranks.rank());
              const auto my_wide = part_of(wide, rows, ranks.rank());
              const const_records values[] = {my_narrow, my_wide};
              const sorted_pairs got = distributed::sort_pairs(ranks, my_keys, sort_key::of<std::uint32_t>(), values);
              expect_bytes(got.keys.as<std::uint32_t>(), part_of(keys_out, got.where, ranks.rank()));
              expect_bytes(got.values[0].as<std::uint16_t>(), part_of(narrow_out, got.where, ranks.rank()));
              expect_bytes(got.values[1].as<std::array<char, 11>>(), part_of(wide_out, got.where, ranks.rank()));
              const sorted_pairs whole =
                  distributed::sort_pairs(ranks, my_keys, sort_key::of<std::uint32_t>(), values, balance::by_key);
              expect_bytes(whole.keys.as<std::uint32_t>(), part_of(keys_out, whole.where, ranks.rank()));
              expect_bytes(whole.values[1].as<std::array<char, 11>>(), part_of(wide_out, whole.where, ranks.rank()));
              for (int r = 1; r < ranks.size(); ++r) {
                const std::uint64_t begin = whole.where.begin(r);
                if (begin > 0 && begin < count) {
                  ASSERT_NE(keys_out[begin - 1], keys_out[begin]);
                }
              }
            }
          }
        },
        bounds);
  }
}

TEST(DistributedSort, OfManyFieldsAndBitsIsStable) {
  const sort_key by[] = {
      sort_key{{offsetof(row, position), 8, key_type::floating, true, 13, 40}, {0, 3, key_type::bytes, false, 5, 1}},
      sort_key{{offsetof(row, low), 4, key_type::floating},
               {offsetof(row, number), 2, key_type::floating, true},
               {offsetof(row, name), 1, key_type::unsigned_integer, false, 0, 1}},
      sort_key{{offsetof(row, low), 4, key_type::signed_integer, false, 31, 1},
               {offsetof(row, low), 4, key_type::signed_integer, true, 2, 9},
               {offsetof(row, low), 4, key_type::unsigned_integer, false, 0, 3}},
      sort_key{{0, 20, key_type::signed_integer, true}, {4, 12, key_type::bytes}},
      sort_key{{0, 32, key_type::bytes, false, 0, 256}},
  };
  for (const limits& bounds : {few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [&](const group& ranks) {
          for (const sort_key& key : by) {
            for (const keys_of k : all_keys) {
              const std::uint64_t count = 3000;
              struct long_row {
                row first;
                row second;
              };
              const std::vector<row> rows = rows_of(k, 2 * count);
              std::vector<long_row> all(count);
              for (std::uint64_t i = 0; i < count; ++i) all[i] = {rows[2 * i], rows[2 * i + 1]};
              std::vector<long_row> expected(count);
              sheaf::sort_records(context::cpu(1), all, key, expected);
              const layout given = layout_of(spread::uneven, count, ranks.size());
              const auto mine = part_of(all, given, ranks.rank());
              for (const balance parts : {balance::exact, balance::by_key}) {
                const sorted_records got = distributed::sort_records(ranks, mine, key, parts);
                expect_bytes(got.rows.as<long_row>(), part_of(expected, got.where, ranks.rank()));
              }
            }
          }
        },
        bounds);
  }
}

TEST(DistributedSort, TakesRowsOf64KiB) {
  using long_row = std::array<std::uint16_t, 32768>;
  on_ranks_both_ways(
      [](const group& ranks) {
        std::mt19937_64 random(5);
        std::vector<long_row> all(60);
        for (long_row& r : all) {
          for (std::uint16_t& n : r) n = static_cast<std::uint16_t>(random());
          r.back() = static_cast<std::uint16_t>(random() % 7);
        }
        std::vector<long_row> expected(all.size());
        const sort_key key{{sizeof(long_row) - 2, 2}, {0, 1}};
        sheaf::sort_records(context::cpu(1), all, key, expected);
        const layout given = layout_of(spread::uneven, all.size(), ranks.size());
        const sorted_records got = distributed::sort_records(ranks, part_of(all, given, ranks.rank()), key);
        expect_bytes(got.rows.as<long_row>(), part_of(expected, got.where, ranks.rank()));
      },
      few_bytes());
}

// As on devices: the tests of these, whose arrays lie in the memory of the context.
TEST(DistributedSort, OnDevicesIsThatOfAllOnTheHost) {
  // A message of few bytes takes a connection as long as a long one: threads of one process send many, others some.
  const std::uint64_t rows_in_few_bytes = takes_both_ways() ? 1500 : 300;
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks(
        [&](const group& ranks) {
          ranks.state().goes_by_primitives = true;
          sorts_on_devices(ranks, bounds.message_bytes < 1000 ? rows_in_few_bytes : 20000);
        },
        bounds);
  }
}

// Rows that are not in the sample lie between two that are, so that one part has most rows, and ranks end in it.
TEST(DistributedSort, OnDevicesTakesKeysOfWhichTheSampleKnowsNothing) {
  limits bounds;
  bounds.chunk_bytes = 64000;
  on_ranks(
      [](const group& ranks) {
        ranks.state().goes_by_primitives = true;
        constexpr std::uint64_t of_rank = 65536;
        const layout given = layout::even(of_rank * static_cast<std::uint64_t>(ranks.size()), ranks.size());
        std::mt19937_64 random(3);
        std::vector<std::uint64_t> all(given.count());
        for (std::uint64_t& n : all) n = (std::uint64_t{1} << 39) + random() % (1 << 20);
        const std::uint64_t samples = samples_of(of_rank, given.count(), ranks.size());
        for (int r = 0; r < ranks.size(); ++r) {
          for (std::uint64_t i = 0; i < samples; ++i)
            all[given.begin(r) + primitives::sampled_row(i, samples, of_rank)] = i << 40;
        }
        const auto mine = part_of(all, given, ranks.rank());
        std::sort(all.begin(), all.end());
        for (const balance parts : {balance::exact, balance::by_key}) {
          const sorted_records got = sort_keys(ranks, mine, false, parts);
          EXPECT_TRUE(parts == balance::by_key || got.where == given);
          expect_bytes(got.rows.as<std::uint64_t>(), part_of(all, got.where, ranks.rank()));
        }
      },
      bounds);
}

TEST(DistributedSort, OnDevicesTakesManyRanks) {
  if (!ranks_are_threads()) GTEST_SKIP() << "as many ranks as there are processes";
  limits bounds;
  bounds.chunk_bytes = 64000;
  run_in_one_process(64, 1, bounds, [](const group& ranks) {
    ranks.state().goes_by_primitives = true;
    for (const keys_of k : all_keys) {
      check_keys<std::uint64_t>(ranks, k, 30000, spread::uneven);
      check_keys<float>(ranks, k, 50, spread::even);
    }
  });
}

TEST(DistributedSort, RefusesKeysThatDisagree) {
  on_ranks_both_ways([](const group& ranks) {
    const std::vector<std::uint32_t> mine(10, 3);
    const bool is_last = ranks.rank() == ranks.size() - 1;
    if (ranks.size() > 1) {
      const std::string said = message_of(error_code::bad_argument, [&] { sort_keys(ranks, mine, is_last); });
      EXPECT_TRUE(said.starts_with("sort_records: the key on rank ")) << said;
    }
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] {
                           distributed::sort_records(ranks, mine, key_field{is_last ? 2U : 0U, 4});
                         }),
              ranks.size() == 1
                  ? "rank 0: sort_records: a key field of 4 bytes from byte 2 on reaches past a row of 4 bytes"
                  : "rank " + std::to_string(ranks.size() - 1) +
                        ": sort_records: a key field of 4 bytes from byte 2 on reaches past a row of 4 bytes");
    EXPECT_EQ(sort_keys(ranks, mine).where.count(), 10U * static_cast<std::uint64_t>(ranks.size()));
  });
}

TEST(DistributedSplit, IsThatOfAllRecords) {
  const std::uint64_t count = 6000;
  const std::vector<row> all = rows_of(keys_of::uniform, count);
  std::vector<std::uint32_t> field(count);
  std::vector<std::uint16_t> category(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    field[i] = all[i].low * 77U;
    category[i] = static_cast<std::uint16_t>(all[i].low % 1000);
  }
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [&](const group& ranks) {
          for (const spread s : all_spreads) {
            const layout rows = layout_of(s, count, ranks.size());
            const auto mine = part_of(all, rows, ranks.rank());
            const auto my_field = part_of(field, rows, ranks.rank());
            const auto my_category = part_of(category, rows, ranks.rank());
            const auto check = [&](const split_key& key, const split_key& my_key, bool with_offsets) {
              std::vector<row> expected(count);
              std::vector<std::uint64_t> offsets(with_offsets ? key.categories + 1 : 0);
              sheaf::split(context::cpu(1), all, key, expected, offsets);
              const split_records got = distributed::split(ranks, mine, my_key, balance::exact, with_offsets);
              expect_bytes(got.rows.as<row>(), part_of(expected, got.where, ranks.rank()));
              EXPECT_EQ(got.offsets, offsets);
              const split_records whole = distributed::split(ranks, mine, my_key, balance::by_key, with_offsets);
              expect_bytes(whole.rows.as<row>(), part_of(expected, whole.where, ranks.rank()));
              EXPECT_EQ(whole.offsets, offsets);
              for (const std::uint64_t begin : whole.where.begins()) {
                if (with_offsets) {
                  EXPECT_TRUE(std::count(offsets.begin(), offsets.end(), begin) > 0) << begin;
                }
              }
            };
            const split_key of_record = split_key::of_record({13, 9});
            check(of_record, of_record, true);
            const split_key from_left = split_key::of_record({37, 6, bit_order::from_left});
            check(from_left, from_left, true);
            const split_key wide = split_key::of_record({3, 60});
            check(wide, wide, false);
            check(split_key::of(field, {3, 5}), split_key::of(my_field, {3, 5}), true);
            check(split_key::category(category, 1000), split_key::category(my_category, 1000), true);
          }
        },
        bounds);
  }
}

TEST(DistributedSplit, CountsCategoriesThatKeysCannotHave) {
  limits bounds;
  bounds.chunk_bytes = 64000;
  on_ranks_both_ways(
      [](const group& ranks) {
        const std::uint64_t count = 20000;
        std::vector<std::uint64_t> all(count);
        std::vector<std::uint8_t> category(count);
        std::vector<std::uint64_t> offsets(301);
        for (std::uint64_t i = 0; i < count; ++i) {
          all[i] = i;
          category[i] = static_cast<std::uint8_t>(i * i);
          ++offsets[category[i] + std::size_t{1}];
        }
        std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
        const layout rows = layout::even(count, ranks.size());
        const auto mine = part_of(category, rows, ranks.rank());
        const split_records got =
            distributed::split(ranks, part_of(all, rows, ranks.rank()), split_key::category(mine, 300));
        EXPECT_EQ(got.offsets, offsets);
      },
      bounds);
}

TEST(DistributedSplit, TakesFewRecordsOfFewCategories) {
  for (const limits& bounds : {limits{}, few_bytes(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const std::uint64_t count : {0, 1, 2, 40}) {
            for (const std::uint64_t categories : {1, 3}) {
              for (const spread s : all_spreads) {
                std::vector<std::uint64_t> all(count);
                std::vector<std::uint8_t> category(count);
                for (std::uint64_t i = 0; i < count; ++i) {
                  all[i] = i;
                  category[i] = static_cast<std::uint8_t>((count - i) % categories);
                }
                std::vector<std::uint64_t> expected(count);
                std::vector<std::uint64_t> offsets(categories + 1);
                sheaf::split(context::cpu(1), all, split_key::category(category, categories), expected, offsets);
                const layout rows = layout_of(s, count, ranks.size());
                const auto mine = part_of(category, rows, ranks.rank());
                const split_records got =
                    distributed::split(ranks, part_of(all, rows, ranks.rank()), split_key::category(mine, categories));
                expect_bytes(got.rows.as<std::uint64_t>(), part_of(expected, got.where, ranks.rank()));
                EXPECT_EQ(got.offsets, offsets);
              }
            }
          }
        },
        bounds);
  }
}

TEST(DistributedSplit, LeavesBadCategoriesOutAndNamesTheFirst) {
  on_ranks_both_ways([](const group& ranks) {
    const std::uint64_t count = 500;
    std::vector<std::uint64_t> all(count);
    std::vector<std::uint8_t> category(count);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < count; ++i) {
      all[i] = i;
      category[i] = static_cast<std::uint8_t>(i % 5);
    }
    category[123] = 5;
    category[400] = 77;
    std::vector<std::uint64_t> offsets{0};
    for (std::uint8_t c = 0; c < 5; ++c) {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (category[i] == c) expected.push_back(i);
      }
      offsets.push_back(expected.size());
    }
    const layout rows = layout::even(count, ranks.size());
    const auto my_category = part_of(category, rows, ranks.rank());
    const split_records got =
        distributed::split(ranks, part_of(all, rows, ranks.rank()), split_key::category(my_category, 5));
    EXPECT_EQ(got.where.count(), count - 2);
    EXPECT_EQ(got.offsets, offsets);
    expect_bytes(got.rows.as<std::uint64_t>(), part_of(expected, got.where, ranks.rank()));
    EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }),
              "split: category[123] is 5, past the 5 categories");
  });
}

}  // namespace
}  // namespace sheaf::tests::distributed_sort_test
