#include "papers/wei2010/list_sums.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "papers/wei2010/loads.hpp"
#include "support/trials/list.hpp"

// The steps of 2010 with their parameters, on the CPU and, where there is one, on a device.
namespace sheaf::tests::papers_wei2010_list_sums_test {
namespace {

using namespace papers::wei2010;

/// Memory of a call in a context.
class placed_call {
 public:
  placed_call(const context& ctx, const list_sums_form& form, const image& nodes, const image& out)
      : ctx_(ctx),
        form_(form),
        nodes_(ctx, nodes),
        out_(ctx, out),
        scratch_(ctx, list_sums_scratch(ctx, form, nodes.count)),
        count_(nodes.count) {
    // What an earlier call has left must not matter.
    const std::vector<std::byte> dirt(scratch_.size(), std::byte{0x5a});
    copy_bytes(ctx, scratch_.data(), dirt.data(), dirt.size());
  }

  void run(std::vector<sums_step>* told = nullptr, std::vector<std::uint64_t>* loads = nullptr) {
    const sums_listener listener{
        told, [](void* to, sums_step step) { static_cast<std::vector<sums_step>*>(to)->push_back(step); }};
    list_sums_buffers buffers;
    buffers.nodes = nodes_.view().data;
    buffers.count = count_;
    buffers.sums = reinterpret_cast<std::uint32_t*>(out_.view().data);
    buffers.scratch = static_cast<std::byte*>(scratch_.data());
    if (told != nullptr) buffers.listener = &listener;
    run_list_sums(ctx_, form_, buffers, loads);
  }
  std::vector<std::byte> nodes() const { return nodes_.download(); }
  std::vector<std::byte> out() const { return out_.download(); }

 private:
  const context& ctx_;
  list_sums_form form_;
  placed nodes_;
  placed out_;
  buffer scratch_;
  std::uint64_t count_;
};

list_case case_of(std::uint64_t count, node_order order, end_mark end) {
  return {.count = count, .order = order, .successor = index_type::i32, .end = end, .is_packed = true};
}

std::vector<sums_step> steps_of(const context& ctx, const list_sums_form& form) {
  if (ctx.backend() == backend_kind::cuda && form.scan == sublist_scan::on_host) {
    return {sums_step::head,     sums_step::splitters, sums_step::walks,  sums_step::copy_to_host,
            sums_step::sublists, sums_step::copy_back, sums_step::results};
  }
  return {sums_step::head, sums_step::splitters, sums_step::walks, sums_step::sublists, sums_step::results};
}

void expect_sums(const context& ctx, const list_trial& t, const list_sums_form& form) {
  SCOPED_TRACE(fmt::format("{} x {} walkers, {} sublists{}{}", form.blocks, form.threads, form.sublists,
                           form.supply == sublist_supply::drawn ? ", drawn" : "",
                           form.scan == sublist_scan::on_host ? "" : ", by one thread"));
  placed_call call(ctx, form, t.nodes, t.before);
  std::vector<sums_step> told;
  std::vector<std::uint64_t> loads;
  call.run(&told, &loads);
  expect_bytes(call.out(), t.after, "sums");
  expect_bytes(call.nodes(), t.nodes, "nodes");
  EXPECT_EQ(told, steps_of(ctx, form));
  EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::uint64_t{0}), t.c.count);
  if (ctx.backend() == backend_kind::cpu) {
    EXPECT_EQ(loads.size(), static_cast<std::size_t>(ctx.threads()));
  }
}

std::vector<list_sums_form> forms_of(std::uint64_t count) {
  std::vector<list_sums_form> forms;
  for (const std::uint64_t sublists : {std::uint64_t{1}, std::uint64_t{2}, count / 7 + 1, count}) {
    if (sublists > count) continue;
    for (const auto& [blocks, threads] : {std::pair{1, 1}, {1, 64}, {3, 5}, {40, 33}, {2, 1024}}) {
      const bool is_drawn = (forms.size() + forms.size() / 5) % 2 == 0;
      forms.push_back({static_cast<std::uint64_t>(blocks), static_cast<std::uint64_t>(threads), sublists,
                       is_drawn ? sublist_supply::drawn : sublist_supply::dealt,
                       forms.size() % 3 == 0 ? sublist_scan::by_one_thread : sublist_scan::on_host});
    }
  }
  return forms;
}

TEST(ListSums, AreThoseOfAWalkWhateverTheShape) {
  std::size_t runs = 0;
  for (const std::uint64_t count : {1, 2, 3, 64, 1000, 20'011}) {
    for (const node_order order : node_orders) {
      const end_mark end =
          order == node_order::random || order == node_order::strided ? end_mark::negative : end_mark::itself;
      const list_trial t(case_of(count, order, end));
      ASSERT_NE(t.after.bytes, t.before.bytes);
      for (const named_context& where : every_context()) {
        SCOPED_TRACE(where.name + ", " + t.c.description());
        const std::vector<list_sums_form> forms = forms_of(count);
        for (std::size_t f = runs % 3; f < forms.size(); f += 3) {
          ++runs;
          expect_sums(where.ctx, t, forms[f]);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(runs, 150U);
}

TEST(ListSums, OfNothingAreNothing) {
  for (const named_context& where : every_context()) {
    const list_trial t(case_of(0, node_order::ordered, end_mark::negative));
    std::vector<std::uint64_t> loads{5};
    placed_call call(where.ctx, {}, t.nodes, t.before);
    call.run(nullptr, &loads);
    expect_bytes(call.out(), t.before, "sums");
    EXPECT_TRUE(loads.empty());
  }
}

/// A list of 1000 nodes in order, of which some get other successors.
void expect_refused(const char* what, std::initializer_list<std::pair<std::uint64_t, std::int32_t>> changes) {
  list_trial t(case_of(1000, node_order::ordered, end_mark::negative));
  for (const auto& [node, successor] : changes) std::memcpy(t.nodes.record(node) + 4, &successor, sizeof successor);
  for (const named_context& where : every_context()) {
    for (const sublist_supply supply : {sublist_supply::dealt, sublist_supply::drawn}) {
      for (const sublist_scan scan : {sublist_scan::on_host, sublist_scan::by_one_thread}) {
        SCOPED_TRACE(fmt::format("{}, {}", what, where.name));
        for (const std::uint64_t sublists : {1, 90, 1000}) {
          placed_call call(where.ctx, {4, 16, sublists, supply, scan}, t.nodes, t.before);
          try {
            call.run();
            FAIL() << "no error with " << sublists << " sublists";
          } catch (const error& e) {
            EXPECT_EQ(e.code(), error_code::bad_index);
            EXPECT_STREQ(e.what(), "list sums: the nodes are not one list");
          }
        }
      }
    }
  }
}

TEST(ListSums, OfWhatIsNoListAreRefusedInBoundedTime) {
  expect_refused("a cycle of all nodes", {{999, 0}});
  expect_refused("a cycle beside the list", {{499, -5}, {999, 500}});
  expect_refused("two lists", {{499, -5}});
  expect_refused("a successor past the nodes", {{499, 1000}});
  expect_refused("two nodes that lead to one", {{499, 700}});
  // The sum of the successors is that of a list with head 0, and there is one end.
  expect_refused("two pairs of nodes that lead to one each", {{99, 300}, {249, 50}});
  expect_refused("a list that leads into itself", {{99, 300}, {899, 700}});
}

// Nodes 0, 1, 2 and 3, 1, 4: from 1 on they are one. Both walks have all nodes between them.
TEST(SublistWalk, ThatMeetsAnotherFollowsItself) {
  std::uint64_t nodes[] = {node_of(1, mark_of(0)), node_of(10, 4), node_of(100, end_of_list), node_of(1000, mark_of(1)),
                           node_of(10'000, 2)};
  sublist_of_sums sublists[] = {{0, 1, 1, 0}, {3, 1, 1000, 0}};
  for (const std::uint64_t number : {1, 0}) {
    sublist_walk walk;
    ASSERT_TRUE(walk.begin(sublists, number));
    while (walk.step(nodes, sublists)) {
    }
    walk.end(sublists);
  }
  EXPECT_EQ(sublists[1].next, end_of_list);
  EXPECT_EQ(sublists[1].nodes, 4U);
  EXPECT_EQ(sublists[1].sum, 11'110U);
  EXPECT_EQ(nodes[4], node_of(11'010, mark_of(1)));
  EXPECT_EQ(sublists[0].nodes, 1U);
  EXPECT_EQ(sublists[0].next, mark_of(0));
  std::uint32_t before[2] = {};
  EXPECT_FALSE(scan_sublists(sublists, 2, 5, before));
  sublists[0].next = mark_of(1);
  EXPECT_TRUE(scan_sublists(sublists, 2, 5, before));
  EXPECT_EQ(before[1], 1U);
  EXPECT_FALSE(scan_sublists(sublists, 2, 6, before)) << "nodes that no sublist has";
}

TEST(ListSums, SayWhatTheyDoNotTake) {
  const context ctx = context::cpu(1);
  const auto message = [&](const list_sums_form& form, std::uint64_t count) -> std::string {
    try {
      list_sums_scratch(ctx, form, count);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::bad_argument);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({.blocks = 0}, 1 << 20), "list sums: 0 blocks");
  EXPECT_EQ(message({.threads = 0}, 1 << 20), "list sums: 0 threads of a block; it has 1 to 2147483647");
  EXPECT_EQ(message({.sublists = 5}, 4), "list sums: 5 sublists of 4 nodes");
  EXPECT_EQ(message({.sublists = 0}, 4), "list sums: 0 sublists of 4 nodes");
  EXPECT_EQ(message({}, std::uint64_t{1} << 31), "list sums: 2147483648 nodes; successors have 31 bits");
  EXPECT_EQ(message({}, 1 << 20), "");
  EXPECT_EQ(message({}, 0), "");
  const auto cuda = cuda_context();
  if (!cuda) return;
  EXPECT_THROW(list_sums_scratch(*cuda, {.threads = 1025}, 1 << 20), error);
}

jobs::problem_spec strided_sums(std::uint64_t count, std::uint64_t stride) {
  const jobs::problem_spec spec{.primitive = "list_scan",
                                .pattern = {inputs::pattern_kind::strided, stride},
                                .record_bytes = 4,
                                .index = index_type::i32,
                                .count = count,
                                .value = value_type::u32};
  return spec.with(primitives::list_part{.is_packed = true});
}

// What the figures do: a problem of the benchmark, whose check finds a wrong sum and one that nobody wrote.
TEST(ListSums, AreCheckedAsTheFiguresCheckThem) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    jobs::problem_arrays arrays(where.ctx);
    const jobs::problem_spec p = strided_sums(30'000, 1001);
    arrays.reserve(p, 1);
    arrays.fill(p, 1);
    arrays.reset_outputs();
    where.ctx.wait();
    EXPECT_NE(arrays.count_mistakes(false), 0U) << "nothing was called";
    const list_sums_form form{.blocks = 4, .threads = 32, .sublists = 1000};
    const buffer scratch(where.ctx, list_sums_scratch(where.ctx, form, p.count));
    list_sums_buffers buffers;
    buffers.nodes = arrays.at(0, jobs::places::source).data;
    buffers.count = p.count;
    buffers.sums = reinterpret_cast<std::uint32_t*>(arrays.at(0, jobs::places::target).data);
    buffers.scratch = static_cast<std::byte*>(scratch.data());
    run_list_sums(where.ctx, form, buffers);
    EXPECT_EQ(arrays.count_mistakes(false), 0U);
    std::uint32_t sum = 0;
    copy_bytes(where.ctx, &sum, buffers.sums + 12'345, sizeof sum);
    ++sum;
    copy_bytes(where.ctx, buffers.sums + 12'345, &sum, sizeof sum);
    EXPECT_EQ(arrays.count_mistakes(false), 1U);
  }
}

// The loads that are counted where sublists are dealt to threads are those that their places tell.
TEST(LoadsOfThreads, AreThoseThatFollowFromTheSplitters) {
  namespace wei2010 = bench::papers::wei2010;
  constexpr std::uint64_t stride = 1001;
  for (const std::uint64_t count : {std::uint64_t{4096}, std::uint64_t{1} << 17}) {
    jobs::problem_arrays arrays(context::cpu(1));
    const jobs::problem_spec p = strided_sums(count, stride);
    arrays.reserve(p, 1);
    arrays.fill(p, 1);
    const image out = poisoned(count, 4, 4);
    image nodes = poisoned(count, 8, 8);
    std::memcpy(nodes.record(0), arrays.at(0, jobs::places::source).data, count * 8);
    for (const int threads : {1, 3, 4}) {
      const context ctx = context::cpu(threads);
      for (const std::uint64_t sublists : {std::uint64_t{60}, std::uint64_t{1000}, count}) {
        SCOPED_TRACE(fmt::format("{} nodes, {} threads, {} sublists", count, threads, sublists));
        const auto blocks = static_cast<std::uint64_t>(threads);
        const list_sums_form form{.blocks = blocks, .threads = 5, .sublists = sublists};
        std::vector<std::uint64_t> loads;
        placed_call(ctx, form, nodes, out).run(nullptr, &loads);
        const auto lengths = wei2010::lengths_of_form(count, sublists, stride);
        EXPECT_DOUBLE_EQ(wei2010::over_mean(loads), wei2010::load_of(lengths, form.walkers(), blocks).dealt);
        if (threads > 1 && sublists == 60) {
          EXPECT_GT(wei2010::over_mean(loads), 1.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::papers_wei2010_list_sums_test
