// Constants of the cost models are multiples of what a profile has. So on a machine with half of all rates and twice
// all latencies every prediction is twice as long.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "plan/variant.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/sparse/spmv.hpp"
#include "primitives/split/contract.hpp"
#include "primitives/views.hpp"

namespace sheaf::tests::plan_scaling_test {
namespace {

machine twice_as_slow(machine m) {
  for (double* const rate : {&m.copy_bytes_per_second, &m.cached_bytes_per_second}) *rate /= 2;
  for (double* const seconds :
       {&m.launch_seconds, &m.step_seconds, &m.barrier_seconds, &m.access_seconds, &m.digit_seconds}) {
    *seconds *= 2;
  }
  for (stream_rate& r : m.streams) r.bytes_per_second /= 2;
  for (latency_point& p : m.latencies) p.seconds *= 2;
  for (auto* const rates : {&m.random_read, &m.random_write, &m.atomic_add}) {
    for (access_rate& r : *rates) r.records_per_second /= 2;
  }
  return m;
}

class Scaling : public ::testing::Test {
 protected:
  template <class Problem, class Buffers>
  void expect_twice(std::span<const plan::variant<Problem, Buffers>> variants, Problem problem,
                    const std::string& what) {
    for (const machine& m : {nearest_machine(backend_kind::cpu, ""), nearest_machine(backend_kind::cuda, "")}) {
      backend_of(problem) = m.backend;
      const machine slow = twice_as_slow(m);
      for (const auto& v : variants) {
        if (!v.works_on(m.backend)) continue;
        const plan::planned usual = v.plan(problem, m);
        const plan::planned scaled = v.plan(problem, slow);
        ASSERT_EQ(usual.applicable(), scaled.applicable()) << v.name << ": " << what;
        if (!usual.applicable()) continue;
        ++plans_[std::string(v.name)];
        EXPECT_NEAR(scaled.seconds / usual.seconds, 2, 0.02) << v.name << ": " << what << terms_of(usual, scaled);
        EXPECT_EQ(usual.by_name_only, scaled.by_name_only) << v.name << ": " << what;
        EXPECT_EQ(usual.scratch_bytes, scaled.scratch_bytes) << v.name << ": " << what;
      }
    }
  }

  template <class Problem>
  static backend_kind& backend_of(Problem& problem) {
    return problem.backend;
  }
  static backend_kind& backend_of(primitives::hash_search_problem& problem) { return problem.index.backend; }

  static std::string terms_of(const plan::planned& usual, const plan::planned& scaled) {
    std::string text;
    for (std::uint32_t t = 0; t < usual.term_count; ++t) {
      text += fmt::format("\n  {}: {:.3g} s, {:.3g} s", usual.terms[t].what, usual.terms[t].seconds,
                          t < scaled.term_count ? scaled.terms[t].seconds : 0);
    }
    return text;
  }

  std::map<std::string, std::size_t> plans_;  // planned problems by variant
};

const access_pattern patterns[] = {access_pattern::unknown(),       access_pattern::sequential(),
                                   access_pattern::random(),        access_pattern::partitioned(256),
                                   access_pattern::clustered(4096), access_pattern::strided(16),
                                   access_pattern::skewed()};
const std::uint64_t counts[] = {1, 1000, 1 << 16, 1 << 20, 1 << 24, 1 << 28};

primitives::movement movement_of(std::uint64_t count, std::uint64_t indexed_count, std::uint64_t width,
                                 access_pattern pattern) {
  primitives::movement m;
  m.count = count;
  m.indexed_count = indexed_count;
  m.record_bytes = m.sequential_stride_bytes = m.indexed_stride_bytes = width;
  m.word_bytes = primitives::widest_word(width);
  m.pattern = pattern;
  return m;
}

TEST_F(Scaling, OfMovements) {
  for (const access_pattern& pattern : patterns) {
    for (const std::uint64_t count : counts) {
      for (const std::uint64_t width : {1, 4, 8, 16, 100, 1024}) {
        const primitives::movement m = movement_of(count, count, width, pattern);
        const std::string what =
            fmt::format("{} records of {} bytes, pattern {}", count, width, static_cast<int>(pattern.shape));
        expect_twice(primitives::gather_variants(), primitives::gather_problem{m}, "gather " + what);
        for (const duplicates order : {duplicates::any, duplicates::last}) {
          expect_twice(primitives::scatter_variants(), primitives::scatter_problem{m, order}, "scatter " + what);
        }
        for (const auto way : {primitives::prepared_direction::gather, primitives::prepared_direction::scatter}) {
          expect_twice(primitives::prepare_variants(), primitives::prepare_problem{m, way, duplicates::any, 10},
                       "prepare " + what);
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(plans_.size(), SHEAF_HAS_CUDA ? 12U : 6U);
}

TEST_F(Scaling, OfReductions) {
  for (const std::uint64_t count : counts) {
    for (const std::uint64_t slots : counts) {
      for (const value_type type : {value_type::u32, value_type::f64}) {
        for (const reduction_order order : {reduction_order::deterministic, reduction_order::unordered}) {
          primitives::scatter_reduce_problem p{movement_of(count, slots, bytes(type), access_pattern::unknown())};
          p.type = type;
          p.order = order;
          expect_twice(primitives::scatter_reduce_variants(), p, fmt::format("{} values to {} slots", count, slots));
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(plans_.size(), SHEAF_HAS_CUDA ? 5U : 4U);
}

TEST_F(Scaling, OfProductsAddedByAtomics) {
  for (const primitives::spmv_variant& v : primitives::spmv_variants()) {
    if (v.name != "cuda.atomic" && v.name != "cuda.fixed_point") continue;
    for (const access_pattern& pattern : patterns) {
      for (const std::uint64_t rows : counts) {
        for (const std::uint64_t columns : counts) {
          for (const std::uint64_t entries : {std::uint64_t{0}, rows, 16 * rows}) {
            primitives::spmv_problem p;
            p.rows = rows;
            p.columns = columns;
            p.entries = entries;
            p.transposed = true;
            p.order = reduction_order::unordered;
            p.pattern = pattern;
            expect_twice(std::span(&v, 1), p, fmt::format("{} entries in {} rows, {} columns", entries, rows, columns));
          }
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(plans_.size(), SHEAF_HAS_CUDA ? 2U : 0U);
}

TEST_F(Scaling, OfSplits) {
  for (const std::uint64_t count : counts) {
    for (const std::uint32_t bits : {1U, 8U, 11U, 16U, 24U}) {
      for (const std::uint64_t width : {4, 8, 16, 100}) {
        for (const bool own_key : {true, false}) {
          for (const auto product : {primitives::split_product::records, primitives::split_product::gather_index,
                                     primitives::split_product::scatter_index}) {
            primitives::split_problem p;
            p.product = product;
            p.count = count;
            p.categories = std::uint64_t{1} << bits;
            p.bits = {0, bits};
            p.record_bytes = p.in_stride_bytes = p.out_stride_bytes =
                product == primitives::split_product::records ? width : 4;
            p.word_bytes = primitives::widest_word(p.record_bytes);
            const bool is_own = own_key && product == primitives::split_product::records;
            p.key_from = is_own ? split_key::kind::record_bits : split_key::kind::key_bits;
            p.key_bytes = p.key_stride_bytes = is_own ? p.record_bytes : 4;
            p.key_word_bytes = primitives::widest_word(p.key_bytes);
            for (const bool stable : {true, false}) {
              if (!stable && product != primitives::split_product::records) continue;
              p.stable = stable;
              expect_twice(primitives::split_variants(), p,
                           fmt::format("split of {} records of {} bytes by {} bits", count, p.record_bytes, bits));
            }
          }
        }
        if (HasFailure()) return;
      }
    }
    expect_twice(primitives::row_of_entry_variants(),
                 primitives::row_of_entry_problem{backend_kind::cpu, count, 2 * count, index_type::u32},
                 fmt::format("{} rows", count));
  }
  EXPECT_GE(plans_.size(), SHEAF_HAS_CUDA ? 8U : 3U);
}

TEST_F(Scaling, OfSplitsByMoreThan32Bits) {
  for (const std::uint64_t count : counts) {
    for (const std::uint32_t bits : {33U, 64U, 96U}) {
      for (const auto product : {primitives::split_product::records, primitives::split_product::gather_index,
                                 primitives::split_product::scatter_index}) {
        for (const bool own_key : {true, false}) {
          primitives::split_problem p;
          p.product = product;
          p.count = count;
          p.bits = {0, bits};
          p.record_bytes = p.in_stride_bytes = p.out_stride_bytes =
              product == primitives::split_product::records ? 16 : 4;
          p.word_bytes = static_cast<std::uint32_t>(p.record_bytes);
          const bool is_own = own_key && product == primitives::split_product::records;
          p.key_from = is_own ? split_key::kind::record_bits : split_key::kind::key_bits;
          p.key_bytes = p.key_stride_bytes = is_own ? 16 : 12;
          p.key_word_bytes = primitives::widest_word(p.key_bytes);
          expect_twice(primitives::split_variants(), p, fmt::format("split of {} by {} bits", count, bits));
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(plans_.size(), SHEAF_HAS_CUDA ? 3U : 2U);
}

TEST_F(Scaling, OfSorts) {
  for (const std::uint64_t count : counts) {
    for (const std::uint32_t key_bytes : {1U, 2U, 4U, 8U, 12U, 16U, 32U}) {
      for (const std::uint64_t value_bytes : {0, 4, 16, 100}) {
        for (const auto product : {primitives::sort_product::records, primitives::sort_product::gather_index}) {
          primitives::sort_problem p;
          p.product = product;
          p.count = count;
          p.key.fields[p.key.field_count++] = key_field{0, key_bytes};
          p.key.bits = 8 * key_bytes;
          const auto array = [](std::uint64_t width) {
            return primitives::sorted_array{width, width, width, primitives::widest_word(width)};
          };
          p.rows = array(key_bytes);
          if (product == primitives::sort_product::gather_index) {
            p.writes_rows = false;
            p.rows.out_stride_bytes = 0;
          } else if (value_bytes > 0) {
            p.columns[p.column_count++] = array(value_bytes);
          }
          expect_twice(primitives::sort_variants(), p,
                       fmt::format("sort of {} keys of {} bytes, values of {}", count, key_bytes, value_bytes));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(plans_.size(), SHEAF_HAS_CUDA ? 8U : 4U);
}

TEST_F(Scaling, OfLists) {
  for (const std::uint64_t count : counts) {
    for (const std::uint64_t value_bytes : {0, 4, 8, 24, 64}) {
      for (const list_count lists : {list_count::one, list_count::many}) {
        for (const access_pattern& pattern : patterns) {
          primitives::list_problem p;
          p.count = count;
          p.value_bytes = value_bytes;
          p.out_bytes = value_bytes == 0 ? 4 : value_bytes;
          p.has_own_operator = value_bytes > 8;
          p.lists = lists;
          p.pattern = pattern;
          expect_twice(primitives::list_variants(), p,
                       fmt::format("list of {} nodes with values of {} bytes", count, value_bytes));
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(plans_.size(), 2U);
}

TEST_F(Scaling, OfHashSearches) {
  for (const std::uint64_t count : counts) {
    for (const std::uint64_t key_bytes : {4, 8}) {
      primitives::hash_build_problem build;
      build.count = count;
      build.key_bytes = build.key_stride_bytes = key_bytes;
      expect_twice(primitives::hash_build_variants(), build, fmt::format("index of {} keys", count));
      for (const std::uint64_t repeats : {1, 1000}) {
        for (const std::uint64_t probes : counts) {
          for (const auto output : {primitives::hash_output::matches, primitives::hash_output::counts,
                                    primitives::hash_output::contains, primitives::hash_output::first}) {
            primitives::hash_search_problem p;
            p.output = output;
            p.probes = probes;
            p.probe_stride_bytes = key_bytes;
            p.out_bytes = output == primitives::hash_output::matches ? 8 : 4;
            p.index.key_bytes = key_bytes;
            p.index.records = count;
            p.index.distinct = std::max<std::uint64_t>(1, count / repeats);
            p.index.longest_chain = repeats;
            expect_twice(primitives::hash_search_variants(), p, fmt::format("{} probes of {} keys", probes, count));
          }
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(plans_.size(), 3U);
}

}  // namespace
}  // namespace sheaf::tests::plan_scaling_test
