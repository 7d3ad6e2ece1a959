// Every variant of CUDA on a few small problems, one test for each primitive: what script/sanitize-cuda runs under
// compute-sanitizer, which slows kernels down a thousand times. Kernels that only longer lists want, and every other
// promise, are left to the tests of the primitives.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/prepared.hpp>

#include "lab/description/arrays.hpp"
#include "papers/wei2010/list_sums.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "primitives/edges/prepare.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/reduce/prepare.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "support/prepared_runs.hpp"
#include "support/split_runs.hpp"
#include "support/trials/edge.hpp"
#include "support/trials/hash.hpp"
#include "support/trials/list.hpp"
#include "support/trials/multipass.hpp"
#include "support/trials/parts.hpp"
#include "support/trials/ranks.hpp"
#include "support/trials/rows.hpp"
#include "support/trials/sort.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::cuda_small_cases_test {
namespace {

class CudaSmallCases : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  /// Calls run(variant) for those of a list that work on CUDA; each must take at least one of the test's problems,
  /// which run returns true for.
  template <class Variant, class Run>
  void each_must_run(std::span<const Variant> variants, Run run) const {
    for (const std::string& name : names_on(variants, backend_kind::cuda)) {
      SCOPED_TRACE(name);
      EXPECT_TRUE(run(std::string_view(name))) << "took none of the problems";
    }
  }

  std::optional<context> ctx;
};

std::vector<movement_case> movements() {
  return {
      {.pattern = inputs::parse_pattern("uniform"), .count = 5000, .indexed_count = 3001, .record_bytes = 4},
      {.pattern = inputs::parse_pattern("permutation"),
       .index = index_type::i64,
       .count = 3000,
       .indexed_count = 3000,
       .record_bytes = 8},
      {.pattern = inputs::parse_pattern("uniform"), .count = 2100, .indexed_count = 999, .record_bytes = 40},
      {.pattern = inputs::parse_pattern("permutation"),
       .count = 1500,
       .indexed_count = 1500,
       .record_bytes = 3,
       .sequential_padding = 2,
       .indexed_misalignment = 1},
      {.pattern = inputs::parse_pattern("permutation"),
       .index = index_type::i32,
       .count = 300,
       .indexed_count = 301,
       .record_bytes = 100,
       .indexed_padding = 12},
      {.pattern = inputs::parse_pattern("permutation"),
       .index = index_type::u64,
       .count = 100,
       .indexed_count = 100,
       .record_bytes = 300},
      {.pattern = inputs::parse_pattern("permutation"), .count = 9, .indexed_count = 10, .record_bytes = 8200},
  };
}

TEST_F(CudaSmallCases, Gather) {
  each_must_run(primitives::gather_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const movement_case& c : movements()) {
      const multipass_trial t(true, c);
      const placed table(*ctx, t.indexed);
      const placed index(*ctx, t.index);
      const placed out(*ctx, t.sequential);
      const gather_options o{.variant = variant};
      if (explain_gather(*ctx, table.view(), index.index(c.index), out.view(), o).choice() == nullptr) continue;
      gather(*ctx, table.view(), index.index(c.index), out.view(), o);
      ctx->wait();
      expect_bytes(out.download(), t.expected(context::cpu(1)), c.description());
      has_run = true;
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, Scatter) {
  each_must_run(primitives::scatter_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const movement_case& c : movements()) {
      for (const duplicates which : {duplicates::any, duplicates::last}) {
        // `any` is compared where each record is written once.
        if (which == duplicates::any && !is_distinct(c.pattern)) continue;
        const multipass_trial t(false, c);
        const placed in(*ctx, t.sequential);
        const placed index(*ctx, t.index);
        const placed out(*ctx, t.indexed);
        const scatter_options o{.duplicates = which, .variant = variant};
        if (explain_scatter(*ctx, in.view(), index.index(c.index), out.view(), o).choice() == nullptr) continue;
        scatter(*ctx, in.view(), index.index(c.index), out.view(), o);
        ctx->wait();
        expect_bytes(out.download(), t.expected(context::cpu(1)), c.description());
        has_run = true;
      }
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, PreparedMovements) {
  each_must_run(primitives::prepare_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const movement_case& c : movements()) {
      if (c.indexed_misalignment != 0) continue;
      const multipass_trial t(true, c);
      const placed table(*ctx, t.indexed);
      const placed index(*ctx, t.index);
      const placed out(*ctx, t.sequential);
      try {
        const prepared_gather prepared =
            prepare_gather(*ctx, index.index(c.index), c.indexed_count, c.record_bytes, 100, {.variant = variant});
        prepared.run(table.view(), out.view());
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::no_variant) << e.what();
        continue;
      }
      ctx->wait();
      expect_bytes(out.download(), t.expected(context::cpu(1)), c.description());
      has_run = true;
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, ScatterReduce) {
  each_must_run(primitives::scatter_reduce_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const reduce_case& c :
         {reduce_case{.count = 4000, .slots = 700}, reduce_case{.count = 3000, .slots = 40'000},
          reduce_case{
              .pattern = "zipf", .count = 6000, .slots = 100, .type = value_type::f64, .index = index_type::i64},
          reduce_case{.pattern = "sorted", .count = 3000, .slots = 50, .type = value_type::u32},
          reduce_case{.count = 3000, .slots = 1500, .type = value_type::i64, .op = reduction::max},
          reduce_case{.pattern = "identity", .count = 300'000, .slots = 1000},
          reduce_case{.pattern = "zipf", .count = 300'000, .slots = 50'000, .type = value_type::u32}}) {
      for (const reduction_order order : {reduction_order::deterministic, reduction_order::unordered}) {
        const reduce_trial t(c);
        std::vector<std::byte> got;
        if (!run_variant(*ctx, t, {.order = order, .variant = variant}, got)) continue;
        ctx->wait();
        SCOPED_TRACE(c.description());
        expect_slots(got, t);
        has_run = true;
      }
    }
    return has_run;
  });
}

std::vector<rows_case> small_rows() {
  return {{"uniform", 900, 150, 3},
          {"zipf", 5000, 300, 20, value_type::f16, value_type::f16, reduction::mean, reduction_start::identity,
           index_type::i64, 1, true, value_type::u64},
          {"same", 9000, 3, 7, value_type::i8, value_type::i32, reduction::add},
          {"uniform", 4500, 70'000, 4, value_type::f32, value_type::f32, reduction::add, reduction_start::identity},
          {"uniform", 300, 40, 130, value_type::f64, value_type::f64, reduction::max, reduction_start::out,
           index_type::u32, 0, true},
          {"zipf", 3000, 500, 1, value_type::u32, value_type::u32, reduction::add},
          {"zipf", 3000, 500, 2, value_type::u16, value_type::u16, reduction::count}};
}

TEST_F(CudaSmallCases, ScatterReduceRows) {
  each_must_run(primitives::scatter_reduce_rows_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const rows_case& c : small_rows()) {
      const rows_trial t(c);
      for (const reduction_order order : {reduction_order::deterministic, reduction_order::unordered}) {
        SCOPED_TRACE(c.description());
        rows_result got;
        const bool ran = with_rows(*ctx, t, got, [&](auto in, auto index, auto out, auto counts) {
          scatter_reduce(*ctx, in, index, out, c.op,
                         {.order = order, .start = c.start, .counts = counts, .variant = variant});
        });
        if (!ran) continue;
        ctx->wait();
        expect_rows(got, t);
        has_run = true;
      }
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, PreparedReductionsOfRows) {
  each_must_run(primitives::prepare_scatter_reduce_variants(), [&](std::string_view variant) {
    for (const rows_case& c : small_rows()) {
      const rows_trial t(c);
      SCOPED_TRACE(c.description());
      rows_result got;
      with_rows(*ctx, t, got, [&](auto in, auto index, auto out, auto counts) {
        const auto prepared = prepare_scatter_reduce(*ctx, index, c.slots, 10, {.variant = variant});
        prepared.run(in, out, c.op, {.start = c.start, .counts = counts});
      });
      ctx->wait();
      expect_rows(got, t);
    }
    return true;
  });
}

TEST_F(CudaSmallCases, Split) {
  std::vector<split_trial> trials;
  const auto add = [&](std::uint64_t count, std::uint64_t record_bytes, bit_field bits, bool is_keyed) {
    split_case c;
    c.categories_are = is_keyed ? spread::uniform : spread::zipf;
    c.count = count;
    c.record_bytes = record_bytes;
    c.bits = bits;
    if (is_keyed) c.from = split_key::kind::key_bits;
    trials.emplace_back(c);
  };
  add(5000, 4, {3, 5}, false);
  add(3000, 8, {9, 11}, true);
  add(3000, 8, {8, 6}, false);
  add(3000, 24, {8, 8}, false);
  add(9000, 12, {29, 6}, false);  // two segments of the splits of 2009
  const auto add_wide = [&](std::uint64_t record_bytes, std::uint64_t key_bytes, bit_field bits) {
    split_case c;
    c.count = 3000;
    c.record_bytes = record_bytes;
    c.bits = bits;
    c.wants_offsets = false;
    if (key_bytes != 0) {
      c.from = split_key::kind::key_bits;
      c.key_bytes = key_bytes;
      c.index = key_bytes == 16 ? index_type::i64 : index_type::u32;
    }
    trials.emplace_back(c);
  };
  add_wide(8, 0, {0, 64});
  add_wide(24, 0, {13, 40, bit_order::from_left});
  add_wide(4, 12, {0, 96});
  add_wide(12, 16, {5, 65, bit_order::from_left});
  split_case many;
  many.count = 4000;
  many.from = split_key::kind::category;
  many.categories = 30'000;
  many.index = index_type::u64;
  trials.emplace_back(many);
  each_must_run(primitives::split_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const split_trial& t : trials) {
      for (const product what : products) {
        if (what != product::stable && what != product::unstable && !t.c.has_separate_key()) continue;
        split_result got;
        if (!run_variant(*ctx, t, what, variant, got)) continue;
        ctx->wait();
        SCOPED_TRACE(t.c.description());
        expect_result(std::move(got), t, what);
        has_run = true;
      }
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, Sort) {
  using enum key_type;
  sort_case_maker cases;
  for (const key_spread keys : {key_spread::uniform, key_spread::heavy}) {
    for (const std::uint64_t count : {900, 9000}) {
      cases.add_side_by_side(sort_call::records, count, field(0, 4, floating), keys, 0);
      cases.add_side_by_side(sort_call::records, count, field(0, 8, signed_integer, true), keys, 0);
      cases.add_side_by_side(sort_call::pairs, count, field(0, 4, unsigned_integer), keys, 4);
      cases.add_side_by_side(sort_call::pairs, count, field(0, 8, floating), keys, 8);
      cases.add_side_by_side(sort_call::gather_index, count, field(0, 4, unsigned_integer), keys, 0);
    }
  }
  cases.add_side_by_side(sort_call::pairs, 9000, field(0, 4, unsigned_integer, false, 3, 10), key_spread::uniform, 4);
  cases.add_side_by_side(sort_call::pairs, 4000, field(0, 8, unsigned_integer, false, 20, 12), key_spread::uniform, 8);
  cases.add_side_by_side(sort_call::pairs, 9000, field(0, 4, unsigned_integer), key_spread::uniform, 16);
  cases.add_side_by_side(sort_call::records, 5000, field(0, 1, unsigned_integer), key_spread::uniform, 0);
  cases.add_side_by_side(sort_call::records, 3000, field(0, 8, unsigned_integer), key_spread::uniform, 0);
  cases.add_side_by_side(sort_call::records, 3000, field(0, 12, bytes), key_spread::uniform, 0);
  // Partitions that shared memory does not hold, in the radix sort of 2007.
  cases.add_side_by_side(sort_call::records, 9000, field(0, 8, unsigned_integer), key_spread::equal, 0);
  cases.add_side_by_side(sort_call::gather_index, 9000, field(0, 2, unsigned_integer), key_spread::two, 0);
  std::vector<sort_trial> trials;
  for (const sort_case& c : cases.made) trials.emplace_back(c);
  each_must_run(primitives::sort_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const sort_trial& t : trials) {
      SCOPED_TRACE(t.c.description());
      has_run |= run_and_expect(*ctx, t, variant);
    }
    return has_run;
  });
}

// Lists with long tiles, finished by both kernels. Those of more than 2^20 words are sampled; of the others, the
// histogram says whether a pass by the highest digit leaves groups.
TEST_F(CudaSmallCases, LongerSorts) {
  using enum key_type;
  sort_case_maker cases;
  cases.add_side_by_side(sort_call::records, 600'000, field(0, 8, unsigned_integer), key_spread::uniform, 0);
  cases.add_side_by_side(sort_call::pairs, 600'000, field(0, 8, signed_integer), key_spread::nested, 4);
  cases.add_side_by_side(sort_call::pairs, 1'100'000, field(0, 4, floating), key_spread::few, 4);
  cases.add_side_by_side(sort_call::records, 1'100'000, field(0, 8, unsigned_integer), key_spread::uniform, 0);
  cases.add_side_by_side(sort_call::pairs, 1'100'000, field(0, 8, unsigned_integer), key_spread::heavy, 4);
  cases.add_side_by_side(sort_call::gather_index, 1'100'000, field(0, 8, floating), key_spread::nested, 0);
  cases.add_side_by_side(sort_call::gather_index, 600'000, field(0, 4, unsigned_integer, false, 3, 20),
                         key_spread::uniform, 0);
  cases.add_side_by_side(sort_call::records, 3'500'000, field(0, 4, unsigned_integer), key_spread::uniform, 0);
  for (const sort_case& c : cases.made) {
    SCOPED_TRACE(c.description());
    const sort_trial t(c);
    EXPECT_TRUE(run_and_expect(*ctx, t, "cuda.sample"));
    EXPECT_TRUE(run_and_expect(*ctx, t, "cuda.onesweep") || c.call == sort_call::gather_index);
  }
  // Several phases.
  EXPECT_TRUE(run_and_expect(*ctx, sort_trial(cases.made.front()), "cuda.msd_bitonic"));
}

TEST_F(CudaSmallCases, HashSearch) {
  each_must_run(primitives::hash_build_variants(), [&](std::string_view build) {
    bool has_run = false;
    for (const hash_case& c :
         {hash_case{.count = 3000, .probes = 700},
          hash_case{.count = 2000, .probes = 500, .key_bytes = 4, .load = 0.99},
          hash_case{.count = 900, .probes = 300, .kind = key_kind::few},
          hash_case{.count = 200, .probes = 100, .kind = key_kind::halves},
          hash_case{.count = 1500, .probes = 300, .kind = key_kind::last_bucket, .stride_bytes = 12}}) {
      SCOPED_TRACE(c.description());
      const hash_trial t(c);
      const hash_index index = index_of(*ctx, t, build);
      for (const std::string& search : names_on(primitives::hash_search_variants(), backend_kind::cuda)) {
        SCOPED_TRACE(search);
        has_run |= expect_answers(*ctx, index, t, search);
      }
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, Lists) {
  each_must_run(primitives::list_variants(), [&](std::string_view variant) {
    bool has_run = false;
    for (const list_case& c :
         {list_case{.count = 5000}, list_case{.count = 3000, .cut = list_cut::paths, .type = value_type::f64},
          list_case{.count = 4000, .order = node_order::strided, .is_packed = true, .is_exclusive = true},
          list_case{
              .count = 3000, .cut = list_cut::two_lists, .successor = index_type::i64, .op = scan_operator::max}}) {
      const list_trial t(c);
      const auto got = scan_by(variant, *ctx, t);
      if (!got) continue;
      ctx->wait();
      SCOPED_TRACE(c.description());
      expect_results(*got, t);
      has_run = true;
    }
    return has_run;
  });
}

TEST_F(CudaSmallCases, ListSumsOf2010) {
  const list_trial t({.count = 5000, .order = node_order::strided, .successor = index_type::i32, .is_packed = true});
  using papers::wei2010::sublist_scan;
  using papers::wei2010::sublist_supply;
  for (const papers::wei2010::list_sums_form& form :
       {papers::wei2010::list_sums_form{3, 64, 700},
        papers::wei2010::list_sums_form{1, 96, 50, sublist_supply::drawn, sublist_scan::by_one_thread}}) {
    const placed nodes(*ctx, t.nodes);
    const placed out(*ctx, t.before);
    const buffer scratch(*ctx, papers::wei2010::list_sums_scratch(*ctx, form, t.c.count));
    papers::wei2010::list_sums_buffers buffers;
    buffers.nodes = nodes.view().data;
    buffers.count = t.c.count;
    buffers.sums = reinterpret_cast<std::uint32_t*>(out.view().data);
    buffers.scratch = static_cast<std::byte*>(scratch.data());
    std::vector<std::uint64_t> loads;
    run_list_sums(*ctx, form, buffers, &loads);
    expect_results(out.download(), t);
  }
}

/// Rows of few entries, of many, of one that many blocks sum, and of columns that want several slices.
std::vector<sparse_rows> small_matrices() {
  return {banded(500, 3),
          r_mat(9, 8),
          at_random(700, 9000, 6),
          power_law(700, 9000),
          made_rows("one dense row", 300, 20'000,
                    [](std::uint64_t r) { return drawn_columns(r, r == 123 ? 20'000 : r % 3, 20'000); }),
          made_rows("rows of 4097", 5, 977, [](std::uint64_t r) { return drawn_columns(r, 4097, 977); })};
}
constexpr csr_layout small_layouts[] = {{}, {value_type::f32, index_type::i32, index_type::u64, false}};

TEST_F(CudaSmallCases, Spmv) {
  const std::vector<sparse_rows> matrices = small_matrices();
  each_must_run(primitives::spmv_variants(), [&](std::string_view variant) {
    for (const sparse_rows& m : matrices) {
      for (const csr_layout& layout : small_layouts) {
        SCOPED_TRACE(fmt::format("{}, {}", m.name, layout.description()));
        const csr_images images(m, layout);
        const placed_csr a(*ctx, images);
        const bool is_atomic = variant == "cuda.atomic";
        const spmv_options o{.beta = 0.5,
                             .transposed = is_for_transposed_on_cuda(variant),
                             .order = is_atomic ? reduction_order::unordered : reduction_order::deterministic,
                             .variant = variant};
        expect_near(product_of(*ctx, a.view(), o), expected_of(m, o, layout.value), layout.value);
      }
    }
    return true;
  });
}

// Columns so few that blocks have copies of y; and matrices just large enough that columns are sampled, of which half
// of the entries have one column, or all have any. A pattern that says which it is leaves out the sample.
TEST_F(CudaSmallCases, TransposedSpmvByAtomics) {
  constexpr std::uint64_t columns = 30'000;
  const auto sampled = [](const char* name, std::uint64_t of_one_column) {
    return made_rows(name, 4700, columns, [&](std::uint64_t r) {
      column_list c = drawn_columns(r, 14, columns);
      std::fill_n(c.begin(), of_one_column, 777);
      return c;
    });
  };
  const sparse_rows matrices[] = {
      made_rows("three columns", 400, 3, [](std::uint64_t r) { return drawn_columns(r, 6, 3); }),
      sampled("half in one column", 7), sampled("no hot columns", 0)};
  for (const sparse_rows& m : matrices) {
    for (const csr_layout& layout : small_layouts) {
      for (const access_pattern& pattern : {access_pattern::unknown(), access_pattern::skewed()}) {
        SCOPED_TRACE(fmt::format("{}, {}", m.name, layout.description()));
        const csr_images images(m, layout);
        const placed_csr a(*ctx, images);
        for (const char* const variant : {"cuda.atomic", "cuda.fixed_point"}) {
          const spmv_options o{.beta = 0.5,
                               .transposed = true,
                               .order = reduction_order::unordered,
                               .pattern = pattern,
                               .variant = variant};
          expect_near(product_of(*ctx, a.view(), o), expected_of(m, o, layout.value), layout.value);
        }
      }
    }
  }
}

TEST_F(CudaSmallCases, PrepareSpmv) {
  const std::vector<sparse_rows> matrices = small_matrices();
  each_must_run(primitives::prepare_spmv_variants(), [&](std::string_view variant) {
    if (variant == "cuda.transposed") return true;  // its runs are those of a matrix that Spmv has
    for (const sparse_rows& m : matrices) {
      for (const csr_layout& layout : small_layouts) {
        SCOPED_TRACE(fmt::format("{}, {}", m.name, layout.description()));
        const csr_images images(m, layout);
        const placed_csr a(*ctx, images);
        const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = variant});
        EXPECT_EQ(prepared.report().variant, variant);
        for (const double beta : {0.0, 0.5}) right_run(*ctx, prepared, m, layout.value, beta);
      }
    }
    return true;
  });
}

// So many rows that cuda.sliced_ell has near columns in 16 bits.
TEST_F(CudaSmallCases, PrepareSpmvOfManyRows) {
  const sparse_rows m = made_rows("many rows", (1 << 17) + 33, (1 << 17) + 33, [](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = 0; i < r % 3; ++i) c.push_back(r / 2 * 2 + i % 2);
    if (r % 100 == 7) c.push_back(r / 3);
    return c;
  });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced_ell"});
  EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
  right_run(*ctx, prepared, m, value_type::f64, 0.5);
}

// Gathered rows that are combined by segments, and products with dense matrices: long segments and rows, strides that
// allow no wide loads, and every variant that takes them.
TEST_F(CudaSmallCases, SegmentsAndProductsOfRows) {
  std::set<std::string> run;
  for (const char* const row :
       {"gather_reduce/zipf:s500:x300/r68/u32+f32+weights/n=3000",
        "gather_reduce/uniform:s99:x3/r34/i64+f16_to_f32/n=999", "gather_reduce/same:s9:x2500/r16/u32+f64/n=4999",
        "spmm/uniform:xzipf/r68/u32+f32/n=3000", "spmm/uniform:x16/r256/u64+f64+row_ends/n=1000",
        "spmm/zipf:x16/r20/u32+f32+transposed/n=3000", "spmm/uniform:xzipf/r64/i32+f64+transposed+unordered/n=2000"}) {
    const primitives::problem_spec problem = primitives::parse_problem(row);
    jobs::problem_arrays arrays(*ctx);
    arrays.fill(problem, 1);
    for (const variant_estimate& v : primitives::entry_of(problem).explain(*ctx, problem, {}).variants) {
      if (!v.applicable || !v.variant.starts_with("cuda.")) continue;
      SCOPED_TRACE(fmt::format("{}: {}", row, v.variant));
      arrays.reset_outputs();
      jobs::job_of(problem).run(*ctx, problem, arrays.of_copy(0), {v.variant, false});
      ctx->wait();
      EXPECT_EQ(arrays.count_mistakes(false), 0U);
      run.insert(fmt::format("{} {}", primitives::entry_of(problem).name, v.variant));
    }
  }
  EXPECT_EQ(run, (std::set<std::string>{"gather_reduce cuda.segments", "spmm cuda.rows", "spmm cuda.transposed",
                                        "spmm cuda.atomic"}));
}

TEST_F(CudaSmallCases, ConjugateGradient) {
  sparse_rows arrow = diagonal_matrix("arrow", std::vector<double>(9000, 3.0));
  for (std::uint64_t i = 1; i < 9000; ++i) {
    arrow.rows[0].push_back({i, -0.01});
    arrow.rows[i].insert(arrow.rows[i].begin(), {0, -0.01});
  }
  const sparse_rows matrices[] = {dominant_at_random(600, 5), laplacian(7), arrow};
  each_must_run(primitives::conjugate_gradient_variants(), [&](std::string_view variant) {
    for (const sparse_rows& m : matrices) {
      for (const value_type type : {value_type::f64, value_type::f32}) {
        SCOPED_TRACE(fmt::format("{}, {}", m.name, name(type)));
        const csr_images images(m, {.value = type});
        const placed_csr a(*ctx, images);
        const solved_system found =
            solve_placed(*ctx, a.view(), y_at, x_at,
                         {.tolerance = 1e-3,
                          .preconditioner = type == value_type::f64 ? preconditioner::jacobi : preconditioner::none,
                          .variant = variant});
        EXPECT_TRUE(found.result.converged()) << name(found.result.reason);
        EXPECT_LE(residual_of(m, y_at, found.x, type), 2e-3 * found.result.b_norm);
      }
    }
    return true;
  });
}

TEST_F(CudaSmallCases, EdgeSums) {
  const edge_graph graphs[] = {box_graph(9, true), star_graph(1500), drawn_graph(300, 3000)};
  const edge_layout layouts[] = {
      {value_type::f32, index_type::i32, false, true, 3, edge_function::inverse_square},
      {value_type::f64, index_type::u64, true, false, 5, edge_function::weighted_difference}};
  const auto for_each_graph = [&](auto run) {
    for (const edge_graph& g : graphs) {
      for (const edge_layout& layout : layouts) {
        SCOPED_TRACE(fmt::format("{}, {}", g.name, layout.description()));
        const edge_images images(g, layout);
        const placed_edges e(*ctx, images);
        expect_near(run(g, images, e), expected_of(g, images), layout.value);
      }
    }
    return true;
  };
  each_must_run(primitives::edge_sum_variants(), [&](std::string_view variant) {
    const bool is_unordered = variant == "cuda.atomic";
    const edge_sum_options o{.order = is_unordered ? reduction_order::unordered : reduction_order::deterministic,
                             .variant = variant};
    return for_each_graph([&](const edge_graph&, const edge_images& images, const placed_edges& e) {
      return sum_of(*ctx, e, images, o);
    });
  });
  each_must_run(primitives::prepare_edge_sum_variants(), [&](std::string_view variant) {
    return for_each_graph([&](const edge_graph& g, const edge_images& images, const placed_edges& e) {
      const edge_layout& layout = images.layout;
      const prepared_edge_sum prepared =
          prepare_edge_sum(*ctx, e.edges(), g.nodes, layout.components, 3, {.variant = variant});
      return result_of(*ctx, g.nodes * layout.components, layout.value,
                       [&](values result) { prepared.run(e.values(), e.weights(), result, layout.function); });
    });
  });
}

TEST_F(CudaSmallCases, RoutingSteps) {
  for (const routing_steps_case& problem : routing_steps_cases()) {
    const routing_steps_trial trial(problem);
    trial.check_route(*ctx);
    trial.check_gather(*ctx);
  }
}

TEST_F(CudaSmallCases, PartSteps) {
  const auto check = [&]<class Number>(const parts_case& c, Number) {
    SCOPED_TRACE(name(c));
    parts_trial<Number>(c).check(*ctx);
  };
  for (const parts_case& c : few_rows_in_parts()) {
    check(c, std::uint64_t{});
    check(c, float{});
    check(c, std::int16_t{});
  }
  // As many as are sorted from their runs, without values and with them.
  const std::vector<parts_case> many = many_rows_in_parts();
  check(many[0], std::uint64_t{});
  check(many[4], std::uint64_t{});
}

}  // namespace
}  // namespace sheaf::tests::cuda_small_cases_test
