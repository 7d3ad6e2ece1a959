#include "distributed/cost.hpp"

#include <bit>
#include <limits>

#include <sheaf/distributed/worth.hpp>

#include "distributed/fitted_cost.hpp"
#include "distributed/movement/cost.hpp"
#include "distributed/ranks.hpp"
#include "distributed/sort/cost.hpp"
#include "distributed/sparse/cost.hpp"

namespace sheaf::tests::distributed_cost_test {
namespace {

using namespace distributed;

constexpr double gigabyte = 1e9;

link_rates devices() {
  return {.are_devices = true,
          .bytes_per_second = 100 * gigabyte,
          .exchange_seconds = 50e-6,
          .message_seconds = 5e-6,
          .wait_seconds = 10e-6,
          .loads_per_second = 5e9,
          .loaded_bytes_per_second = 90 * gigabyte};
}
link_rates host() { return {.bytes_per_second = 2 * gigabyte, .exchange_seconds = 1e-6, .message_seconds = 1e-6}; }

sort_shape keys(std::uint64_t rows) { return {rows, 8, {}, sort_key::of<std::uint64_t>()}; }

/// A nanosecond for each row and 8 bits.
sort_steps linear_sort() {
  return {[](std::uint64_t rows, std::uint32_t bits) { return 1e-9 * static_cast<double>(rows) * bits / 8; },
          [](std::uint64_t rows) { return 0.5e-9 * static_cast<double>(rows); },
          [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1000 * gigabyte); }};
}
movement_steps linear_movement() {
  const auto of_entries = [](std::uint64_t entries) { return 1e-9 * static_cast<double>(entries); };
  return {[](std::uint64_t entries, std::uint64_t) { return 2e-9 * static_cast<double>(entries); }, of_entries,
          [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1000 * gigabyte); }, of_entries};
}

double term(const call_cost& cost, std::string_view what) {
  for (const cost_term& t : cost.terms()) {
    if (t.what == what) return t.seconds;
  }
  ADD_FAILURE() << "no term " << what;
  return 0;
}

TEST(CostOfRanks, FewestOfEqualNumbersAreTaken) {
  EXPECT_EQ(cheapest_ranks(4, [](int) { return 1.0; }), 1);
  EXPECT_EQ(cheapest_ranks(4, [](int ranks) { return 1.0 / ranks; }), 4);
  EXPECT_EQ(cheapest_ranks(4, [](int ranks) { return ranks == 2 || ranks == 3 ? 1.0 : 2.0; }), 2);
  EXPECT_EQ(cheapest_ranks(1, [](int) { return 1.0; }), 1);
}

TEST(CostOfRanks, WhereNoneCanDoItAllAreTaken) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cheapest_ranks(4, [&](int) { return never; }), 4);
  EXPECT_EQ(cheapest_ranks(4, [&](int ranks) { return ranks == 3 ? 1.0 : never; }), 3);
  EXPECT_EQ((device_estimate{{never, never, never}}).worth(), 3);
  EXPECT_EQ((device_estimate{{never, 2, 1}}).worth(), 3);
  EXPECT_EQ((device_estimate{{never, 1, 1}}).worth(), 2);
  EXPECT_EQ(chosen_seconds({}), never);
  // Steps that never end make a call that does not, whatever it is made of.
  const auto endless = [&](std::uint64_t, std::uint64_t) { return never; };
  const sort_steps sorts{[&](std::uint64_t, std::uint32_t) { return never; }, [&](std::uint64_t) { return never; },
                         [](std::uint64_t bytes) { return static_cast<double>(bytes) / 4e12; }};
  for (const link_rates& link : {devices(), host()}) {
    for (const int ranks : {1, 2, 3}) {
      for (const std::uint64_t rows : {1 << 10, 1 << 22})
        EXPECT_EQ(sort_cost(keys(rows), ranks, {}, sorts, link).seconds(), never);
      movement_steps moves = linear_movement();
      moves.move = endless;
      EXPECT_EQ(movement_cost({1000, 1000, 8, false}, ranks, {}, moves, link, false).seconds(), never);
      EXPECT_EQ(product_cost(ranks, {1000, 7000, 0}, {never, never}, link).seconds(), never);
      EXPECT_EQ(iteration_cost(ranks, {1000, 7000, 0}, {never, never}, link).seconds(), never);
    }
  }
}

TEST(CostOfRanks, OneRankTakesTheCallOfOne) {
  for (const link_rates& link : {devices(), host()}) {
    EXPECT_DOUBLE_EQ(sort_cost(keys(1 << 20), 1, {}, linear_sort(), link).seconds(), 8e-9 * (1 << 20));
    EXPECT_DOUBLE_EQ(movement_cost({1000, 1000, 8, false}, 1, {}, linear_movement(), link, true).seconds(), 2e-6);
    EXPECT_DOUBLE_EQ(product_cost(1, {1000, 7000, 0}, {3e-6, 5e-6}, link).seconds(), 3e-6);
    EXPECT_DOUBLE_EQ(iteration_cost(1, {1000, 7000, 0}, {3e-6, 5e-6}, link).seconds(), 5e-6);
  }
}

TEST(CostOfRanks, SortOnTheHostIsItsDocumentedSum) {
  constexpr std::uint64_t mine = 1 << 20;
  const double n = mine;
  const call_cost cost = sort_cost(keys(2 * mine), 2, {}, linear_sort(), host());
  EXPECT_NEAR(cost.seconds(), 8e-9 * n + 6 * 0.5e-9 * n + n * 8 / 2 / (2 * gigabyte) + (5 * 1 + 4 * 2) * 1e-6, 1e-12);
}

TEST(CostOfRanks, SortByPartsOverlapsMovesExchangesAndSorts) {
  constexpr std::uint64_t mine = 1 << 26;
  const double n = mine;
  const call_cost cost = sort_cost(keys(2 * mine), 2, {}, linear_sort(), devices());
  EXPECT_NEAR(term(cost, "parts of rows"), fitted::find_parts_of_copy * n * 10 / (1000 * gigabyte), 1e-9);
  const double move = fitted::move_rows_of_copy * n * 18 / (1000 * gigabyte);
  EXPECT_NEAR(term(cost, "rows to their parts"), move, 1e-9);
  // Groups of a quarter and the rest; the parts at the end of a rank are sorted before.
  const double sorts = 8e-9 * n + 8e-9 * (n / 128 + 1);
  EXPECT_GT(term(cost, "exchanges and sorts behind these"), sorts);
  EXPECT_LT(term(cost, "exchanges and sorts behind these"), sorts + 3 * 50e-6 + n * 8 / 2 / (100 * gigabyte));
  // Where nothing but the link takes time, all is sent once.
  const sort_steps quick{[](std::uint64_t, std::uint32_t) { return 0.0; }, {}, [](std::uint64_t) { return 0.0; }};
  const double sent = n * 8 / 2 / (100 * gigabyte);
  EXPECT_NEAR(term(sort_cost(keys(2 * mine), 2, {}, quick, devices()), "exchanges and sorts behind these"),
              sent + 50e-6, sent / 50);
}

TEST(CostOfRanks, CategoriesThatArePartsAreNotSortedAgain) {
  sort_shape split = keys(1 << 26);
  split.key = sort_key{key_field{0, 8, key_type::unsigned_integer, false, 0, 8}};
  const sort_steps unsorted{[](std::uint64_t, std::uint32_t) { return 1e3; }, {}, linear_sort().stream};
  EXPECT_LT(sort_cost(split, 2, {}, unsorted, devices()).seconds(), 1);
}

TEST(CostOfRanks, FewRowsAreLeftToFewRanks) {
  const auto best = [](std::uint64_t rows) {
    return cheapest_ranks(
        4, [&](int ranks) { return sort_cost(keys(rows), ranks, {}, linear_sort(), devices()).seconds(); });
  };
  EXPECT_EQ(best(1 << 10), 1);
  EXPECT_EQ(best(std::uint64_t{1} << 28), 4);
}

TEST(CostOfRanks, ValuesTravelWithKeys) {
  sort_shape pairs = keys(1 << 20);
  EXPECT_DOUBLE_EQ(sent_bytes(pairs, 2), (1 << 19) * 8.0 / 2);
  pairs.value_bytes = {8, 4};
  EXPECT_DOUBLE_EQ(sent_bytes(pairs, 2), (1 << 19) * 20.0 / 2);
  EXPECT_DOUBLE_EQ(sent_bytes(pairs, 1), 0);
}

TEST(CostOfRanks, LongRecordsAreLoadedWhereTheyLie) {
  constexpr std::uint64_t entries = 1 << 24;
  const double remote = entries / 2.0 / 2;
  const call_cost loads = movement_cost({entries, entries, 128, false}, 2, {}, linear_movement(), devices(), true);
  EXPECT_NEAR(term(loads, "loads"), remote * 128 / (90 * gigabyte), 1e-9);
  const call_cost short_records =
      movement_cost({entries, entries, 8, false}, 2, {}, linear_movement(), devices(), true);
  EXPECT_GT(term(short_records, "exchange of records"), 0);
  link_rates apart = devices();
  apart.loads_per_second = 0;
  const call_cost exchanged = movement_cost({entries, entries, 128, false}, 2, {}, linear_movement(), apart, true);
  // Half of the least time is the host's, while the first movement runs.
  EXPECT_NEAR(term(exchanged, "exchange of records"), 25e-6 + remote * 128 / (100 * gigabyte), 1e-9);
  EXPECT_GT(term(movement_cost({entries, entries, 128, false}, 2, {}, linear_movement(), devices(), false),
                 "exchange of records"),
            0);
}

TEST(CostOfRanks, PreparedListsAreNotRoutedAgain) {
  for (const link_rates& link : {devices(), host()}) {
    const auto seconds = [&](bool is_prepared) {
      return movement_cost({1 << 20, 1 << 20, 8, is_prepared}, 2, {}, linear_movement(), link, true).seconds();
    };
    EXPECT_LT(seconds(true), seconds(false));
  }
  EXPECT_DOUBLE_EQ(sent_bytes(movement_shape{100, 100, 8, false}, 2, false), 50 * 12.0 / 2);
  EXPECT_DOUBLE_EQ(sent_bytes(movement_shape{100, 100, 8, true}, 2, false), 50 * 8.0 / 2);
}

TEST(CostOfRanks, HalosTravelBesideProducts) {
  const system_shape shape{2'000'000, 14'000'000, 10'000};
  EXPECT_NEAR(product_cost(2, shape, {1e-3, 2e-3}, devices()).seconds(), 5e-6 + 1e-3 + 25e-6 + fitted::product_seconds,
              1e-9);
  const system_shape wide{2'000'000, 14'000'000, 100'000'000};
  EXPECT_NEAR(product_cost(2, wide, {1e-3, 2e-3}, devices()).seconds(), 5e-6 + 8e-3 + 25e-6 + fitted::product_seconds,
              1e-9);
}

TEST(CostOfRanks, ProductsMayPrepareFirst) {
  system_shape shape{2'000'000, 14'000'000, 10'000};
  const system_steps steps{1e-3, 2e-3, 4e-3};
  const double prepared = product_cost(2, shape, steps, devices()).seconds();
  shape.is_prepared = false;
  const call_cost cost = product_cost(2, shape, steps, devices());
  EXPECT_NEAR(cost.seconds() - prepared, 4e-3 + 9 * 10e-6 + 50e-6 + 10'000 * 4 / (100 * gigabyte) + 6 * 5e-6, 1e-9);
  EXPECT_NEAR(product_cost(1, shape, steps, devices()).seconds(), 5e-3 + 9 * 10e-6, 1e-12);
  const context ctx = context::cpu(1);
  EXPECT_GT(planned_steps(ctx, shape, 1).inspection, planned_steps(ctx, shape, 2).inspection);
}

TEST(CostOfRanks, IterationsBringSumsOfBlocksToAll) {
  const system_shape shape{256 * 10'000, 0, 0};
  const call_cost cost = iteration_cost(2, shape, {1e-3, 3e-3}, devices());
  EXPECT_NEAR(term(cost, "sums of blocks"), 2 * (50e-6 + 10'000 * 8.0 / 2 / (100 * gigabyte)), 1e-9);
  EXPECT_NEAR(term(cost, "vectors"), 2e-3, 1e-9);
}

/// A call of two H200s as lab/results/h200/scale-out*.json have it, beside what its steps took on one of them.
struct recorded_call {
  const char* what;
  std::uint64_t rows;       ///< of each GPU; of spmv, entries
  std::uint64_t row_bytes;  ///< of spmv, all that a GPU takes of the other
  double one_seconds;       ///< of the call on one GPU, with as many rows
  double seconds;
  double owners_seconds = 0;  ///< of a list: those and the split by them
};

double copied_on_h200(std::uint64_t bytes) { return 14e-6 + static_cast<double>(bytes) / 4.25e12; }

double predicted(const recorded_call& call) {
  const std::string_view what = call.what;
  const link_rates link = usual_link(what.ends_with("nccl") ? link_kind::nccl : link_kind::copies);
  const bool is_prepared = what.find("prepared") != what.npos;
  if (what.starts_with("spmv")) {
    const system_shape shape{2 * call.rows, 0, call.row_bytes / sizeof(double)};
    return product_cost(2, shape, {call.one_seconds, 0}, link).seconds();
  }
  if (what.starts_with("gather") || what.starts_with("scatter")) {
    const movement_shape shape{2 * call.rows, 2 * call.rows, call.row_bytes, is_prepared, what.starts_with("scatter")};
    constexpr std::uint64_t bytes_of_routes = 29;
    const auto split = [&](std::uint64_t entries) {
      return call.owners_seconds - copied_on_h200(entries * bytes_of_routes);
    };
    const movement_steps steps{
        [&](std::uint64_t, std::uint64_t) { return call.one_seconds; }, split, copied_on_h200, {}};
    return movement_cost(shape, 2, {}, steps, link, !shape.is_scatter).seconds();
  }
  constexpr double least = 100e-6;
  sort_shape shape{2 * call.rows, call.row_bytes, {}, sort_key::of<std::uint64_t>()};
  if (what.starts_with("pairs")) shape.value_bytes = {8};
  if (what.starts_with("split")) shape.key = sort_key{key_field{0, 8, key_type::unsigned_integer, false, 0, 8}};
  const sort_steps steps{[&](std::uint64_t rows, std::uint32_t) {
                           return least + (call.one_seconds - least) * static_cast<double>(rows) /
                                              static_cast<double>(call.rows);
                         },
                         {},
                         copied_on_h200};
  return sort_cost(shape, 2, {}, steps, link).seconds();
}

TEST(CostOfRanks, RecordedCallsArePredicted) {
  const recorded_call calls[] = {
      {"keys", 1 << 24, 8, 0.5286e-3, 1.438e-3},
      {"keys", 1 << 27, 8, 4.018e-3, 5.974e-3},
      {"pairs", 1 << 27, 8, 5.405e-3, 10.94e-3},
      {"records", 1 << 24, 128, 2.322e-3, 5.885e-3},
      {"split", 1 << 27, 8, 1.208e-3, 2.953e-3},
      {"gather", 1 << 24, 8, 0.4123e-3, 1.424e-3, 0.2976e-3},
      {"gather prepared", 1 << 27, 8, 2.903e-3, 5.895e-3},
      {"gather", 1 << 24, 128, 1.132e-3, 3.394e-3},
      {"gather prepared", 1 << 21, 1024, 1.061e-3, 3.327e-3},
      {"scatter", 1 << 26, 8, 1.655e-3, 4.686e-3, 1.06e-3},
      {"scatter prepared", 1 << 27, 8, 3.322e-3, 6.288e-3},
      {"scatter", 1 << 24, 128, 1.242e-3, 6.083e-3, 0.2926e-3},
      {"spmv grid prepared", 469616896, 1318688, 1.895e-3, 2.012e-3},
      {"spmv banded prepared", 67108864, 120, 0.2995e-3, 0.3902e-3},
      {"keys by nccl", 1 << 24, 8, 0.5334e-3, 1.938e-3},
      {"records by nccl", 1 << 24, 128, 2.331e-3, 8.774e-3},
      {"gather prepared by nccl", 1 << 24, 128, 1.137e-3, 5.513e-3},
      {"spmv grid prepared by nccl", 469616896, 1318688, 1.896e-3, 2.074e-3},
  };
  constexpr double bound = 0.15;
  for (const recorded_call& call : calls)
    EXPECT_NEAR(predicted(call) / call.seconds, 1, bound) << call.what << " of " << call.rows;
  const system_shape grid{58'557'184 / 7 * 2, 58'557'184 * 2, 41'000};
  EXPECT_NEAR(iteration_cost(2, grid, {0.250e-3, 0.459e-3}, usual_link(link_kind::copies)).seconds() / 0.594e-3, 1,
              bound);
}

TEST(CostOfRanks, PlannedStepsAreThePlannersTimes) {
  const context ctx = context::cpu(1);
  const const_records rows(nullptr, 1 << 20, 8);
  const double planned = explain_sort_records(ctx, rows, sort_key::of<std::uint64_t>()).choice()->seconds;
  EXPECT_DOUBLE_EQ(sort_seconds(ctx, keys(1 << 20), 1, host()), planned);
  EXPECT_GT(sort_seconds(ctx, keys(1 << 20), 2, host()), 0);
  EXPECT_GT(gather_seconds(ctx, {1 << 20, 1 << 20, 8, false}, 2, host()), 0);
  EXPECT_GT(scatter_seconds(ctx, {1 << 20, 1 << 20, 8, true}, 2, host()), 0);
  EXPECT_GT(product_seconds(ctx, {1 << 20, 7 << 20, 1000}, 2, host()), 0);
  EXPECT_GT(iteration_seconds(ctx, {1 << 20, 7 << 20, 1000}, 2, host()), 0);
}

TEST(CostOfRanks, LinksHaveRates) {
  for (const link_kind kind : {link_kind::threads, link_kind::copies, link_kind::nccl}) {
    const link_rates usual = usual_link(kind);
    EXPECT_GT(usual.bytes_per_second, 0);
    EXPECT_GT(usual.exchange_seconds, 0);
    EXPECT_EQ(usual.are_devices, kind != link_kind::threads);
  }
  EXPECT_LT(usual_link(link_kind::copies).exchange(1e6), usual_link(link_kind::nccl).exchange(1e6));
}

TEST(CostOfRanks, GpusWithoutLinksOfTheirOwnAreSlower) {
  const link_rates linked = usual_link(link_kind::copies, gpu_access::links);
  const link_rates bus = usual_link(link_kind::copies, gpu_access::bus);
  const link_rates apart = usual_link(link_kind::copies, gpu_access::through_host);
  EXPECT_GT(linked.bytes_per_second, 10 * bus.bytes_per_second);
  EXPECT_GT(linked.loads_per_second, bus.loads_per_second);
  EXPECT_GT(bus.loads_per_second, 0);
  EXPECT_EQ(apart.loads_per_second, 0);
  EXPECT_LE(bus.loads_per_second * 8, bus.bytes_per_second);
  // Sorts of an H200, some 10 G numbers of 8 bytes a second.
  const sort_steps sorts{
      [](std::uint64_t rows, std::uint32_t bits) { return 1e-10 * static_cast<double>(rows) * bits / 64; },
      {},
      [](std::uint64_t bytes) { return static_cast<double>(bytes) / 4e12; }};
  const auto best = [&](const link_rates& link) {
    return cheapest_ranks(2, [&](int ranks) { return sort_cost(keys(1 << 26), ranks, {}, sorts, link).seconds(); });
  };
  EXPECT_EQ(best(linked), 2);
  EXPECT_EQ(best(bus), 1);
  EXPECT_EQ(best(apart), 1);
  // Long records are loaded where kernels read them, and sent elsewhere.
  const movement_shape gather{1 << 24, 1 << 24, 128, false};
  EXPECT_TRUE(loads_from_peers(gather, bus));
  EXPECT_FALSE(loads_from_peers(gather, apart));
}

TEST(CostOfRanks, MeasuredLinksAreThoseOfAllRanks) {
  on_ranks([](const group& ranks) {
    const link_rates link = measure_link(ranks);
    EXPECT_GT(link.message_seconds, 0);
    if (ranks.size() > 1) {
      EXPECT_GT(link.bytes_per_second, 0);
    }
    const auto bits = std::bit_cast<std::uint64_t>(link.bytes_per_second);
    ranks.require_same("bytes a second", bits);
    EXPECT_EQ(link.loads_per_second, 0);
  });
}

}  // namespace
}  // namespace sheaf::tests::distributed_cost_test
