// Calls take all of their scratch before they write anything, no more than explain_* says and the context's limit
// allows, and fall back on plans that need less. Tried by limits from 0 up, and by failing each allocation in turn.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "core/context_state.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/split/contract.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_scratch_limit_test {
namespace {

constexpr std::uint64_t count = 50'000;
constexpr std::uint64_t no_failure = ~std::uint64_t{0};

// Counts what is taken from another resource, and fails one allocation.
struct failing_resource {
  memory_resource under;
  std::uint64_t fails_at = no_failure;  ///< number of the allocation that fails, from 0 on
  std::uint64_t taken = 0;
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 0;

  explicit failing_resource(const context& ctx) : under(ctx.state().memory) {}

  void start(std::uint64_t failing) {
    fails_at = failing;
    taken = 0;
    most_bytes = bytes;
  }

  memory_resource resource() {
    return {[](void* state, std::uint64_t wanted, CUstream_st* stream) -> void* {
              auto& self = *static_cast<failing_resource*>(state);
              if (self.taken++ == self.fails_at) return nullptr;
              self.bytes += wanted;
              self.most_bytes = std::max(self.most_bytes, self.bytes);
              return self.under.allocate(self.under.state, wanted, stream);
            },
            [](void* state, void* block, std::uint64_t given, CUstream_st* stream) {
              auto& self = *static_cast<failing_resource*>(state);
              self.bytes -= given;
              self.under.deallocate(self.under.state, block, given, stream);
            },
            this};
  }
};

// A call with one right answer: what it reads, what it writes, and how it is made and explained.
struct call {
  std::string name;
  bool always_can = false;  ///< a variant needs no scratch
  std::vector<image> read;
  std::vector<image> written;
  std::vector<std::string> variants;
  std::function<void(const context&, const std::vector<placed>&, const std::vector<placed>&, std::string_view)> run;
  std::function<explanation(const context&, const std::vector<placed>&, const std::vector<placed>&, std::string_view)>
      explain = {};
};

template <class Variant>
std::vector<std::string> names_of(std::span<const Variant> variants) {
  std::vector<std::string> names{""};
  for (const Variant& v : variants) names.emplace_back(v.name);
  return names;
}

image numbers(std::uint64_t width, std::uint64_t seed) { return filled(count, width, width, 0, seed); }
image output(std::uint64_t width, std::uint64_t records = count) { return poisoned(records, width, width); }
image permutation() { return index_list(inputs::parse_pattern("permutation"), count, count, index_type::u32); }

// Records of which only the lowest `bits` differ, so that an unordered split has one right answer.
image narrow_numbers(std::uint32_t bits) {
  image made = numbers(4, 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t number = 0;
    std::memcpy(&number, made.record(i), 4);
    set_entry(made, i, number & ((1U << bits) - 1));
  }
  return made;
}

void add_movements(std::vector<call>& all) {
  all.push_back({"gather",
                 true,
                 {numbers(8, 1), permutation()},
                 {output(8)},
                 names_of(primitives::gather_variants()),
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   gather(ctx, in[0].view(), in[1].index(index_type::u32), out[0].view(), {.variant = variant});
                 },
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   return explain_gather(ctx, in[0].view(), in[1].index(index_type::u32), out[0].view(),
                                         {.variant = variant});
                 }});
  for (const duplicates order : {duplicates::any, duplicates::last}) {
    all.push_back({"scatter",
                   order == duplicates::any,
                   {numbers(8, 1), permutation()},
                   {output(8)},
                   names_of(primitives::scatter_variants()),
                   [order](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     scatter(ctx, in[0].view(), in[1].index(index_type::u32), out[0].view(),
                             {.duplicates = order, .variant = variant});
                   },
                   [order](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     return explain_scatter(ctx, in[0].view(), in[1].index(index_type::u32), out[0].view(),
                                            {.duplicates = order, .variant = variant});
                   }});
  }
  all.push_back({"scatter_reduce",
                 true,
                 {numbers(4, 1), index_list(inputs::parse_pattern("zipf"), 1000, count, index_type::u32)},
                 {output(4, 1000)},
                 names_of(primitives::scatter_reduce_variants()),
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   scatter_reduce(ctx, {in[0].view().data, count, value_type::u32}, in[1].index(index_type::u32),
                                  {out[0].view().data, 1000, value_type::u32}, reduction::add, {.variant = variant});
                 },
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   return explain_scatter_reduce(
                       ctx, {in[0].view().data, count, value_type::u32}, in[1].index(index_type::u32),
                       {out[0].view().data, 1000, value_type::u32}, reduction::add, {.variant = variant});
                 }});
}

void add_splits(std::vector<call>& all) {
  const std::vector<std::string> variants = names_of(primitives::split_variants());
  for (const std::uint32_t bits : {8U, 16U}) {
    const bit_field field{0, bits};
    all.push_back({"split",
                   false,
                   {numbers(8, 1), numbers(4, 2)},
                   {output(8)},
                   variants,
                   [field](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     split(ctx, in[0].view(), split_key::of(in[1].view(), field), out[0].view(), {}, {variant});
                   },
                   [field](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                     return explain_split(ctx, in[0].view(), split_key::of(in[1].view(), field), true, {variant});
                   }});
    all.push_back({"split",
                   false,
                   {numbers(100, 1)},
                   {output(100)},
                   variants,
                   [field](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     split(ctx, in[0].view(), split_key::of_record(field), out[0].view(), {}, {variant});
                   }});
    all.push_back({"split_unstable",
                   false,
                   {narrow_numbers(bits)},
                   {output(4)},
                   variants,
                   [field](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     split_unstable(ctx, in[0].view(), split_key::of_record(field), out[0].view(), {}, {variant});
                   }});
    all.push_back({"split_gather_index",
                   false,
                   {numbers(4, 2)},
                   {output(4)},
                   variants,
                   [field](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     split_gather_index(ctx, split_key::of(in[0].view(), field),
                                        {out[0].view().data, count, index_type::u32}, {}, {variant});
                   }});
    all.push_back({"split_scatter_index",
                   false,
                   {numbers(4, 2)},
                   {output(4)},
                   variants,
                   [field](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     split_scatter_index(ctx, split_key::of(in[0].view(), field),
                                         {out[0].view().data, count, index_type::u32}, {}, {variant});
                   },
                   [field](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                     return explain_split_scatter_index(ctx, split_key::of(in[0].view(), field), index_type::u32,
                                                        {variant});
                   }});
  }
}

void add_wide_splits(std::vector<call>& all) {
  const std::vector<std::string> variants = names_of(primitives::split_variants());
  static constexpr bit_field field{7, 80, bit_order::from_left};
  all.push_back({"split",
                 false,
                 {numbers(12, 1)},
                 {output(12)},
                 variants,
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   split(ctx, in[0].view(), split_key::of_record(field), out[0].view(), {}, {variant});
                 },
                 [](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                   return explain_split(ctx, in[0].view(), split_key::of_record(field), true, {variant});
                 }});
  all.push_back({"split",
                 false,
                 {numbers(100, 1), numbers(12, 2)},
                 {output(100)},
                 variants,
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   split(ctx, in[0].view(), split_key::of(in[1].view(), field), out[0].view(), {}, {variant});
                 },
                 [](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                   return explain_split(ctx, in[0].view(), split_key::of(in[1].view(), field), true, {variant});
                 }});
  all.push_back({"split_scatter_index",
                 false,
                 {numbers(12, 2)},
                 {output(8)},
                 variants,
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   split_scatter_index(ctx, split_key::of(in[0].view(), field),
                                       {out[0].view().data, count, index_type::u64}, {}, {variant});
                 },
                 [](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                   return explain_split_scatter_index(ctx, split_key::of(in[0].view(), field), index_type::u64,
                                                      {variant});
                 }});
}

void add_sorts(std::vector<call>& all) {
  const std::vector<std::string> variants = names_of(primitives::sort_variants());
  for (const std::uint64_t width : {1, 4, 8, 16, 100}) {
    const key_field key{0, static_cast<std::uint32_t>(std::min<std::uint64_t>(width, 10)), key_type::bytes};
    all.push_back({"sort_records",
                   false,
                   {numbers(width, 5)},
                   {output(width)},
                   variants,
                   [key](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     sort_records(ctx, in[0].view(), key, out[0].view(), {variant});
                   },
                   [key](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                     return explain_sort_records(ctx, in[0].view(), key, {variant});
                   }});
    all.push_back({"sort_pairs",
                   false,
                   {numbers(8, 5), numbers(width, 6), numbers(4, 7)},
                   {output(8), output(width), output(4)},
                   variants,
                   [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     const sort_column columns[] = {{in[1].view(), out[1].view()}, {in[2].view(), out[2].view()}};
                     sort_pairs(ctx, in[0].view(), sort_key::of<std::uint64_t>(), out[0].view(), columns, {variant});
                   },
                   [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     const sort_column columns[] = {{in[1].view(), out[1].view()}, {in[2].view(), out[2].view()}};
                     return explain_sort_pairs(ctx, in[0].view(), sort_key::of<std::uint64_t>(), true, columns,
                                               {variant});
                   }});
  }
  all.push_back({"sort_gather_index",
                 false,
                 {numbers(32, 5)},
                 {output(8)},
                 variants,
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   sort_gather_index(ctx, in[0].view(), key_field{0, 32, key_type::bytes},
                                     {out[0].view().data, count, index_type::u64}, {variant});
                 },
                 [](const context& ctx, const auto& in, const auto&, std::string_view variant) {
                   return explain_sort_gather_index(ctx, in[0].view(), key_field{0, 32, key_type::bytes},
                                                    index_type::u64, {variant});
                 }});
}

// Every record belongs to two categories.
void add_multi_split(std::vector<call>& all) {
  image first = poisoned(count / 2 + 1, 8, 8, 0, false);
  for (std::uint64_t r = 0; r <= count / 2; ++r) set_entry(first, r, 2 * r);
  all.push_back({"multi_split",
                 false,
                 {numbers(12, 1), first, numbers(1, 2)},
                 {output(12)},
                 {""},
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   const const_records records(in[0].view().data, count / 2, 12);
                   const membership of{
                       {reinterpret_cast<const std::uint64_t*>(in[1].view().data), count / 2 + 1}, in[2].view(), 256};
                   multi_split(ctx, records, of, out[0].view(), {}, {}, {variant});
                 }});
}

// The successors of a list that goes through all nodes at random.
image random_list() {
  std::vector<std::uint64_t> order(count);
  for (std::uint64_t k = 0; k < count; ++k) order[k] = inputs::permute(k, count, 5);
  image made = poisoned(count, 4, 4, 0, false);
  for (std::uint64_t k = 0; k < count; ++k) set_entry(made, order[k], k + 1 < count ? order[k + 1] : 0xffffffff);
  return made;
}

void add_lists(std::vector<call>& all) {
  const std::vector<std::string> variants = names_of(primitives::list_variants());
  for (const list_count lists : {list_count::one, list_count::many}) {
    all.push_back({"list_rank",
                   false,
                   {random_list()},
                   {output(4)},
                   variants,
                   [lists](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     list_rank(ctx, in[0].index(index_type::u32), {out[0].view().data, count, index_type::u32},
                               {.lists = lists, .variant = variant});
                   },
                   [lists](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     return explain_list_rank(ctx, in[0].index(index_type::u32),
                                              {out[0].view().data, count, index_type::u32},
                                              {.lists = lists, .variant = variant});
                   }});
    all.push_back({"list_scan",
                   false,
                   {random_list(), numbers(8, 1)},
                   {output(8)},
                   variants,
                   [lists](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     list_scan(ctx, in[0].index(index_type::u32), {in[1].view().data, count, value_type::u64},
                               {out[0].view().data, count, value_type::u64}, scan_operator::add,
                               {.lists = lists, .variant = variant});
                   },
                   [lists](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                     return explain_list_scan(ctx, in[0].index(index_type::u32),
                                              {in[1].view().data, count, value_type::u64},
                                              {out[0].view().data, count, value_type::u64}, scan_operator::add,
                                              {.lists = lists, .variant = variant});
                   }});
  }
}

// Takes memory for what it keeps as well as scratch.
void add_prepared(std::vector<call>& all) {
  all.push_back({"prepare",
                 false,
                 {numbers(8, 1), permutation()},
                 {output(8), output(8)},
                 {""},
                 [](const context& ctx, const auto& in, const auto& out, std::string_view variant) {
                   const index_span index = in[1].index(index_type::u32);
                   const prepare_options options{.pattern = access_pattern::random(), .variant = variant};
                   const auto gathers = prepare_gather(ctx, index, count, 8, 1000, options);
                   const auto scatters = prepare_scatter(ctx, index, count, 8, 1000, options);
                   gathers.run(in[0].view(), out[0].view());
                   scatters.run(in[0].view(), out[1].view());
                 }});
}

std::vector<call> every_call() {
  std::vector<call> all;
  add_movements(all);
  add_splits(all);
  add_wide_splits(all);
  add_sorts(all);
  add_multi_split(all);
  add_lists(all);
  return all;
}

// The call's arrays in a context's memory.
struct arrays {
  const call& of;
  const context& ctx;
  std::vector<placed> read;
  std::vector<placed> written;

  arrays(const call& c, const context& where) : of(c), ctx(where) {
    for (const image& i : c.read) read.emplace_back(where, i);
    for (const image& i : c.written) written.emplace_back(where, i);
  }

  void wipe() const {
    for (std::size_t i = 0; i < written.size(); ++i) {
      const image& before = of.written[i];
      copy_bytes(ctx, written[i].view().data - before.first, before.bytes.data(), before.bytes.size());
    }
  }
  void expect(const std::vector<image>& wanted, std::string_view what) const {
    for (std::size_t i = 0; i < written.size(); ++i) expect_bytes(written[i].download(), wanted[i], what);
  }
};

std::vector<image> answers(const call& c) {
  const context ctx = context::cpu(1);
  const arrays at(c, ctx);
  c.run(ctx, at.read, at.written, "reference.serial");
  std::vector<image> wanted = c.written;
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i].bytes = at.written[i].download();
  return wanted;
}

enum class outcome { answered, out_of_memory, cannot_run };

// Runs the call and looks at what it wrote: the answer, or nothing if it throws.
outcome attempt(const arrays& at, const std::vector<image>& wanted, std::string_view variant) {
  at.wipe();
  try {
    at.of.run(at.ctx, at.read, at.written, variant);
  } catch (const error& e) {
    at.ctx.wait();
    if (e.code() == error_code::no_variant && !variant.empty()) return outcome::cannot_run;
    EXPECT_EQ(e.code(), error_code::out_of_memory) << e.what();
    if (at.of.name != "prepare") {
      EXPECT_TRUE(std::string(e.what()).starts_with(at.of.name + ": ")) << e.what();
      at.expect(at.of.written, "untouched output");
    }
    return outcome::out_of_memory;
  }
  at.ctx.wait();
  at.expect(wanted, "output");
  return outcome::answered;
}

class ScratchLimit : public ::testing::Test {
 protected:
  template <class Try>
  void for_each_call(const std::vector<call>& calls, Try body) {
    for (const call& c : calls) {
      const std::vector<image> wanted = answers(c);
      for (named_context& where : every_context()) {
        failing_resource resource(where.ctx);
        const arrays at(c, where.ctx);
        where.ctx.use(resource.resource());
        for (const std::string& variant : c.variants) {
          SCOPED_TRACE(fmt::format("{} by '{}', {}", c.name, variant, where.name));
          where.ctx.limit_scratch(~std::uint64_t{0});
          resource.start(no_failure);
          const outcome free = attempt(at, wanted, variant);
          if (free == outcome::cannot_run) continue;
          ASSERT_EQ(free, outcome::answered);
          ++calls_tried_;
          body(c, at, wanted, variant, where.ctx, resource);
          if (HasFailure()) return;
        }
        where.ctx.use(resource.under);
      }
    }
  }
  std::size_t calls_tried_ = 0;
};

TEST_F(ScratchLimit, IsKeptByEveryCallAndAnswersAreTheSame) {
  for_each_call(every_call(), [](const call& c, const arrays& at, const std::vector<image>& wanted,
                                 const std::string& variant, context& ctx, failing_resource& resource) {
    const std::uint64_t most = resource.most_bytes - resource.bytes;
    for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, most / 2,
                                      std::max<std::uint64_t>(most, 1) - 1, most}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} without a limit", limit, most));
      ctx.limit_scratch(limit);
      resource.start(no_failure);
      const outcome got = attempt(at, wanted, variant);
      EXPECT_LE(resource.most_bytes - resource.bytes, limit);
      if (limit >= most || (c.always_can && variant.empty())) {
        EXPECT_EQ(got, outcome::answered);
      }
    }
  });
  EXPECT_GE(calls_tried_, 3 * every_call().size());
}

TEST_F(ScratchLimit, IsAsExplained) {
  std::vector<call> explained;
  for (call& c : every_call()) {
    if (c.explain) explained.push_back(std::move(c));
  }
  for_each_call(explained, [](const call& c, const arrays& at, const std::vector<image>&, const std::string& variant,
                              context& ctx, failing_resource& resource) {
    const explanation why = c.explain(ctx, at.read, at.written, variant);
    ASSERT_NE(why.choice(), nullptr);
    EXPECT_EQ(resource.most_bytes - resource.bytes, why.choice()->scratch_bytes);
  });
}

TEST_F(ScratchLimit, ExplanationsNameTheLimit) {
  context ctx = context::cpu(1);
  ctx.limit_scratch(10);
  const image in = numbers(4, 1);
  const sort_key key{{0, 2, key_type::unsigned_integer}};  // whole rows may be sorted where they are put
  const explanation why = explain_sort_records(ctx, in.view(), key);
  EXPECT_EQ(why.choice(), nullptr);
  bool is_named = false;
  for (const variant_estimate& v : why.variants) {
    is_named |=
        v.reason.starts_with("takes ") && v.reason.ends_with(" bytes of scratch, but the context's limit is 10");
  }
  EXPECT_TRUE(is_named);
  image out = output(4);
  EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                sort_records(ctx, in.view(), key, out.view());
              }).ends_with(" bytes of scratch, but the context's limit is 10"));
}

TEST_F(ScratchLimit, AnyAllocationMayFail) {
  const std::vector<call> calls = every_call();
  std::size_t failures = 0;
  for_each_call(calls, [&](const call& c, const arrays& at, const std::vector<image>& wanted,
                           const std::string& variant, context&, failing_resource& resource) {
    for (std::uint64_t failing = 0;; ++failing) {
      SCOPED_TRACE(fmt::format("allocation {} fails", failing));
      resource.start(failing);
      const outcome got = attempt(at, wanted, variant);
      if (c.always_can && variant.empty()) {
        EXPECT_EQ(got, outcome::answered);
      }
      if (resource.taken <= failing) break;
      ++failures;
    }
  });
  EXPECT_GE(failures, calls.size());
}

TEST_F(ScratchLimit, APreparationMayFail) {
  std::vector<call> calls;
  add_prepared(calls);
  const call& c = calls.front();
  std::vector<image> wanted = c.written;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t named = 0;
    std::memcpy(&named, c.read[1].record(i), 4);
    std::memcpy(wanted[0].record(i), c.read[0].record(named), 8);
    std::memcpy(wanted[1].record(named), c.read[0].record(i), 8);
  }
  for (named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    failing_resource resource(where.ctx);
    const arrays at(c, where.ctx);
    where.ctx.use(resource.resource());
    EXPECT_EQ(attempt(at, wanted, ""), outcome::answered);
    std::uint64_t failing = 0;
    for (;; ++failing) {
      resource.start(failing);
      attempt(at, wanted, "");
      if (resource.taken <= failing) break;
    }
    EXPECT_GE(failing, 2U);
    where.ctx.use(resource.under);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_scratch_limit_test
