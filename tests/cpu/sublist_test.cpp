// cpu.sublist where its sizes do not lead by themselves: lists in which its splitters stand in a row, links of 8 bytes,
// sublists whose ranks no longer fit beside their number, and several threads on few nodes.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/list_scan.hpp>

#include "core/cpu_state.hpp"
#include "cpu/list/layout.hpp"
#include "cpu/list/splitters.hpp"
#include "cpu/list/variants.hpp"
#include "support/list_trial.hpp"

namespace sheaf::tests {
namespace {

primitives::list_problem rank_problem(std::uint64_t count, list_count lists) {
  primitives::list_problem p;
  p.count = count;
  p.out_bytes = 4;
  p.lists = lists;
  return p;
}

/// Runs the variant as another tuning has it. Faults stay with ctx.
void run_tuned(const context& ctx, const cpu::sublist_tuning& tuning, const primitives::list_problem& p,
               const primitives::list_buffers& b) {
  cpu::sublist_decision decided{};
  plan::planned plan;
  plan.scratch_bytes = cpu::decide_sublists(p, ctx.profile().parallelism, tuning, decided);
  plan.decided.set(decided);
  const buffer scratch(ctx, plan.scratch_bytes);
  cpu::list_sublist.run(ctx, p, plan, b, scratch.data());
}

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
  cpu::sublist_tuning beside_nothing = many_threads;
  beside_nothing.widest_beside_link = 0;
  return {many_threads, wide, short_ranks, impatient, beside_nothing};
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
        run_tuned(ctx, tuning, rank_problem(count, c.lists()), b);
        EXPECT_EQ(complaint(ctx), "");
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
          run_tuned(ctx, tuning, p, b);
          EXPECT_EQ(complaint(ctx), "");
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
      run_tuned(ctx, tuning, rank_problem(count, lists), b);
      EXPECT_EQ(complaint(ctx), expected);
      if (HasFailure()) return;
    }
  }
}

// A list in which the splitters of the first `attempts` seeds stand in a row at one end. What is beyond them is one
// sublist.
std::vector<std::uint64_t> nodes_with_splitters_in_a_row(std::uint64_t count, int attempts, bool splitters_first) {
  cpu::sublist_decision decided{};
  cpu::decide_sublists(rank_problem(count, list_count::one), 2, {}, decided);
  std::vector<bool> is_splitter(count, false);
  for (int seed = 0; seed < attempts; ++seed) {
    for (std::uint64_t s = 0; s < decided.splitters; ++s) {
      is_splitter[cpu::splitter_of(s, count, decided.splitters, static_cast<std::uint64_t>(seed))] = true;
    }
  }
  std::vector<std::uint64_t> nodes = order_of_nodes(node_order::random, count, 3);
  std::stable_partition(nodes.begin(), nodes.end(), [&](std::uint64_t i) { return is_splitter[i] == splitters_first; });
  return nodes;
}

TEST_P(CpuSublist, TakesListsWhoseSplittersStandInARow) {
  // With 2^20 nodes in one sublist, ranks do not fit beside the sublist's number.
  for (const std::uint64_t count : {std::uint64_t{100'000}, std::uint64_t{1} << 20}) {
    for (int attempts = 1; attempts <= cpu::splitter_attempts; ++attempts) {
      for (const bool splitters_first : {false, true}) {
        if (count > 100'000 && splitters_first != (attempts == 1)) continue;
        SCOPED_TRACE(
            fmt::format("{} nodes, splitters of {} attempts {}", count, attempts, splitters_first ? "first" : "last"));
        const std::vector<std::uint64_t> nodes = nodes_with_splitters_in_a_row(count, attempts, splitters_first);
        std::vector<std::int32_t> next(count, -1);
        for (std::uint64_t k = 0; k + 1 < count; ++k) next[nodes[k]] = static_cast<std::int32_t>(nodes[k + 1]);
        std::vector<std::uint32_t> rank(count);
        list_rank(ctx, next, rank, {.variant = "cpu.sublist"});
        std::vector<std::uint64_t> in(count, 3), out(count);
        list_scan(ctx, next, in, out, scan_operator::add, {.variant = "cpu.sublist"});
        ctx.wait();
        for (std::uint64_t k = 0; k < count && !HasFailure(); ++k) {
          EXPECT_EQ(rank[nodes[k]], k);
          EXPECT_EQ(out[nodes[k]], 3 * (k + 1));
        }
      }
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
      EXPECT_GE(d.sublists, d.splitters + 1 + (count >> d.rank_bits)) << "sublists that are cut have numbers";
      EXPECT_EQ(d.link_bytes, count < std::uint64_t{1} << 30 ? 4U : 8U);
      for (std::uint64_t s = 0; s < std::min<std::uint64_t>(d.splitters, 100); ++s) {
        const std::uint64_t block = count / d.splitters;
        EXPECT_EQ(cpu::splitter_of(s, count, d.splitters, 1) / block, s);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests
