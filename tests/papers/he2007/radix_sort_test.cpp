#include "papers/he2007/radix_sort.hpp"

#include <bit>
#include <functional>
#include <random>

#include <gtest/gtest.h>

// The steps of the GPU's radix sort of 2007, run on the host one thread after the other.
namespace sheaf::tests::papers_he2007_radix_sort_test {
namespace {

using namespace papers::he2007;

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

/// The bitonic network over tuples [begin, end).
void sort_by_network(numbers& tuples, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t size = end - begin;
  for (std::uint64_t run = 2; run / 2 < size; run *= 2) {
    for (std::uint64_t step = run / 2; step > 0; step /= 2) {
      const std::uint64_t comparators = (size + 2 * step - 1) / (2 * step) * step;
      for (std::uint64_t i = 0; i < comparators; ++i) {
        const comparator pair = comparator_of(low_of(i, step), run, step);
        if (pair.high >= size) continue;
        std::uint64_t& low = tuples[begin + pair.low];
        std::uint64_t& high = tuples[begin + pair.high];
        if (high < low) std::swap(low, high);
      }
    }
  }
}

numbers sorted_by_phases(numbers tuples, const radix_parameters& form) {
  numbers begins{0, tuples.size()};
  for (std::uint32_t phase = 0; phase < form.phases; ++phase) {
    phase_result result = run_phase(tuples, begins, form, phase);
    tuples = std::move(result.tuples);
    begins = std::move(result.begins);
  }
  for (std::size_t p = 0; p + 1 < begins.size(); ++p) sort_by_network(tuples, begins[p], begins[p + 1]);
  return tuples;
}

// Eight tuples, as in Figure 14, of keys of three bits: two phases of one bit, portions of four tuples.
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
  std::mt19937_64 random(7);
  const std::function<std::uint64_t(std::uint64_t)> keys[] = {
      [&](std::uint64_t) { return random() & 0xffffffff; },                                        // uniform
      [](std::uint64_t) { return std::uint64_t{0x12345678}; },                                     // equal
      [&](std::uint64_t) { return std::uint64_t{0xffffffff} >> std::countl_zero(random() | 1); },  // skewed
      [](std::uint64_t i) { return 0xffffffff - i; },                                              // in reverse
  };
  for (const auto& key : keys) {
    for (const std::uint64_t count : {1, 2, 3, 255, 256, 511, 3000}) {
      numbers tuples;
      for (std::uint64_t i = 0; i < count; ++i) {
        tuples.push_back(pack_tuple(static_cast<std::uint32_t>(key(i)), 32, count - i));  // numbers against the order
      }
      numbers expected = tuples;
      std::sort(expected.begin(), expected.end());
      for (const std::uint32_t bits : {1U, 3U, 5U, 7U}) {
        for (const std::uint32_t portion : {1U, 7U, 255U}) {
          const radix_parameters form{.bits = bits, .phases = bits > 3 ? 2U : 3U, .portion = portion};
          ASSERT_EQ(sorted_by_phases(tuples, form), expected) << count << " tuples, " << bits << " bits, " << portion;
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
    numbers expected = words;
    std::sort(expected.begin(), expected.end());
    sort_by_network(words, 0, count);
    ASSERT_EQ(words, expected) << count;
  }
}

TEST(RadixSort, HasPhasesUntilUniformKeysFitSharedMemory) {
  EXPECT_EQ(phases_of(0, 5), 0U);
  EXPECT_EQ(phases_of(most_shared_tuples, 5), 0U);
  EXPECT_EQ(phases_of(most_shared_tuples + 1, 5), 1U);
  EXPECT_EQ(phases_of(std::uint64_t{most_shared_tuples} * 32, 5), 1U);
  EXPECT_EQ(phases_of(std::uint64_t{most_shared_tuples} * 32 + 1, 5), 2U);
  EXPECT_EQ(phases_of(1U << 24, 5), 3U) << "as in the paper";
  EXPECT_EQ(phases_of(~std::uint64_t{0} >> 32, 7), 3U);
  EXPECT_EQ(phases_of(~std::uint64_t{0} >> 32, 1), 20U);
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
  // Partition ids 9 bytes a tuple, histograms and locations 2 + 4; of the table 4 written, 4 + 8 in prefix sums, 8
  // read; the scatter 8 + 4 in each pass and 8.
  const radix_parameters form{.bits = 4, .phases = 2, .passes = 1, .portion = 128};
  const double entries = count / 128 * 16;
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 16, form, machine), 2 * (15 * count + 24 * entries + 20 * count) + 16 * count);
  const radix_parameters in_passes{.bits = 4, .phases = 2, .passes = 3, .portion = 128};
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 16, in_passes, machine) - moved_bytes(1U << 16, form, machine),
                   2 * 2 * 12 * count);
  EXPECT_DOUBLE_EQ(moved_bytes(1U << 10, {.phases = 0}, machine), 16 * 1024);
}

TEST(RadixSort, ClusteringMovesTuplesInEveryPassPastTheCache) {
  constexpr std::uint64_t count = 1U << 20;
  // Parts of 2^19 tuples, 4 MB: clusters of 64 KB after one pass, of 1 KB after two. Two parts are merged once.
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 2, 128 << 10), 16.0 * count * (2 + 1));
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 2, 32 << 10), 16.0 * count * (3 + 1));
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 1, 64 << 20), 16.0 * count);
  EXPECT_DOUBLE_EQ(moved_bytes_of_clustering(count, 5, 64 << 20), 16.0 * count * (1 + 3));
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_radix_sort_test
