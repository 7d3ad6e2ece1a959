#include "papers/he2007/radix_sort.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/machine.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/sort.hpp>

#include "papers/cuda/table_scan.hpp"
#include "support/contexts.hpp"

// The steps of the GPU's radix sort of 2007, run on the host one thread after the other; on a device its kernels by
// forms that no plan may choose; and the CPU's radix sort.
namespace sheaf::tests::papers_he2007_radix_sort_test {
namespace {

using namespace papers::he2007;
using papers::scan_tile_entries;

using numbers = std::vector<std::uint64_t>;

/// What a phase makes of the tuples, and the partitions that it leaves.
struct phase_result {
  std::vector<std::uint8_t> partition_ids;
  std::vector<std::uint32_t> table;
  std::vector<std::uint32_t> locations;
  numbers tuples;
  numbers begins;  ///< of its partitions, and their end
};

numbers prefix_sums(numbers values) {
  std::uint64_t sum = 0;
  for (std::uint64_t& value : values) sum += std::exchange(value, sum);
  return values;
}

phase_result run_phase(const numbers& tuples, const numbers& begins, const radix_parameters& form,
                       std::uint32_t phase) {
  const std::uint64_t partitions = begins.size() - 1;
  numbers first_portions(partitions + 1, 0);
  for (std::size_t p = 0; p < partitions; ++p) {
    first_portions[p] = (begins[p + 1] - begins[p] + form.portion - 1) / form.portion;
  }
  first_portions = prefix_sums(first_portions);
  const std::uint64_t portions = first_portions.back();
  EXPECT_LE(portions, form.most_portions(tuples.size(), phase));
  phase_result result;
  for (const std::uint64_t tuple : tuples) result.partition_ids.push_back(partition_id(tuple, phase, form.bits));
  // What is left over from before must not matter.
  std::vector<std::uint8_t> histogram(form.phase_partitions(), 77);
  result.table.assign(portions << form.bits, 99);
  for (std::uint64_t portion = 0; portion < portions; ++portion) {
    count_portion(result.partition_ids.data(),
                  find_portion(begins.data(), first_portions.data(), partitions, form, portion), form.bits,
                  histogram.data(), result.table.data());
  }
  const numbers run_begins = prefix_sums(numbers(result.table.begin(), result.table.end()));
  result.locations.assign(tuples.size(), ~0U);
  for (std::uint64_t portion = 0; portion < portions; ++portion) {
    locate_portion(result.partition_ids.data(),
                   find_portion(begins.data(), first_portions.data(), partitions, form, portion), form.bits,
                   histogram.data(), run_begins.data(), result.locations.data());
  }
  result.tuples.assign(tuples.size(), ~std::uint64_t{0});
  for (std::size_t i = 0; i < tuples.size(); ++i) result.tuples.at(result.locations[i]) = tuples[i];
  for (std::uint64_t next = 0; next < partitions << form.bits; ++next) {
    result.begins.push_back(
        begin_of_partition(begins.data(), first_portions.data(), run_begins.data(), form.bits, next));
  }
  result.begins.push_back(tuples.size());
  return result;
}

/// Steps from first_step on, of merges to runs of `run` words, by several threads whose order does not matter.
void merge_by_network(std::uint64_t* words, std::uint64_t size, std::uint64_t run, std::uint64_t first_step) {
  constexpr std::uint32_t threads = 3;
  for (std::uint64_t step = first_step; step > 0; step /= 2) {
    for (std::uint32_t thread = threads; thread-- > 0;) step_of_thread(words, size, run, step, thread, threads);
  }
}

void sort_by_network(std::uint64_t* words, std::uint64_t size) {
  for (std::uint64_t run = 2; run / 2 < size; run *= 2) merge_by_network(words, size, run, run / 2);
}

/// The tiles of partitions of more tuples than a tile, in the order of their numbers.
std::vector<tile_place> tiles_of(const numbers& begins, std::uint64_t tile_tuples) {
  const std::uint64_t partitions = begins.size() - 1;
  numbers first_tiles(partitions + 1, 0);
  for (std::size_t p = 0; p < partitions; ++p) {
    const std::uint64_t size = begins[p + 1] - begins[p];
    first_tiles[p] = size > tile_tuples ? (size + tile_tuples - 1) / tile_tuples : 0;
  }
  first_tiles = prefix_sums(first_tiles);
  std::vector<tile_place> tiles;
  for (std::uint64_t number = 0; number < first_tiles.back(); ++number) {
    tiles.push_back(find_tile(begins.data(), first_tiles.data(), partitions, tile_tuples, number));
  }
  return tiles;
}

/// Sorts each partition as the kernels do: those of more tuples than a tile step by step, their tiles in any order.
void sort_in_tiles(numbers& tuples, const numbers& begins, std::uint64_t tile_tuples) {
  std::mt19937_64 random(5);
  std::uint64_t longest = 0;
  for (std::size_t p = 0; p + 1 < begins.size(); ++p) {
    const std::uint64_t size = begins[p + 1] - begins[p];
    longest = std::max(longest, size);
    if (size <= tile_tuples) sort_by_network(tuples.data() + begins[p], size);
  }
  std::vector<tile_place> tiles = tiles_of(begins, tile_tuples);
  const auto for_each_tile = [&](auto work) {
    std::shuffle(tiles.begin(), tiles.end(), random);
    for (const tile_place& tile : tiles) work(tile);
  };
  for_each_tile([&](const tile_place& tile) { sort_by_network(&tuples[tile.begin()], tile.size); });
  for (std::uint64_t run = 2 * tile_tuples; run / 2 < longest; run *= 2) {
    for (std::uint64_t step = run / 2; step >= tile_tuples; step /= 2) {
      for_each_tile([&](const tile_place& tile) {
        for (const std::uint32_t thread : {1U, 0U}) far_step_of_thread(tuples.data(), tile, run, step, thread, 2);
      });
    }
    for_each_tile([&](const tile_place& tile) {
      if (tile.is_merged_to(run)) merge_by_network(&tuples[tile.begin()], tile.size, run, tile_tuples / 2);
    });
  }
}

numbers sorted_by_phases(numbers tuples, const radix_parameters& form) {
  numbers begins{0, tuples.size()};
  for (std::uint32_t phase = 0; phase < form.phases; ++phase) {
    phase_result result = run_phase(tuples, begins, form, phase);
    tuples = std::move(result.tuples);
    begins = std::move(result.begins);
  }
  sort_in_tiles(tuples, begins, 256);
  return tuples;
}

numbers in_order(numbers tuples) {
  std::sort(tuples.begin(), tuples.end());
  return tuples;
}

/// Tuples whose keys are uniform, equal, half of them equal, skewed or in reverse, and whose identifiers descend.
std::vector<numbers> lists_of_tuples(std::uint64_t count) {
  std::mt19937_64 random(7);
  const std::function<std::uint64_t(std::uint64_t)> keys[] = {
      [&](std::uint64_t) { return random() & 0xffffffff; },
      [](std::uint64_t) { return std::uint64_t{0x12345678}; },
      [&](std::uint64_t i) { return i % 2 == 0 ? 0x87654321 : random() & 0xffffffff; },
      [&](std::uint64_t) { return std::uint64_t{0xffffffff} >> std::countl_zero(random() | 1); },
      [](std::uint64_t i) { return 0xffffffff - i; },
  };
  std::vector<numbers> lists;
  for (const auto& key : keys) {
    lists.emplace_back();
    for (std::uint64_t i = 0; i < count; ++i) {
      lists.back().push_back(pack_tuple(static_cast<std::uint32_t>(key(i)), 32, count - i));
    }
  }
  return lists;
}

/// A sort of as many tuples.
primitives::sort_problem tuple_problem(backend_kind backend, std::uint64_t count) {
  primitives::sort_problem problem;
  problem.backend = backend;
  problem.count = count;
  problem.key.fields[0] = {.offset = 0, .bytes = tuple_bytes, .type = key_type::unsigned_integer};
  problem.key.field_count = 1;
  problem.key.bits = tuple_bits;
  problem.rows = {tuple_bytes, tuple_bytes, tuple_bytes, tuple_bytes};
  return problem;
}

const primitives::sort_variant* sort_named(std::string_view name) {
  const auto variants = primitives::sort_variants();
  const auto place = std::ranges::find(variants, name, &primitives::sort_variant::name);
  return place == variants.end() ? nullptr : &*place;
}

// Eight tuples, as many as Figure 14 has. The text does not say their keys; here they have three bits. Two phases of
// one bit, portions of four tuples.
TEST(RadixSort, SortsEightTuplesAsTheirFigureShows) {
  numbers tuples;
  for (const std::uint64_t key : {5, 1, 7, 0, 3, 6, 2, 4}) tuples.push_back(key << 61);
  const auto keys_of = [](numbers words) {
    for (std::uint64_t& word : words) word >>= 61;
    return words;
  };
  const radix_parameters form{.bits = 1, .phases = 2, .portion = 4};
  const phase_result first = run_phase(tuples, {0, 8}, form, 0);
  EXPECT_EQ(first.partition_ids, (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(first.table, (std::vector<std::uint32_t>{2, 2, 2, 2})) << "partition 0 of both threads, then partition 1";
  EXPECT_EQ(first.locations, (std::vector<std::uint32_t>{4, 0, 5, 1, 2, 6, 3, 7}));
  EXPECT_EQ(keys_of(first.tuples), (numbers{1, 0, 3, 2, 5, 7, 6, 4}));
  EXPECT_EQ(first.begins, (numbers{0, 4, 8}));
  const phase_result second = run_phase(first.tuples, first.begins, form, 1);
  EXPECT_EQ(second.partition_ids, (std::vector<std::uint8_t>{0, 0, 1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(second.locations, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 6, 7, 5}));
  EXPECT_EQ(keys_of(second.tuples), (numbers{1, 0, 3, 2, 5, 4, 7, 6}));
  EXPECT_EQ(second.begins, (numbers{0, 2, 4, 6, 8}));
  EXPECT_EQ(keys_of(sorted_by_phases(tuples, form)), (numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(RadixSort, SortsKeysOfAnyDistribution) {
  for (const std::uint64_t count : {1, 2, 3, 255, 256, 511, 3000}) {
    for (const numbers& tuples : lists_of_tuples(count)) {
      for (const std::uint32_t bits : {1U, 3U, 5U, 7U}) {
        for (const std::uint32_t portion : {1U, 7U, 255U}) {
          const radix_parameters form{.bits = bits, .phases = bits > 3 ? 2U : 3U, .portion = portion};
          ASSERT_EQ(sorted_by_phases(tuples, form), in_order(tuples))
              << count << " tuples, " << bits << " bits, " << portion;
        }
      }
    }
  }
}

TEST(RadixSort, CountsAWholePortionInAByte) {
  const numbers tuples(2 * most_portion_tuples, std::uint64_t{3} << 62);
  const phase_result result = run_phase(tuples, {0, tuples.size()}, {.bits = 2}, 0);
  EXPECT_EQ(result.table, (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 255, 255}));
  for (std::uint32_t i = 0; i < result.locations.size(); ++i) ASSERT_EQ(result.locations[i], i);
  EXPECT_EQ(result.begins, (numbers{0, 0, 0, 0, 510}));
}

TEST(RadixSort, NetworkSortsEveryLength) {
  std::mt19937_64 random(11);
  for (std::uint64_t count = 1; count < 200; ++count) {
    numbers words(count);
    for (std::uint64_t& word : words) word = random() % 50;
    const numbers expected = in_order(words);
    sort_by_network(words.data(), count);
    ASSERT_EQ(words, expected) << count;
  }
}

TEST(RadixSort, SortsLongPartitionsTileByTile) {
  std::mt19937_64 random(13);
  constexpr std::uint64_t tile = 8;
  for (std::uint64_t longest = 1; longest < 150; ++longest) {
    numbers begins{0};
    for (const std::uint64_t size : {std::uint64_t{0}, longest, tile, std::uint64_t{0}, tile + 1, longest / 2, 2 * tile,
                                     std::uint64_t{3}, longest - 1, std::uint64_t{0}}) {
      begins.push_back(begins.back() + size);
    }
    numbers tuples(begins.back());
    for (std::uint64_t& tuple : tuples) tuple = random() % 500;
    numbers expected = tuples;
    for (std::size_t p = 0; p + 1 < begins.size(); ++p) {
      std::sort(&expected[0] + begins[p], &expected[0] + begins[p + 1]);
    }
    sort_in_tiles(tuples, begins, tile);
    ASSERT_EQ(tuples, expected) << longest;
  }
}

// Blocks take the tiles of a step at the same time, and read and write what another one may not touch.
TEST(RadixSort, TilesOfAStepHaveEachWordOnce) {
  constexpr std::uint64_t tile_tuples = 8;
  for (const std::uint64_t size : {9, 16, 17, 40, 64, 100, 129}) {
    const std::vector<tile_place> tiles = tiles_of({0, size}, tile_tuples);
    for (std::uint64_t run = 2 * tile_tuples; run / 2 < size; run *= 2) {
      for (std::uint64_t step = run / 2; step >= tile_tuples; step /= 2) {
        std::vector<int> met(size, 0);
        for (const tile_place& tile : tiles) {
          if (!tile.has_low_words(step)) continue;
          for (std::uint64_t i = 0; i < tile.size; ++i) {
            const comparator pair = comparator_of(tile.first + i, run, step);
            if (pair.high >= size) continue;
            ++met[pair.low];
            ++met[pair.high];
          }
        }
        EXPECT_EQ(std::ranges::count(met, 0), std::ranges::count_if(met, [](int times) { return times != 1; }))
            << size << ": " << run << ", " << step;
        EXPECT_GT(std::ranges::count(met, 1), 0) << size << ": " << run << ", " << step;
      }
    }
  }
}

// Of uniform keys the counts of partitions differ by their deviation, so an average of what shared memory holds would
// leave half of them longer.
TEST(RadixSort, HasPhasesUntilUniformKeysFitSharedMemory) {
  EXPECT_EQ(phases_of(0, 5), 0U);
  EXPECT_EQ(phases_of(most_shared_tuples, 5), 0U);
  EXPECT_EQ(phases_of(most_shared_tuples + 1, 5), 1U);
  EXPECT_EQ(phases_of(std::uint64_t{3840} * 32, 5), 1U);
  EXPECT_EQ(phases_of(std::uint64_t{3840} * 32 + 1, 5), 2U);
  EXPECT_EQ(phases_of(1U << 24, 5), 3U) << "as in the paper";
  EXPECT_EQ(phases_of(1U << 26, 7), 3U) << "two would leave 4096 tuples on average";
  EXPECT_EQ(phases_of(~std::uint64_t{0} >> 32, 7), 3U);
  EXPECT_EQ(phases_of(~std::uint64_t{0} >> 32, 1), 21U);
}

// What the kernels of each phase read and write of every array.
TEST(RadixSort, HasScratchForEachPhase) {
  for (const std::uint64_t count : {1ULL, 4096ULL, 4097ULL, 1000003ULL, (1ULL << 32) - 1}) {
    for (const std::uint32_t bits : {1U, 5U, 7U}) {
      const radix_parameters form{.bits = bits, .phases = phases_of(count, bits), .portion = 33};
      const primitives::sort_problem rows = tuple_problem(backend_kind::cuda, count);
      primitives::sort_problem packed = rows;
      packed.key.bits = 32;
      for (const primitives::sort_problem& problem : {rows, packed}) {
        const msd_layout layout(problem, form);
        const bool is_packed = !rows_are_tuples(problem);
        std::uint64_t entries = 0;
        for (std::uint32_t phase = 0; phase < form.phases; ++phase) {
          entries = std::max(entries, form.most_portions(count, phase) << bits);
        }
        const std::uint64_t partitions = form.partitions(form.phases) + 1;
        const std::uint64_t tiles = (std::max(entries, partitions) + scan_tile_entries - 1) / scan_tile_entries;
        // In the order in which they lie.
        const std::pair<std::uint64_t, std::uint64_t> begins_and_bytes[] = {
            {layout.order, is_packed ? count * 4 : 0},
            {layout.tuples[0], is_packed || form.phases > 1 ? count * 8 : 0},
            {layout.tuples[1], is_packed ? count * 8 : 0},
            {layout.partition_ids, form.phases > 0 ? count : 0},
            {layout.locations, form.phases > 0 ? count * 4 : 0},
            {layout.table, entries * 4},
            {layout.run_begins, entries * 8},
            {layout.tile_sums, tiles * 8},
            {layout.begins[0], partitions * 8},
            {layout.first_portions[0], partitions * 8},
            {layout.begins[1], partitions * 8},
            {layout.first_portions[1], partitions * 8},
            {layout.longest, 8},
        };
        std::uint64_t end = 0;
        std::uint64_t all = 0;
        for (const auto& [begin, bytes] : begins_and_bytes) {
          if (bytes == 0) continue;
          EXPECT_EQ(begin % 256, 0U);
          EXPECT_GE(begin, end) << count << " tuples, " << bits << " bits";
          end = begin + bytes;
          all += core::scratch_aligned(bytes);
        }
        EXPECT_GE(layout.bytes, end) << count << " tuples, " << bits << " bits";
        EXPECT_LE(layout.bytes, all + 512) << "no more than that";
      }
    }
  }
}

TEST(RadixSort, TakesFewerThan2To32Rows) {
  EXPECT_EQ(tuple_rejection(tuple_problem(backend_kind::cuda, (std::uint64_t{1} << 32) - 1)), nullptr);
  EXPECT_STREQ(tuple_rejection(tuple_problem(backend_kind::cuda, std::uint64_t{1} << 32)),
               "sorts fewer than 2^32 rows");
}

TEST(RadixSort, IsPricedForEveryCount) {
  for (const char* const name : {"cuda.msd_bitonic", "cpu.radix_clustering"}) {
    const primitives::sort_variant* const variant = sort_named(name);
    if (variant == nullptr) continue;
    const machine profile = nearest_machine(*variant->backend, "");
    double last = 0;
    for (const std::uint64_t count : {0ULL, 1ULL, 2ULL, 4096ULL, 4097ULL, 1ULL << 20, 1ULL << 26, (1ULL << 32) - 1}) {
      const plan::planned plan = variant->plan(tuple_problem(*variant->backend, count), plan::scope(profile));
      ASSERT_TRUE(plan.applicable()) << name << ", " << count;
      for (std::uint32_t t = 0; t < plan.term_count; ++t) {
        EXPECT_GE(plan.terms[t].seconds, 0) << name << ", " << count << ": " << plan.terms[t].what;
      }
      EXPECT_TRUE(std::isfinite(plan.seconds)) << name << ", " << count;
      EXPECT_GE(plan.seconds, last) << name << ", " << count;
      EXPECT_TRUE(plan.by_name_only);
      last = plan.seconds;
    }
  }
}

TEST(RadixSort, TakesTheBitsOfTheCheapestScatters) {
  // A G80: blocks of 256 bytes in a cache of 392 KB, 63.9 GB/s, 32 threads of a warp.
  const plan::he2007::parameters machine{.block_bytes = 256,
                                         .transfer_bytes = 48,
                                         .hit_seconds = 10 / 1.35e9 / 16,
                                         .cache_blocks = 1568,
                                         .sequential_bytes_per_second = 63.9e9,
                                         .warp_threads = 32};
  for (const std::uint64_t count : {1U << 14, 1U << 20, 1U << 24, 1U << 26}) {
    const radix_parameters chosen = choose_parameters(count, machine);
    EXPECT_EQ(chosen.phases, phases_of(count, chosen.bits));
    for (std::uint32_t bits = 1; bits <= most_phase_bits; ++bits) {
      for (const std::uint32_t passes : {1U, 2U, 4U, 16U, 64U}) {
        const radix_parameters other{.bits = bits, .phases = phases_of(count, bits), .passes = passes};
        // The model's number of passes is the least or nearly so: see plan::he2007::cheapest_passes.
        EXPECT_LE(scatters_seconds(count, chosen, machine), 1.02 * scatters_seconds(count, other, machine))
            << count << " tuples, " << bits << " bits, " << passes << " passes";
      }
    }
  }
  EXPECT_EQ(choose_parameters(100, machine).phases, 0U);
}

TEST(RadixSort, MovesTheBytesOfItsStepsAndMisses) {
  // Blocks of one tuple in a cache of none: every tuple that is scattered misses, and moves a block.
  const plan::he2007::parameters machine{
      .block_bytes = 8, .transfer_bytes = 8, .cache_blocks = 0, .sequential_bytes_per_second = 1};
  const double count = 1U << 16;
  // Partition ids 9 bytes a tuple, histograms and locations 2 + 4; of the table 4 written, 4 + 4 + 8 in prefix sums, 8
  // read; the scatter 8 + 4 in each pass and 8.
  const radix_parameters form{.bits = 4, .phases = 2, .passes = 1, .portion = 128};
  const double entries = count / 128 * 16;
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 16, form, machine), 2 * (15 * count + 28 * entries + 20 * count) + 16 * count);
  const radix_parameters in_passes{.bits = 4, .phases = 2, .passes = 3, .portion = 128};
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 16, in_passes, machine) - moved_bytes(1U << 16, form, machine),
                   2 * 2 * 12 * count);
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 10, {.phases = 0}, machine), 16 * 1024);
}

TEST(RadixSort, ClusteringMovesTuplesInEveryPassPastTheCache) {
  constexpr std::uint64_t count = 1U << 20;
  // 8 MB: clusters of 128 KB in all parts together after one pass, of 2 KB after two. Two parts are merged once.
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 2, 128 << 10), 8.0 * count * (2 + 3 + 2 + 2));
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 2, 100 << 10), 8.0 * count * (2 + 3 + 3 + 2 + 2));
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 1, 64 << 20), 8.0 * count * (2 + 2));
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 5, 64 << 20), 8.0 * count * (2 + 2 + 3 * 2));
}

// Numbers of parts for which no, one, two and three rounds of merges are left, so that they end in either array.
TEST(RadixSort, ClustersAndMergesThePartsOfEveryNumberOfThreads) {
  for (const int threads : {1, 2, 3, 4, 5, 8}) {
    const context ctx = context::cpu(threads);
    for (const std::uint64_t count : {1, 16, 17, 5000, 40003}) {
      for (const numbers& tuples : lists_of_tuples(count)) {
        for (const std::uint64_t kept_bits : {~std::uint64_t{0}, ~std::uint64_t{0} << 32}) {  // without identifiers
          numbers given = tuples;
          for (std::uint64_t& tuple : given) tuple &= kept_bits;
          numbers sorted(count, 1);
          sort_keys(ctx, given, sorted, {.variant = "cpu.radix_clustering"});
          ASSERT_EQ(sorted, in_order(given)) << count << " tuples, " << threads << " threads";
        }
      }
    }
  }
  EXPECT_EQ(clustering_parts(40003, 8), 8U) << "as many as threads";
  EXPECT_EQ(clustering_parts(5000, 8), 1U);
}

// A plan chooses one form by the machine's profile; these are others, and what each makes of its scratch.
TEST(RadixSort, SortsByEveryFormOnCuda) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const primitives::sort_variant& variant = *sort_named("cuda.msd_bitonic");
  const radix_parameters forms[] = {
      {.bits = 1, .phases = 0, .passes = 1, .portion = 255}, {.bits = 1, .phases = 1, .passes = 1, .portion = 1},
      {.bits = 1, .phases = 12, .passes = 3, .portion = 32}, {.bits = 2, .phases = 2, .passes = 64, .portion = 7},
      {.bits = 3, .phases = 3, .passes = 2, .portion = 100}, {.bits = 5, .phases = 3, .passes = 4, .portion = 255},
      {.bits = 6, .phases = 2, .passes = 1, .portion = 254}, {.bits = 7, .phases = 3, .passes = 16, .portion = 33},
  };
  constexpr std::uint64_t guard_bytes = 256;
  const std::vector<std::byte> guard(guard_bytes, std::byte{0xa5});
  for (const std::uint64_t count : {1, 255, 256, 4096, 4097, 8193, 70001, 600011}) {
    const primitives::sort_problem problem = tuple_problem(backend_kind::cuda, count);
    const buffer in(*ctx, count * tuple_bytes), out(*ctx, count * tuple_bytes);
    for (const numbers& tuples : lists_of_tuples(count)) {
      const numbers expected = in_order(tuples);
      copy_bytes(*ctx, in.data(), tuples.data(), count * tuple_bytes);
      for (const radix_parameters& form : forms) {
        SCOPED_TRACE(fmt::format("{} tuples, {} bits, {} phases, {} passes, portions of {}", count, form.bits,
                                 form.phases, form.passes, form.portion));
        const msd_layout layout(problem, form);
        plan::planned plan;
        plan.decided.set(layout);
        const buffer scratch(*ctx, layout.bytes + guard_bytes);
        ctx->state().fill(scratch.data(), 0xa5, layout.bytes + guard_bytes);
        ctx->state().fill(out.data(), 0xa5, count * tuple_bytes);
        variant.run(
            *ctx, problem, plan,
            {.in = const_records(in.data(), count, tuple_bytes), .out = records(out.data(), count, tuple_bytes)},
            scratch.data());
        ctx->wait();
        numbers sorted(count);
        copy_bytes(*ctx, sorted.data(), out.data(), count * tuple_bytes);
        ASSERT_TRUE(sorted == expected);
        std::vector<std::byte> behind(guard_bytes);
        copy_bytes(*ctx, behind.data(), scratch.data() + layout.bytes, guard_bytes);
        ASSERT_EQ(behind, guard);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_radix_sort_test
