#include "papers/patidar2009/basic_split.hpp"

#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/split_runs.hpp"

// The basic split of 2009 with its parameters; by name, with those of the paper, it runs with all variants of splits.
namespace sheaf::tests::papers_patidar2009_basic_split_test {
namespace {

using papers::patidar2009::basic_split_form;
using papers::patidar2009::basic_split_rejection;
using papers::patidar2009::split_step;

void run(const context& ctx, const sheaf::primitives::split_problem& problem, const basic_split_form& form,
         const sheaf::primitives::split_buffers& buffers, std::byte* scratch,
         const papers::patidar2009::split_listener& listener) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) {
    return cuda::run_basic_split(ctx, problem, form, buffers, scratch, &listener);
  }
#endif
  cpu::run_basic_split(ctx, problem, form, buffers, scratch, &listener);
}

std::vector<split_step> steps_of(const basic_split_form& form) {
  if (!form.has_two_steps) return {split_step::count, split_step::scan, split_step::local_split};
  return {split_step::count, split_step::scan, split_step::local_split, split_step::scatter};
}

/// Runs a form on a case and checks records, offsets, the bytes around them, and the steps that were told.
void expect_split(const context& ctx, const split_trial& t, const basic_split_form& form) {
  const placed in(ctx, t.in);
  const placed out(ctx, t.out_before);
  const placed offsets(ctx, t.offsets_before);
  const bool stable = form.is_ordered;
  const auto problem = sheaf::primitives::describe_split(ctx, in.view(), t.key({}), out.view(), stable);
  ASSERT_EQ(basic_split_rejection(problem, form), nullptr);
  const std::uint64_t bytes = papers::patidar2009::basic_split_scratch(problem, form).bytes;
  const buffer scratch(ctx, bytes);
  sheaf::primitives::split_buffers buffers;
  buffers.in = buffers.keys = in.view();
  buffers.out = out.view();
  if (t.c.wants_offsets) buffers.offsets = reinterpret_cast<std::uint64_t*>(offsets.view().data);
  std::vector<split_step> told;
  run(ctx, problem, form, buffers, static_cast<std::byte*>(scratch.data()),
      {&told, [](void* to, split_step step) { static_cast<std::vector<split_step>*>(to)->push_back(step); }});
  ctx.wait();
  EXPECT_EQ(told, t.c.count == 0 ? std::vector<split_step>{} : steps_of(form));
  expect_bytes(in.download(), t.in, "in");
  expect_result({out.download(), offsets.download()}, t, stable ? product::stable : product::unstable);
}

/// Whether a copy, or no work at all, would give a wrong answer.
bool is_real(const split_trial& t) {
  const bool moves = !std::is_sorted(t.order.begin(), t.order.end());
  return moves && t.out_after.bytes != t.out_before.bytes;
}

std::vector<split_trial> trials() {
  std::vector<split_trial> all;
  for (const std::uint64_t width : {1, 2, 3, 4, 8, 12, 16, 20, 100, 300}) {
    for (const std::uint32_t bits : {1U, 3U, 8U, 11U}) {
      if (bits > 8 * width) continue;
      split_case c;
      c.record_bytes = width;
      c.count = 9001 - 20 * width;
      c.bits = {std::min<std::uint64_t>(5, 8 * width - bits), bits,
                all.size() % 2 == 0 ? bit_order::little_endian : bit_order::from_left};
      if (all.size() % 3 == 1) c.layout = {4, 8, 0, 4, 4, 0};
      if (all.size() % 3 == 2) c.layout = {1, 3, 0, 1, 0, 0};
      c.categories_are = all.size() % 4 == 3 ? spread::zipf : spread::uniform;
      c.wants_offsets = all.size() % 5 != 0;
      all.emplace_back(c);
    }
  }
  return all;
}

TEST(BasicSplit, SplitsRecordsOfAnyWidthBySegmentsOfAnyLength) {
  std::size_t real = 0;
  for (const split_trial& t : trials()) {
    SCOPED_TRACE(t.c.description());
    if (is_real(t)) ++real;
    for (const named_context& where : every_context()) {
      SCOPED_TRACE(where.name);
      for (const std::uint32_t segment : {1U, 33U, 256U, 1024U, 8192U, 1U << 20}) {
        if (segment == 1 && t.c.bits.count > 3) continue;  // tables of all categories for each record
        for (const bool two_steps : {false, true}) {
          expect_split(where.ctx, t, {.has_two_steps = two_steps, .segment_records = segment});
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(real, 30U);
}

TEST(BasicSplit, BlocksLoopOverSegmentsAndHardwareAtomicsTakeAnyOrder) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const split_trial& t : trials()) {
    SCOPED_TRACE(t.c.description());
    for (const bool two_steps : {false, true}) {
      for (const bool ordered : {false, true}) {
        for (const std::uint32_t blocks : {1U, 3U, 1000000U}) {
          expect_split(*ctx, t,
                       {.has_two_steps = two_steps, .is_ordered = ordered, .segment_records = 256, .blocks = blocks});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(BasicSplit, OfNothingAndOfOneRecord) {
  for (const std::uint64_t count : {0, 1}) {
    split_case c;
    c.count = count;
    c.record_bytes = 8;
    c.bits = {3, 8};
    const split_trial t(c);
    for (const named_context& where : every_context()) {
      for (const bool two_steps : {false, true}) expect_split(where.ctx, t, {.has_two_steps = two_steps});
    }
  }
}

TEST(BasicSplit, SaysWhatItDoesNotTake) {
  const auto rejection = [](std::uint32_t bits, bool stable, const basic_split_form& form) {
    const records some(nullptr, 100, 8);
    const auto problem =
        sheaf::primitives::describe_split(context::cpu(1), some, split_key::of_record({0, bits}), some, stable);
    return std::string(basic_split_rejection(problem, form));
  };
  EXPECT_EQ(rejection(12, true, {}), "splits into at most 2048 categories");
  EXPECT_EQ(rejection(8, true, {.is_ordered = false}), "does not keep the order within a category");
  const records some(nullptr, 100, 8);
  auto problem = sheaf::primitives::describe_split(context::cpu(1), some, split_key::of(some, {0, 8}), some, true);
  EXPECT_STREQ(basic_split_rejection(problem, {}), "splits records by bits of the records");
  problem = sheaf::primitives::describe_split(context::cpu(1), some, split_key::of_record({0, 8}), some, true);
  EXPECT_EQ(basic_split_rejection(problem, {}), nullptr);
  problem.count = std::uint64_t{1} << 44;
  EXPECT_STREQ(basic_split_rejection(problem, {}), "handles fewer than 2^31 segments");
  problem.in_stride_bytes = std::uint64_t{1} << 32;
  EXPECT_STREQ(basic_split_rejection(problem, {}), "records have a stride of 4 GiB or more");
}

}  // namespace
}  // namespace sheaf::tests::papers_patidar2009_basic_split_test
