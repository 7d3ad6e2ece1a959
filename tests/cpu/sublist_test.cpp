// cpu.sublist where its sizes do not lead by themselves: lists in which its splitters stand in a row, so that walks go
// on in rounds, links of 8 bytes, sublists whose ranks no longer fit beside their number, and several threads on few
// nodes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/list_scan.hpp>

#include "core/cpu_state.hpp"
#include "cpu/linked_list/layout.hpp"
#include "cpu/linked_list/splitters.hpp"
#include "primitives/linked_list/contract.hpp"
#include "support/trials/list.hpp"

namespace sheaf::cpu {
extern const primitives::list_variant list_sublist;
}

namespace sheaf::tests::cpu_sublist_test {
namespace {

primitives::list_problem rank_problem(std::uint64_t count, list_count lists) {
  primitives::list_problem p;
  p.count = count;
  p.out_bytes = 4;
  p.lists = lists;
  return p;
}

/// A call by a tuning of its own, of which one sees where walks have begun. Faults stay with ctx.
struct tuned_run {
  cpu::sublist_decision decided{};
  std::vector<cpu::sublist> sublists;

  tuned_run(const context& ctx, const cpu::sublist_tuning& tuning, const primitives::list_problem& p,
            const primitives::list_buffers& b) {
    plan::planned plan;
    plan.scratch_bytes = cpu::decide_sublists(p, ctx.profile().parallelism, tuning, decided);
    plan.decided.set(decided);
    const buffer scratch(ctx, plan.scratch_bytes);
    std::memset(scratch.data(), 0xff, plan.scratch_bytes);  // sublists that are not used have no splitter
    cpu::list_sublist.run(ctx, p, plan, b, scratch.data());
    const auto* const first = reinterpret_cast<const cpu::sublist*>(scratch.data() + decided.sublists_at);
    sublists.assign(first, first + decided.sublists);
  }

  /// The nodes of the longest walk of any round: a walk ends where another has begun, and at the end of its list.
  std::uint64_t longest_walk(const std::vector<std::uint64_t>& nodes, const std::vector<bool>& begins_list) const {
    std::vector<bool> begins_walk(nodes.size(), false);
    for (const cpu::sublist& s : sublists) {
      if (s.splitter != cpu::no_node) begins_walk[s.splitter] = true;
    }
    std::uint64_t longest = 0;
    std::uint64_t length = 0;
    for (std::uint64_t k = 0; k < nodes.size(); ++k) {
      length = begins_list[k] || begins_walk[nodes[k]] ? 1 : length + 1;
      longest = std::max(longest, length);
    }
    return longest;
  }
  std::uint64_t walks() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(sublists, [](const cpu::sublist& s) { return s.splitter != cpu::no_node; }));
  }
};

struct affine {
  std::uint64_t scale = 1, shift = 0, tag = 0;
  bool operator==(const affine&) const = default;
};
struct compose {
  affine operator()(const affine& earlier, const affine& later) const {
    return {earlier.scale * later.scale, earlier.shift * later.scale + later.shift, earlier.tag};
  }
};

/// "" or what wait() says.
std::string complaint(const context& ctx) {
  try {
    ctx.wait();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

std::vector<cpu::sublist_tuning> tunings() {
  cpu::sublist_tuning many_threads;
  many_threads.nodes_per_thread = 4;
  many_threads.least_sublist = 2;
  cpu::sublist_tuning wide = many_threads;
  wide.narrow_bits = 3;
  cpu::sublist_tuning short_ranks = many_threads;
  short_ranks.narrow_bits = 15;
  short_ranks.longest_walk = 1000;
  cpu::sublist_tuning impatient = many_threads;
  impatient.longest_walk = 1;
  cpu::sublist_tuning no_later_splitters = impatient;
  no_later_splitters.rounds_of_splitters = 0;
  cpu::sublist_tuning beside_nothing = many_threads;
  beside_nothing.widest_beside_link = 0;
  return {many_threads, wide, short_ranks, impatient, no_later_splitters, beside_nothing};
}

class CpuSublist : public testing::TestWithParam<int> {
 protected:
  context ctx = context::cpu(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Threads, CpuSublist, testing::Values(1, 2, 5));

TEST_P(CpuSublist, RanksWithEveryTuning) {
  int which = 0;
  for (const cpu::sublist_tuning& tuning : tunings()) {
    SCOPED_TRACE(which++);
    for (const std::uint64_t count : {1, 2, 5, 64, 100, 1000, 5000, 20'000}) {
      for (const list_cut cut : list_cuts) {
        const list_case c{.count = count, .cut = cut};
        SCOPED_TRACE(c.description());
        const made_lists lists(c);
        const image successors = lists.successors(index_type::u32, end_mark::itself);
        std::vector<std::uint32_t> rank(count);
        primitives::list_buffers b;
        b.successor = index_view(successors, index_type::u32);
        b.out = rank.data();
        const tuned_run run(ctx, tuning, rank_problem(count, c.lists()), b);
        EXPECT_EQ(complaint(ctx), "");
        EXPECT_LE(run.longest_walk(lists.nodes, lists.begins), run.decided.longest_walk);
        const image expected = lists.ranks(index_type::u32);
        for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) {
          EXPECT_EQ(rank[i], reduce_trial::at<std::uint32_t>(expected, i)) << "node " << i;
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(CpuSublist, ScansWithEveryTuning) {
  const compose op;
  const detail::host_scan_operator on_host = detail::host_operator<affine>(op);
  int which = 0;
  for (const cpu::sublist_tuning& tuning : tunings()) {
    SCOPED_TRACE(which++);
    for (const std::uint64_t count : {1, 2, 5, 64, 100, 1000, 5000}) {
      for (const list_cut cut : list_cuts) {
        for (const bool is_exclusive : {false, true}) {
          const list_case c{.count = count, .cut = cut, .is_exclusive = is_exclusive};
          SCOPED_TRACE(c.description());
          const made_lists lists(c);
          const image successors = lists.successors(index_type::u32, end_mark::all_bits_set);
          std::vector<affine> in(count), out(count), expected(count);
          for (std::uint64_t i = 0; i < count; ++i)
            in[i] = {inputs::mix(i) | 1, inputs::mix(i + 1), inputs::mix(i + 2)};
          const affine initial{5, 7, 9};
          affine running;
          for (std::uint64_t k = 0; k < count; ++k) {
            const std::uint64_t node = lists.nodes[k];
            if (lists.begins[k]) running = initial;
            expected[node] = running;
            running = lists.begins[k] && !is_exclusive ? in[node] : op(running, in[node]);
            if (!is_exclusive) expected[node] = running;
          }
          primitives::list_problem p = rank_problem(count, c.lists());
          p.value_bytes = p.out_bytes = sizeof(affine);
          p.is_exclusive = is_exclusive;
          p.has_own_operator = true;
          primitives::list_buffers b;
          b.successor = index_view(successors, index_type::u32);
          b.in = in.data();
          b.out = out.data();
          b.initial = is_exclusive ? &initial : nullptr;
          b.on_host = &on_host;
          const tuned_run run(ctx, tuning, p, b);
          EXPECT_EQ(complaint(ctx), "");
          EXPECT_LE(run.longest_walk(lists.nodes, lists.begins), run.decided.longest_walk);
          EXPECT_TRUE(out == expected);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(CpuSublist, FindsTheReferencesFaultsWithEveryTuning) {
  int which = 0;
  for (const cpu::sublist_tuning& tuning : tunings()) {
    SCOPED_TRACE(which++);
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      const auto number = [seed](std::uint64_t i) { return inputs::mix(seed * 4096 + i); };
      const std::uint64_t count = 1 + number(1) % 300;
      const std::vector<std::uint64_t> order = order_of_nodes(node_order::random, count, seed * 512);
      std::vector<std::uint32_t> next(count, 0xffffffff);
      for (std::uint64_t k = 0; k + 1 < count; ++k) next[order[k]] = static_cast<std::uint32_t>(order[k + 1]);
      for (std::uint64_t wrong = 0; wrong < seed % 5; ++wrong) {
        next[number(wrong + 10) % count] = static_cast<std::uint32_t>(number(wrong + 20) % count);
      }
      std::vector<std::uint32_t> rank(count);
      const list_count lists = seed % 2 == 0 ? list_count::one : list_count::many;
      list_rank(ctx, next, rank, {.lists = lists, .variant = "reference.serial"});
      const std::string expected = complaint(ctx);
      primitives::list_buffers b;
      b.successor = next;
      b.out = rank.data();
      const tuned_run run(ctx, tuning, rank_problem(count, lists), b);
      EXPECT_EQ(complaint(ctx), expected);
      if (HasFailure()) return;
    }
  }
}

/// Nodes in the order of a list that is hard to cut: the splitters of the first round stand in a row at one end. What
/// is beyond them is one sublist, or comes before all of them.
std::vector<std::uint64_t> nodes_with_splitters_in_a_row(std::uint64_t count, bool splitters_first) {
  cpu::sublist_decision decided{};
  cpu::decide_sublists(rank_problem(count, list_count::one), 2, {}, decided);
  std::vector<bool> is_splitter(count, false);
  for (std::uint64_t s = 0; s < decided.splitters; ++s) {
    is_splitter[cpu::splitter_of(s, count, decided.splitters, 0)] = true;
  }
  std::vector<std::uint64_t> nodes = order_of_nodes(node_order::random, count, 3);
  std::stable_partition(nodes.begin(), nodes.end(), [&](std::uint64_t i) { return is_splitter[i] == splitters_first; });
  return nodes;
}

/// Lists, one for each true member of `begins`, of nodes in this order.
std::vector<std::uint32_t> successors_of(const std::vector<std::uint64_t>& nodes, const std::vector<bool>& begins) {
  std::vector<std::uint32_t> next(nodes.size(), 0xffffffff);
  for (std::uint64_t k = 0; k + 1 < nodes.size(); ++k) {
    if (!begins[k + 1]) next[nodes[k]] = static_cast<std::uint32_t>(nodes[k + 1]);
  }
  return next;
}

struct hard_list {
  std::vector<std::uint64_t> nodes;
  std::vector<bool> begins;
  std::vector<std::uint32_t> next;

  hard_list(std::uint64_t count, bool splitters_first, bool has_many_lists)
      : nodes(nodes_with_splitters_in_a_row(count, splitters_first)), begins(count, false) {
    begins[0] = true;
    if (has_many_lists) begins[count / 3] = begins[count / 3 + 1] = begins[count - 1] = true;
    next = successors_of(nodes, begins);
  }
  list_count lists() const { return std::ranges::count(begins, true) == 1 ? list_count::one : list_count::many; }
};

template <class Body>
void for_each_hard_list(const std::vector<std::uint64_t>& counts, Body body) {
  for (const std::uint64_t count : counts) {
    for (const bool splitters_first : {false, true}) {
      for (const bool has_many_lists : {false, true}) {
        SCOPED_TRACE(fmt::format("{} nodes, splitters {}{}", count, splitters_first ? "first" : "last",
                                 has_many_lists ? ", four lists" : ""));
        body(hard_list(count, splitters_first, has_many_lists));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(CpuSublist, WalksNoFurtherThanTheLimitWhenSplittersStandInARow) {
  // With 2^20 nodes in one sublist, ranks do not fit beside the sublist's number.
  std::vector<std::uint64_t> counts{100'000, 1 << 20, (1 << 22) + 77};
  if (under_address_sanitizer) counts.pop_back();
  for_each_hard_list(counts, [&](const hard_list& list) {
    const std::uint64_t count = list.nodes.size();
    std::vector<std::uint32_t> rank(count);
    primitives::list_buffers b;
    b.successor = list.next;
    b.out = rank.data();
    const tuned_run run(ctx, {}, rank_problem(count, list.lists()), b);
    ASSERT_EQ(complaint(ctx), "");
    for (std::uint64_t k = 0, expected = 0; k < count; ++k, ++expected) {
      if (list.begins[k]) expected = 0;
      ASSERT_EQ(rank[list.nodes[k]], expected) << "node " << list.nodes[k];
    }
    EXPECT_LE(run.longest_walk(list.nodes, list.begins), run.decided.longest_walk);
    EXPECT_LT(run.decided.longest_walk, count / 4) << "a walk to the end would pass the limit";
    EXPECT_GT(run.walks(), run.decided.splitters + run.decided.splitters / 2) << "the second round has splitters, too";
  });
}

TEST_P(CpuSublist, ScansInRoundsBothWays) {
  const detail::host_scan_operator on_host = detail::host_operator<std::uint64_t>(std::plus<>{});
  for_each_hard_list({100'000, 1 << 20}, [&](const hard_list& list) {
    const std::uint64_t count = list.nodes.size();
    std::vector<std::uint64_t> in(count), out(count);
    for (std::uint64_t i = 0; i < count; ++i) in[i] = inputs::mix(i);
    for (const bool is_exclusive : {false, true}) {
      const std::uint64_t initial = 12345;
      primitives::list_problem p = rank_problem(count, list.lists());
      p.value_bytes = p.out_bytes = p.out_word = 8;
      p.is_exclusive = is_exclusive;
      primitives::list_buffers b;
      b.successor = list.next;
      b.in = in.data();
      b.out = out.data();
      b.type = value_type::u64;
      b.on_host = &on_host;
      b.initial = is_exclusive ? &initial : nullptr;
      const tuned_run run(ctx, {}, p, b);
      ASSERT_EQ(complaint(ctx), "");
      std::uint64_t sum = 0;
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t node = list.nodes[k];
        if (list.begins[k]) sum = is_exclusive ? initial : 0;
        ASSERT_EQ(out[node], is_exclusive ? sum : sum + in[node]) << "node " << node;
        sum += in[node];
      }
      EXPECT_LE(run.longest_walk(list.nodes, list.begins), run.decided.longest_walk);
    }
  });
}

// Where walks are cut is a matter of the list, not of threads: sums of floats show it.
TEST(CpuSublistRounds, SumFloatsAlikeByAnyNumberOfThreads) {
  for_each_hard_list({200'000}, [&](const hard_list& list) {
    const std::uint64_t count = list.nodes.size();
    std::vector<float> in(count), first(count), out(count);
    for (std::uint64_t i = 0; i < count; ++i) in[i] = static_cast<float>(inputs::mix(i) % 1000) / 7;
    for (const int threads : {1, 2, 3, 5, 2}) {
      const context ctx = context::cpu(threads);
      list_scan(ctx, list.next, in, threads == 1 ? first : out, scan_operator::add,
                {.lists = list.lists(), .variant = "cpu.sublist"});
      ctx.wait();
      EXPECT_TRUE(threads == 1 || out == first) << threads << " threads";
    }
  });
}

TEST_P(CpuSublist, FindsTheReferencesFaultsInRounds) {
  const std::uint64_t count = 150'000;
  for (const bool splitters_first : {false, true}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}, splitters {}", seed, splitters_first ? "first" : "last"));
      hard_list list(count, splitters_first, seed % 2 != 0);
      const auto place = [&](std::uint64_t i) { return inputs::mix(seed * 16 + i) % count; };
      // A cycle beside the list, two nodes that lead to one, or both and more.
      const std::uint64_t from = std::min(place(1), place(2));
      const std::uint64_t to = std::max(place(1), place(2));
      if (seed % 3 == 0 && from > 0) list.next[list.nodes[from - 1]] = list.next[list.nodes[to]];
      list.next[list.nodes[to]] = static_cast<std::uint32_t>(list.nodes[from]);
      if (seed % 3 == 2) list.next[place(3)] = static_cast<std::uint32_t>(place(4));
      std::vector<std::uint32_t> rank(count);
      list_rank(ctx, list.next, rank, {.lists = list.lists(), .variant = "reference.serial"});
      const std::string expected = complaint(ctx);
      EXPECT_NE(expected, "");
      list_rank(ctx, list.next, rank, {.lists = list.lists(), .variant = "cpu.sublist"});
      EXPECT_EQ(complaint(ctx), expected);
    }
  }
}

TEST(CpuSublistLayout, FitsNumbersAndRanksIntoLinks) {
  for (int bits = 0; bits < 40; ++bits) {
    for (const std::uint64_t less : {0, 1, 12345}) {
      const std::uint64_t count = (std::uint64_t{1} << bits) - std::min(less, (std::uint64_t{1} << bits) - 1);
      SCOPED_TRACE(count);
      cpu::sublist_decision d{};
      cpu::decide_sublists(rank_problem(count, list_count::one), 4, {}, d);
      const int payload = 8 * static_cast<int>(d.link_bytes) - 1;
      EXPECT_LE(d.sublists - 1, ((std::uint64_t{1} << payload) - 1) >> d.rank_bits);
      EXPECT_LT(count, std::uint64_t{1} << payload) << "a link holds the number of every node and one more";
      EXPECT_GE(d.sublists, d.splitters + 1 + (count >> d.rank_bits) + count / d.longest_walk + d.later_splitters)
          << "sublists that are cut have numbers";
      EXPECT_GE(d.later_splitters, d.splitters / 2) << "a second round has splitters";
      EXPECT_EQ(d.link_bytes, count <= std::uint64_t{1} << 30 ? 4U : 8U);
      for (std::uint64_t s = 0; s < std::min<std::uint64_t>(d.splitters, 100); ++s) {
        const std::uint64_t block = count / d.splitters;
        EXPECT_EQ(cpu::splitter_of(s, count, d.splitters, 1) / block, s);
      }
    }
  }
}

// Benchmarks read the time of each step of section 3 from these reports.
TEST_P(CpuSublist, ReportsEachStepOnceAndInOrder) {
  using primitives::list_step;
  const std::vector<list_step> expected{list_step::head, list_step::splitters, list_step::walks, list_step::sublists,
                                        list_step::results};
  for_each_hard_list({1000, 100'000}, [&](const hard_list& list) {
    std::vector<list_step> reported;
    const primitives::list_listener listener{
        &reported, [](void* state, list_step step) { static_cast<std::vector<list_step>*>(state)->push_back(step); }};
    std::vector<std::uint32_t> rank(list.nodes.size());
    primitives::list_buffers b;
    b.successor = list.next;
    b.out = rank.data();
    b.listener = &listener;
    const tuned_run run(ctx, {}, rank_problem(rank.size(), list.lists()), b);
    EXPECT_EQ(complaint(ctx), "");
    EXPECT_EQ(reported, expected);
  });
}

}  // namespace
}  // namespace sheaf::tests::cpu_sublist_test
