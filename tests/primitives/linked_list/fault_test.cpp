// What is no list is reported as the contract says, by every variant, in bounded time, and does the context no harm.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/list_scan.hpp>

#include "support/expect_error.hpp"
#include "support/trials/list.hpp"

namespace sheaf::tests::primitives_linked_list_fault_test {
namespace {

constexpr std::uint64_t end_of_list = ~std::uint64_t{0};

image successors_of(const std::vector<std::uint64_t>& next, index_type type) {
  image made = poisoned(next.size(), bytes(type), bytes(type));
  for (std::uint64_t i = 0; i < next.size(); ++i) set_entry(made, i, next[i]);
  return made;
}

/// A good list of so many nodes at random, and its order.
struct good_list {
  std::vector<std::uint64_t> nodes, next;

  explicit good_list(std::uint64_t count, std::uint64_t seed = 1)
      : nodes(order_of_nodes(node_order::random, count, seed)), next(count, end_of_list) {
    for (std::uint64_t k = 0; k + 1 < count; ++k) next[nodes[k]] = nodes[k + 1];
  }
};

/// What wait() says after a call on the successors; "" if nothing.
template <class Call>
std::string complaint_of(const context& ctx, Call call) {
  try {
    call();
    ctx.wait();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::bad_index);
    EXPECT_NO_THROW(ctx.wait()) << "the complaint is made twice";
    return e.what();
  }
  return "";
}

std::string rank_complaint(std::string_view variant, const context& ctx, const image& successors, index_type type,
                           list_count lists) {
  return complaint_of(ctx, [&] {
    const image before = poisoned(successors.count, 4, 4);
    const auto got = rank_by(variant, ctx, successors, type, before, index_type::u32, lists);
    EXPECT_TRUE(got.has_value());
  });
}

/// The same of a scan, packed or not.
std::string scan_complaint(std::string_view variant, const context& ctx, const image& successors, index_type type,
                           list_count lists, bool is_packed) {
  image in = poisoned(successors.count, is_packed ? 8 : 4, is_packed ? 8 : 4);
  for (std::uint64_t i = 0; is_packed && i < successors.count; ++i) {
    std::memcpy(in.record(i) + 4, successors.record(i), 4);
  }
  const image before = poisoned(successors.count, 4, 4);
  const placed successor(ctx, successors);
  const placed values_in(ctx, in);
  const placed out(ctx, before);
  const list_scan_options options{.lists = lists, .variant = variant};
  const values results(out.view().data, successors.count, value_type::f32);
  return complaint_of(ctx, [&] {
    if (is_packed) {
      list_scan(ctx, const_list_nodes(values_in.view().data, successors.count, value_type::f32, type), results,
                scan_operator::add, options);
    } else {
      list_scan(ctx, successor.index(type), const_values(values_in.view().data, successors.count, value_type::f32),
                results, scan_operator::add, options);
    }
  });
}

class EveryFaultyListVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
    for (const named_context& where : every_context()) {
      for (const auto& v : primitives::list_variants()) {
        if (v.name == GetParam() && v.works_on(where.ctx.backend())) contexts.push_back(where);
      }
    }
    ASSERT_FALSE(contexts.empty());
  }

  // `what` is the message without the call's name; empty if nothing is wrong.
  void expect_complaint(const std::string& what, const std::vector<std::uint64_t>& next,
                        list_count lists = list_count::one, index_type type = index_type::u32) {
    const image successors = successors_of(next, type);
    const auto message = [&](const char* call) { return what.empty() ? what : fmt::format("{}: {}", call, what); };
    for (const named_context& where : contexts) {
      SCOPED_TRACE(fmt::format("{} of {} nodes, {} successors on {}", GetParam(), next.size(), name(type), where.name));
      EXPECT_EQ(message("list_rank"), rank_complaint(GetParam(), where.ctx, successors, type, lists));
      EXPECT_EQ(message("list_scan"), scan_complaint(GetParam(), where.ctx, successors, type, lists, false));
      if (bytes(type) == 4) {
        EXPECT_EQ(message("list_scan"), scan_complaint(GetParam(), where.ctx, successors, type, lists, true));
      }
      expect_good_list_works(where.ctx);
    }
  }

  void expect_good_list_works(const context& ctx) const {
    const list_case c{.count = 500, .end = end_mark::itself};
    const made_lists lists(c);
    const auto got = rank_by(GetParam(), ctx, lists.successors(c.successor, c.end), c.successor, poisoned(500, 4, 4),
                             index_type::u32, list_count::one);
    EXPECT_NO_THROW(ctx.wait());
    ASSERT_TRUE(got.has_value());
    expect_bytes(*got, lists.ranks(index_type::u32), "rank");
  }

  std::vector<named_context> contexts;
};

std::vector<std::string> faulty_list_variant_names() {
  std::vector<std::string> names = list_variant_names();
  std::erase(names, "");
  return names;
}

INSTANTIATE_TEST_SUITE_P(ListFault, EveryFaultyListVariant, testing::ValuesIn(faulty_list_variant_names()),
                         test_name_of);

TEST_P(EveryFaultyListVariant, NamesTheLowestSuccessorPastTheNodes) {
  struct bad_entry {
    index_type type;
    std::uint64_t bits;
    const char* value;
  };
  constexpr bad_entry entries[] = {{index_type::u32, 1000, "1000"},
                                   {index_type::u32, 0xfffffffe, "4294967294"},
                                   {index_type::u32, 0x80000000, "2147483648"},
                                   {index_type::i32, 0x7fffffff, "2147483647"},
                                   {index_type::i32, 1000, "1000"},
                                   {index_type::u64, std::uint64_t{1} << 32, "4294967296"},
                                   {index_type::u64, ~std::uint64_t{0} - 1, "18446744073709551614"},
                                   {index_type::i64, 1000, "1000"},
                                   {index_type::i64, (std::uint64_t{1} << 32) + 5, "4294967301"}};
  for (const bad_entry& entry : entries) {
    for (const std::uint64_t position : {0, 500, 999}) {
      for (const list_count lists : {list_count::one, list_count::many}) {
        std::vector<std::uint64_t> next = good_list(1000).next;
        next[position] = entry.bits;
        if (position < 998) next[998] = 1001;
        expect_complaint(fmt::format("successor[{}] is {}, past the list's 1000 nodes", position, entry.value), next,
                         lists, entry.type);
      }
    }
  }
}

TEST_P(EveryFaultyListVariant, NamesTheLowestNodeThatTwoLeadTo) {
  for (const index_type type : index_types) {
    for (const list_count lists : {list_count::one, list_count::many}) {
      expect_complaint("nodes 0 and 1 both lead to node 2, so this is not a list", {2, 2, end_of_list}, lists, type);
      // Four nodes lead to node 3, two to node 6.
      expect_complaint("nodes 0 and 1 both lead to node 3, so this is not a list", {3, 3, 3, 4, 3, 6, 7, 6}, lists,
                       type);
      // The last node of a list leads back into it.
      expect_complaint("nodes 0 and 4 both lead to node 1, so this is not a list", {1, 2, 3, 4, 1}, lists, type);
    }
  }
}

TEST_P(EveryFaultyListVariant, NamesTheLowestTwoHeadsOfOneList) {
  expect_complaint("no node leads to node 0 or to node 1: two lists, where one is expected",
                   {end_of_list, end_of_list});
  expect_complaint("no node leads to node 1 or to node 3: two lists, where one is expected",
                   {end_of_list, 0, end_of_list, 2, end_of_list});
  expect_complaint("", {end_of_list, 0, end_of_list, 2, end_of_list}, list_count::many);
  // Two heads and a cycle: the heads are worse.
  expect_complaint("no node leads to node 0 or to node 2: two lists, where one is expected",
                   {end_of_list, 1 + 2, end_of_list, 1});
}

TEST_P(EveryFaultyListVariant, NamesTheLowestNodeOnACycle) {
  for (const index_type type : index_types) {
    for (const list_count lists : {list_count::one, list_count::many}) {
      expect_complaint("node 0 is on a cycle", {1, 0}, lists, type);
      expect_complaint("node 0 is on a cycle", {1, 2, 0}, lists, type);
      expect_complaint("node 1 is on a cycle", {3, 2, 1, end_of_list}, lists, type);
    }
  }
  // A node that ends a list beside a cycle, and two cycles.
  expect_complaint("node 1 is on a cycle", {0, 2, 1, 4, 3});
  // Short cycles beside a long list, where few splitters or none stand.
  for (const std::uint64_t cycle : {2, 3, 50}) {
    for (const std::uint64_t from : {10, 900, 1900}) {
      good_list list(2000);
      std::vector<std::uint64_t> taken(list.nodes.begin() + static_cast<std::ptrdiff_t>(from),
                                       list.nodes.begin() + static_cast<std::ptrdiff_t>(from + cycle));
      list.next[list.nodes[from - 1]] = list.next[taken.back()];
      list.next[taken.back()] = taken.front();
      const std::uint64_t lowest = *std::min_element(taken.begin(), taken.end());
      expect_complaint(fmt::format("node {} is on a cycle", lowest), list.next);
      expect_complaint(fmt::format("node {} is on a cycle", lowest), list.next, list_count::many);
    }
  }
}

TEST_P(EveryFaultyListVariant, FindsOneFaultAmongManyNodes) {
  constexpr std::uint64_t count = 300'000;
  const good_list list(count);
  {
    // The whole list is one cycle.
    std::vector<std::uint64_t> next = list.next;
    next[list.nodes.back()] = list.nodes.front();
    expect_complaint("node 0 is on a cycle", next);
  }
  {
    std::vector<std::uint64_t> next = list.next;
    const std::uint64_t a = std::min(list.nodes[999], list.nodes.back());
    const std::uint64_t b = std::max(list.nodes[999], list.nodes.back());
    next[list.nodes.back()] = list.nodes[1000];
    expect_complaint(fmt::format("nodes {} and {} both lead to node {}, so this is not a list", a, b, list.nodes[1000]),
                     next, list_count::many);
  }
  {
    // A long list beside a long cycle.
    std::vector<std::uint64_t> next = list.next;
    next[list.nodes[count / 3]] = end_of_list;
    next[list.nodes.back()] = list.nodes[count / 3 + 1];
    const auto begin = list.nodes.begin() + count / 3 + 1;
    expect_complaint(fmt::format("node {} is on a cycle", *std::min_element(begin, list.nodes.end())), next);
  }
  {
    std::vector<std::uint64_t> next = list.next;
    next[list.nodes[count / 2]] = end_of_list;
    const std::uint64_t a = std::min(list.nodes.front(), list.nodes[count / 2 + 1]);
    const std::uint64_t b = std::max(list.nodes.front(), list.nodes[count / 2 + 1]);
    expect_complaint(fmt::format("no node leads to node {} or to node {}: two lists, where one is expected", a, b),
                     next);
  }
}

TEST_P(EveryFaultyListVariant, KeepsTheFirstOfSeveralCalls) {
  const image cycle = successors_of({1, 0}, index_type::u32);
  const image joined = successors_of({2, 2, end_of_list}, index_type::u32);
  for (const named_context& where : contexts) {
    SCOPED_TRACE(where.name);
    for (const image* const successors : {&cycle, &joined}) {
      const auto got = rank_by(GetParam(), where.ctx, *successors, index_type::u32, poisoned(successors->count, 4, 4),
                               index_type::u32, list_count::one);
      EXPECT_TRUE(got.has_value());
    }
    EXPECT_EQ(where.ctx.status(), work_status::failed);
    expect_error(error_code::bad_index, "list_rank: node 0 is on a cycle", [&] { where.ctx.wait(); });
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

// Successors at random, in one of several ways to be no list.
std::vector<std::uint64_t> random_successors(std::uint64_t seed) {
  const std::uint64_t count = 1 + inputs::mix(seed) % 300;
  const auto number = [seed](std::uint64_t i) { return inputs::mix(seed * 4096 + i); };
  std::vector<std::uint64_t> next(count, end_of_list);
  const std::vector<std::uint64_t> order = order_of_nodes(node_order::random, count, seed * 512);
  switch (seed % 5) {
    case 0:  // anything, some of it past the nodes
      for (std::uint64_t i = 0; i < count; ++i) next[i] = number(i) % (count + seed % 2);
      break;
    case 1:  // a permutation: cycles, and ends where a node leads to itself
      next = order;
      break;
    case 2:  // cycles and lists
      for (std::uint64_t i = 0; i < count; ++i) next[i] = number(i) % 40 == 0 ? end_of_list : order[i];
      break;
    default:  // a list that is wrong in one to three places
      for (std::uint64_t k = 0; k + 1 < count; ++k) next[order[k]] = order[k + 1];
      for (std::uint64_t wrong = 0; wrong < seed % 4; ++wrong) next[number(wrong) % count] = number(wrong + 9) % count;
  }
  return next;
}

TEST_P(EveryFaultyListVariant, SaysWhatTheReferenceSays) {
  const context serial = context::cpu(1);
  std::size_t good = 0;
  constexpr std::uint64_t seeds = 3000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const index_type type = drawn(index_types, seed, 0);
    const list_count lists = seed % 7 < 4 ? list_count::one : list_count::many;
    const image successors = successors_of(random_successors(seed), type);
    const std::string expected = rank_complaint("reference.serial", serial, successors, type, lists);
    good += expected.empty() ? 1 : 0;
    for (const named_context& where : contexts) {
      SCOPED_TRACE(where.name);
      EXPECT_EQ(expected, rank_complaint(GetParam(), where.ctx, successors, type, lists));
      if (seed % 4 != 0) continue;
      const std::string of_scan = expected.empty() ? "" : "list_scan" + expected.substr(9);
      EXPECT_EQ(of_scan, scan_complaint(GetParam(), where.ctx, successors, type, lists, bytes(type) == 4));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(good, seeds / 20);
  EXPECT_LT(good, seeds / 2);
}

// Values that only their own function may touch: it is not called with anything but what it was given or made.
struct guarded_value {
  std::uint64_t number = 0;
  std::uint64_t check = ~std::uint64_t{0};
  std::uint64_t also = 0;
};
struct add_guarded {
  guarded_value operator()(const guarded_value& a, const guarded_value& b) const {
    EXPECT_TRUE(a.number == ~a.check && b.number == ~b.check && a.also == a.number && b.also == b.number);
    const std::uint64_t sum = a.number + b.number;
    return {sum, ~sum, sum};
  }
};

TEST_P(EveryFaultyListVariant, GivesACallersFunctionWholeValuesOnly) {
  if (GetParam().starts_with("cuda.")) GTEST_SKIP() << "functions of the caller's run on the CPU here";
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::vector<std::uint64_t> next = random_successors(seed);
    const image successors = successors_of(next, index_type::u32);
    std::vector<guarded_value> in(next.size()), out(next.size());
    for (std::uint64_t i = 0; i < in.size(); ++i) in[i] = {i, ~i, i};
    for (const named_context& where : contexts) {
      const std::string expected =
          rank_complaint("reference.serial", where.ctx, successors, index_type::u32, list_count::one);
      const std::string got = complaint_of(where.ctx, [&] {
        list_scan(where.ctx, index_view(successors, index_type::u32), in, out, add_guarded{}, {.variant = GetParam()});
      });
      EXPECT_EQ(expected.empty() ? "" : "list_scan" + expected.substr(9), got);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_linked_list_fault_test
