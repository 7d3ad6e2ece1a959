#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "primitives/movement/gather.hpp"
#include "primitives/movement/multipass.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/cases/movement.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

/// Input and output of a gather or scatter before the call; sequential and indexed side as in primitives/movement.hpp.
struct multipass_trial {
  bool gathers;
  bounds checking;
  index_type type;
  image sequential;
  image index;
  image indexed;

  multipass_trial(bool is_gather, const movement_case& c, bounds b = bounds::check)
      : gathers(is_gather),
        checking(b),
        type(c.index),
        sequential(side(!is_gather, c.count, c.record_bytes, c.sequential_padding, c.sequential_misalignment)),
        index(index_list(c.pattern, c.indexed_count, c.count, c.index)),
        indexed(side(is_gather, c.indexed_count, c.record_bytes, c.indexed_padding, c.indexed_misalignment)) {}

  static image side(bool is_read, std::uint64_t count, std::uint64_t width, std::uint64_t padding,
                    std::uint64_t misalignment) {
    return is_read ? filled(count, width, width + padding, misalignment, 7)
                   : poisoned(count, width, width + padding, misalignment);
  }
  const image& written() const { return gathers ? sequential : indexed; }

  // The output that the reference makes. The first bad index stays with ctx.
  image expected(const context& ctx) const {
    image sequential_copy = sequential;
    image indexed_copy = indexed;
    if (gathers) {
      gather(ctx, indexed_copy.view(), index_view(index, type), sequential_copy.view(),
             {.bounds = checking, .variant = "reference.serial"});
      return sequential_copy;
    }
    scatter(ctx, sequential_copy.view(), index_view(index, type), indexed_copy.view(),
            {.bounds = checking, .variant = "reference.serial"});
    return indexed_copy;
  }
};

template <class Variant>
const Variant& named(std::span<const Variant> all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
}

/// Plans with the variant of ctx's backend, changes the plan and runs it. Returns the side that it wrote.
template <class Change>
std::vector<std::byte> run_multipass(const context& ctx, const multipass_trial& t, Change change) {
  const placed sequential(ctx, t.sequential);
  const placed index(ctx, t.index);
  const placed indexed(ctx, t.indexed);
  const std::string name = ctx.backend() == backend_kind::cuda ? "cuda.multipass" : "cpu.multipass";
  const primitives::movement m = primitives::describe_movement(ctx, sequential.view(), index.index(t.type),
                                                               indexed.view(), access_pattern::unknown(), t.checking);
  const auto run_with = [&](const auto& variant, const auto& problem, const auto& buffers) {
    plan::planned plan = variant.plan(problem, ctx.profile());
    ASSERT_TRUE(plan.applicable()) << plan.rejection;
    EXPECT_GE(plan.decided.get<primitives::multipass_decision>().passes, 1U);
    EXPECT_EQ(plan.decided.get<primitives::multipass_decision>().segments, 1U);
    change(plan);
    variant.run(ctx, problem, plan, buffers, nullptr);
  };
  if (t.gathers) {
    run_with(named(primitives::gather_variants(), name), primitives::gather_problem{m},
             primitives::gather_buffers{indexed.view(), index.index(t.type), sequential.view()});
  } else {
    run_with(named(primitives::scatter_variants(), name), primitives::scatter_problem{m, duplicates::any},
             primitives::scatter_buffers{sequential.view(), index.index(t.type), indexed.view()});
  }
  expect_bytes((t.gathers ? indexed : sequential).download(), t.gathers ? t.indexed : t.sequential, "input");
  expect_bytes(index.download(), t.index, "index");
  return (t.gathers ? sequential : indexed).download();
}

/// Passes and segments set by hand.
struct forced {
  std::uint64_t passes;
  std::uint64_t segments;

  void operator()(plan::planned& plan) const {
    plan.decided.set(
        primitives::multipass_decision{static_cast<std::uint32_t>(passes), static_cast<std::uint32_t>(segments)});
  }
};

/// More passes than records too.
inline std::vector<forced> every_round() {
  std::vector<forced> all;
  for (const std::uint64_t passes : {1, 2, 3, 7, 16, 1000}) {
    for (const std::uint64_t segments : {1, 2, 5}) all.push_back({passes, segments});
  }
  return all;
}

}  // namespace sheaf::tests
