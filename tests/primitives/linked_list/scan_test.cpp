#include <sheaf/list_scan.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "support/trials/list.hpp"

namespace sheaf::tests::primitives_linked_list_scan_test {
namespace {

// Around every size of a warp, a block of threads, a tile and a sublist.
constexpr std::uint64_t small_counts[] = {0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4095, 4096, 4097};
constexpr std::uint64_t large_counts[] = {1 << 16, 100'000};

class EveryListVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  /// Contexts that have something to run: the planner has no choice where the reference is alone.
  std::vector<named_context> contexts() const {
    std::vector<named_context> all = every_context();
    if (GetParam().empty()) std::erase_if(all, [](const named_context& where) { return !is_planned_on(where.ctx); });
    return all;
  }

  // Scans by every case on every context. Results are the same bits in every run and for every number of threads.
  void expect_results_of(const std::vector<list_case>& cases, int repeats = 1) {
    const auto all = contexts();
    std::size_t runs = 0;
    for (const list_case& c : cases) {
      SCOPED_TRACE(c.description());
      const list_trial t(c);
      std::optional<std::vector<std::byte>> first;
      for (const named_context& where : all) {
        SCOPED_TRACE(where.name);
        for (int repeat = 0; repeat < repeats; ++repeat) {
          const auto got = scan_by(GetParam(), where.ctx, t);
          if (!got) break;
          ++runs;
          EXPECT_NO_THROW(where.ctx.wait());
          expect_results(*got, t);
          if (!first) first = got;
          const bool is_one_variant = !GetParam().empty();
          EXPECT_TRUE(!is_one_variant || *first == *got) << "results differ from those of an earlier run";
        }
      }
      if (HasFailure()) return;
    }
    if (!all.empty()) expect_all(runs, cases.size() * static_cast<std::size_t>(repeats));
  }

  void expect_all(std::size_t runs, std::size_t problems) const {
    if (GetParam().empty()) {
      EXPECT_EQ(runs, problems * contexts().size()) << "no variant runs some of the problems";
    } else {
      expect_runs(GetParam(), runs, problems);
    }
  }

  void expect_ranks_of(const std::vector<list_case>& cases) {
    const auto all = contexts();
    std::size_t runs = 0;
    for (const list_case& c : cases) {
      SCOPED_TRACE(c.description());
      const made_lists lists(c);
      const image successors = lists.successors(c.successor, c.end);
      const index_type rank_type = drawn(index_types, c.seed, 8);
      const image after = lists.ranks(rank_type);
      const image before = poisoned(c.count, bytes(rank_type), bytes(rank_type));
      for (const named_context& where : all) {
        SCOPED_TRACE(where.name);
        const auto got = rank_by(GetParam(), where.ctx, successors, c.successor, before, rank_type, c.lists());
        if (!got) continue;
        ++runs;
        EXPECT_NO_THROW(where.ctx.wait());
        expect_bytes(*got, after, "rank");
      }
      if (HasFailure()) return;
    }
    if (!all.empty()) expect_all(runs, cases.size());
  }
};

INSTANTIATE_TEST_SUITE_P(ListScan, EveryListVariant, testing::ValuesIn(list_variant_names()), test_name_of);

std::vector<list_case> drawn_cases(std::uint64_t repeats) {
  std::vector<list_case> cases;
  std::uint64_t seed = 100;
  for (const std::uint64_t count : small_counts) {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) cases.push_back(drawn_case(count, seed++));
  }
  for (const std::uint64_t count : large_counts) {
    for (std::uint64_t repeat = 0; repeat < repeats / 5; ++repeat) cases.push_back(drawn_case(count, seed++));
  }
  return cases;
}

TEST_P(EveryListVariant, RanksListsOfEverySize) { expect_ranks_of(drawn_cases(40)); }

TEST_P(EveryListVariant, ScansListsOfEverySize) { expect_results_of(drawn_cases(60)); }

TEST_P(EveryListVariant, RanksListsOfEverySuccessorTypeOrderCutAndEnd) {
  std::vector<list_case> cases;
  for (const index_type type : index_types) {
    for (const end_mark end : end_marks) {
      for (const node_order order : node_orders) {
        for (const list_cut cut : list_cuts) {
          cases.push_back({.count = 2500, .order = order, .cut = cut, .successor = type, .end = end});
          cases.back().seed = cases.size();
        }
      }
    }
  }
  expect_ranks_of(cases);
}

TEST_P(EveryListVariant, PutsValuesOfEveryTypeTogetherByEveryOperator) {
  std::vector<list_case> cases;
  for (const value_type type : value_types) {
    for (const scan_operator op : scan_operators) {
      if (!primitives::takes(op, type)) continue;
      for (const bool is_exclusive : {false, true}) {
        for (const bool is_packed : {false, true}) {
          if (is_packed && bytes(type) != 4) continue;
          list_case c = drawn_case(2000, cases.size() + 1);
          c.type = type;
          c.op = op;
          c.is_exclusive = is_exclusive;
          c.is_packed = is_packed;
          if (is_packed) c.successor = cases.size() % 2 == 0 ? index_type::i32 : index_type::u32;
          cases.push_back(c);
        }
      }
    }
  }
  expect_results_of(cases);
}

TEST_P(EveryListVariant, RoundsFloatsAlikeInEveryRun) {
  std::vector<list_case> cases;
  for (const value_type type : {value_type::f32, value_type::f64}) {
    for (const scan_operator op : {scan_operator::add, scan_operator::mul}) {
      for (const list_cut cut : {list_cut::one_list, list_cut::long_paths_and_nodes}) {
        list_case c = drawn_case(50'000, cases.size() + 1);
        c.cut = cut;
        c.type = type;
        c.op = op;
        c.is_packed = false;
        cases.push_back(c);
      }
    }
  }
  expect_results_of(cases, 3);
}

TEST_P(EveryListVariant, TakesAMillionNodes) {
  constexpr std::uint64_t million = 1 << 20;
  expect_ranks_of({{.count = million}, {.count = million, .cut = list_cut::paths, .successor = index_type::i64}});
  expect_results_of({{.count = million, .type = value_type::f64},
                     {.count = million,
                      .order = node_order::strided,
                      .successor = index_type::i32,
                      .is_packed = true,
                      .is_exclusive = true,
                      .type = value_type::i32,
                      .op = scan_operator::max}});
}

// Values that know the places they span: what is put together in another order than the list's is no span.
struct span_of_places {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const span_of_places&) const = default;
};
constexpr span_of_places no_span{1, 0};
struct join_spans {
  span_of_places operator()(span_of_places earlier, span_of_places later) const {
    return earlier.last == later.first ? span_of_places{earlier.first, later.last} : no_span;
  }
};

template <class T>
struct matrix {
  std::array<T, 4> entries{};
  bool operator==(const matrix&) const = default;
};
struct multiply {
  template <class T>
  matrix<T> operator()(const matrix<T>& a, const matrix<T>& b) const {
    return {{a.entries[0] * b.entries[0] + a.entries[1] * b.entries[2],
             a.entries[0] * b.entries[1] + a.entries[1] * b.entries[3],
             a.entries[2] * b.entries[0] + a.entries[3] * b.entries[2],
             a.entries[2] * b.entries[1] + a.entries[3] * b.entries[3]}};
  }
};

// Functions x -> scale * x + shift on numbers of N words, which do not commute.
template <class Word, std::size_t N, std::size_t Alignment = alignof(Word)>
struct alignas(Alignment) linear_function {
  std::array<Word, N> words{};
  bool operator==(const linear_function&) const = default;
};
struct compose {
  template <class Word, std::size_t N, std::size_t Alignment>
  linear_function<Word, N, Alignment> operator()(const linear_function<Word, N, Alignment>& earlier,
                                                 const linear_function<Word, N, Alignment>& later) const {
    linear_function<Word, N, Alignment> both;
    both.words[0] = static_cast<Word>(earlier.words[0] * later.words[0]);
    for (std::size_t w = 1; w < N; ++w) {
      both.words[w] = static_cast<Word>(earlier.words[w] * later.words[0] + later.words[w]);
    }
    return both;
  }
};

constexpr std::uint64_t function_counts[] = {1, 2, 33, 257, 3000, 40'000};

class EveryListVariantOfTheHost : public EveryListVariant {
 protected:
  void SetUp() override {
    if (GetParam().starts_with("cuda.")) GTEST_SKIP() << "functions of the caller's run on the CPU here";
  }

  /// Scans by the function on every context of the CPU and gives each result to expect(expected, got).
  template <class T, class Op, class Make, class Expect>
  void scan_by_function(const list_case& c, const Op& op, Make make, bool is_exclusive, Expect expect) {
    SCOPED_TRACE(c.description());
    const made_lists lists(c);
    const image successors = lists.successors(c.successor, c.end);
    std::vector<T> in(c.count), expected(c.count);
    const T initial = make(c.count, true);
    T running{};
    for (std::uint64_t k = 0; k < c.count; ++k) {
      const std::uint64_t node = lists.nodes[k];
      in[node] = make(k, false);
      if (lists.begins[k]) running = initial;
      const T before = running;
      running = lists.begins[k] && !is_exclusive ? in[node] : op(running, in[node]);
      expected[node] = is_exclusive ? before : running;
    }
    const std::vector<T> in_before = in;
    std::optional<std::vector<T>> first;
    for (const named_context& where : contexts()) {
      if (where.ctx.backend() != backend_kind::cpu) continue;
      SCOPED_TRACE(where.name);
      std::vector<T> out(c.count);
      list_scan(where.ctx, index_view(successors, c.successor), in, out, op,
                {.lists = c.lists(),
                 .exclusive_from = is_exclusive ? std::optional(initial) : std::nullopt,
                 .pattern = access_pattern::random(),
                 .variant = GetParam()});
      EXPECT_NO_THROW(where.ctx.wait());
      EXPECT_TRUE(in == in_before) << "values to read were modified";
      for (std::uint64_t i = 0; i < c.count && !HasFailure(); ++i) {
        SCOPED_TRACE(fmt::format("node {}", i));
        expect(expected[i], out[i]);
      }
      if (!first) first = out;
      const bool is_one_variant = !GetParam().empty();
      EXPECT_TRUE(!is_one_variant || *first == out) << "results differ from those of another number of threads";
    }
  }

  template <class T, class Op, class Make>
  void expect_equal_by_function(const Op& op, Make make) {
    std::uint64_t seed = 1;
    for (const std::uint64_t count : function_counts) {
      for (const bool is_exclusive : {false, true}) {
        scan_by_function<T>(drawn_case(count, seed++), op, make, is_exclusive,
                            [](const T& expected, const T& got) { EXPECT_TRUE(expected == got); });
        if (HasFailure()) return;
      }
    }
  }

  template <class Word, std::size_t N, std::size_t Alignment = alignof(Word)>
  void expect_linear_functions() {
    SCOPED_TRACE(fmt::format("{} words of {} bytes aligned to {}", N, sizeof(Word), Alignment));
    using function = linear_function<Word, N, Alignment>;
    expect_equal_by_function<function>(compose{}, [](std::uint64_t k, bool) {
      function f;
      for (std::size_t w = 0; w < N; ++w) f.words[w] = static_cast<Word>(inputs::mix(k * N + w) | 1);
      return f;
    });
  }
};

INSTANTIATE_TEST_SUITE_P(ListScanByFunction, EveryListVariantOfTheHost, testing::ValuesIn(list_variant_names()),
                         test_name_of);

TEST_P(EveryListVariantOfTheHost, KeepsTheOrderOfFunctionsThatDoNotCommute) {
  expect_equal_by_function<matrix<std::uint32_t>>(multiply{}, [](std::uint64_t k, bool) {
    const auto bits = [k](std::uint64_t e) { return static_cast<std::uint32_t>(inputs::mix(4 * k + e)); };
    return matrix<std::uint32_t>{{bits(0), bits(1), bits(2), bits(3)}};
  });
}

// Values beside successors, of a type that only the caller's function knows.
TEST_P(EveryListVariantOfTheHost, KeepsTheOrderOfFunctionsThatDoNotCommuteOnPackedNodes) {
  using function = linear_function<std::uint16_t, 2>;
  std::uint64_t seed = 1;
  for (const std::uint64_t count : function_counts) {
    for (const bool is_exclusive : {false, true}) {
      const list_case c = drawn_case(count, seed++);
      SCOPED_TRACE(c.description());
      const made_lists lists(c);
      const image successors = lists.successors(index_type::i32, c.end);
      const auto made = [](std::uint64_t k) {
        return function{{static_cast<std::uint16_t>(inputs::mix(k) | 1), static_cast<std::uint16_t>(inputs::mix(~k))}};
      };
      const function initial = made(count);
      std::vector<list_node<function>> nodes(count);
      std::vector<function> expected(count);
      function running;
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t node = lists.nodes[k];
        nodes[node] = {made(k), reduce_trial::at<std::int32_t>(successors, node)};
        if (lists.begins[k]) running = initial;
        const function before = running;
        running = lists.begins[k] && !is_exclusive ? made(k) : compose{}(running, made(k));
        expected[node] = is_exclusive ? before : running;
      }
      for (const named_context& where : contexts()) {
        if (where.ctx.backend() != backend_kind::cpu) continue;
        SCOPED_TRACE(where.name);
        std::vector<function> out(count);
        list_scan(where.ctx, nodes, out, compose{},
                  {.lists = c.lists(),
                   .exclusive_from = is_exclusive ? std::optional(initial) : std::nullopt,
                   .pattern = access_pattern::sequential(),
                   .variant = GetParam()});
        EXPECT_NO_THROW(where.ctx.wait());
        EXPECT_TRUE(out == expected);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(EveryListVariantOfTheHost, JoinsSpansOfNeighboursOnly) {
  for (const std::uint64_t count : function_counts) {
    for (const bool is_exclusive : {false, true}) {
      list_case c = drawn_case(count, count + 1);
      // An exclusive scan begins every list with the same span, and only one list begins at the first place.
      if (is_exclusive) c.cut = list_cut::one_list;
      scan_by_function<span_of_places>(
          c, join_spans{},
          [](std::uint64_t k, bool is_initial) {
            const auto place = static_cast<std::uint32_t>(is_initial ? 0 : k);
            return span_of_places{place, is_initial ? 0 : place + 1};
          },
          is_exclusive,
          [](span_of_places expected, span_of_places got) {
            EXPECT_EQ(expected.first, got.first);
            EXPECT_EQ(expected.last, got.last);
            EXPECT_FALSE(got == no_span);
          });
    }
  }
}

TEST_P(EveryListVariantOfTheHost, TakesValuesOfAnySize) {
  expect_linear_functions<std::uint8_t, 2>();
  expect_linear_functions<std::uint16_t, 3>();
  expect_linear_functions<std::uint32_t, 3>();
  expect_linear_functions<std::uint64_t, 3>();
  expect_linear_functions<std::uint32_t, 8, 32>();
  expect_linear_functions<std::uint64_t, 5>();
  expect_linear_functions<std::uint64_t, 16, 64>();
}

TEST_P(EveryListVariantOfTheHost, MultipliesMatricesOfDoubles) {
  const auto make = [](std::uint64_t k, bool) {
    const double turn = static_cast<double>(inputs::mix(k) % 1000);
    return matrix<double>{{std::cos(turn), -std::sin(turn), std::sin(turn), std::cos(turn)}};
  };
  for (const std::uint64_t count : function_counts) {
    scan_by_function<matrix<double>>(drawn_case(count, count), multiply{}, make, count % 2 == 0,
                                     [](const matrix<double>& expected, const matrix<double>& got) {
                                       for (std::size_t e = 0; e < 4; ++e) {
                                         EXPECT_NEAR(expected.entries[e], got.entries[e], 1e-9);
                                       }
                                     });
  }
}

TEST(ListScan, TakesTypedRanges) {
  const context ctx = context::cpu(2);
  const std::vector<std::int32_t> successor{3, -1, 1, 2};  // 0, 3, 2, 1
  std::vector<std::uint32_t> rank(4);
  list_rank(ctx, successor, rank, {.variant = "reference.serial"});
  EXPECT_EQ(rank, (std::vector<std::uint32_t>{0, 3, 2, 1}));
  const std::vector<float> in{1, 2, 3, 4};
  std::vector<float> out(4);
  list_scan(ctx, successor, in, out, scan_operator::add, {.variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{1, 10, 8, 5}));
  list_scan(ctx, successor, in, out, scan_operator::add, {.exclusive_from = 10.0F, .variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{10, 18, 15, 11}));
  const std::vector<list_node<float>> nodes{{1, 3}, {2, -1}, {3, 1}, {4, 2}};
  list_scan(ctx, nodes, out, scan_operator::max, {.variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{1, 4, 4, 4}));
  list_scan(ctx, nodes, out, std::plus<>{});
  EXPECT_EQ(out, (std::vector<float>{1, 10, 8, 5}));
  const float initial = 10;
  list_scan(ctx, nodes, out, std::plus<>{},
            {.lists = list_count::many, .exclusive_from = initial, .variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{10, 18, 15, 11}));
  std::vector<std::uint64_t> wide_rank(4);
  list_rank(ctx, successor, wide_rank, {.lists = list_count::many, .variant = "reference.serial"});
  EXPECT_EQ(wide_rank, (std::vector<std::uint64_t>{0, 3, 2, 1}));
  ctx.wait();
}

TEST(ListScan, DoesNothingForNoNodes) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const index_span none(nullptr, 0, index_type::i32);
    list_rank(where.ctx, none, index_output(nullptr, 0, index_type::u32));
    list_scan(where.ctx, none, const_values(nullptr, 0, value_type::f64), values(nullptr, 0, value_type::f64),
              scan_operator::add);
    list_scan(where.ctx, const_list_nodes(nullptr, 0, value_type::f32), values(nullptr, 0, value_type::f32),
              scan_operator::add);
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_linked_list_scan_test
