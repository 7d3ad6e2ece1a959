// Searches and builds take all scratch first, within the context's limit; where memory is short they throw, name what
// did not fit, and leave outputs as they were.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/hash_search.hpp>

#include "core/context_state.hpp"
#include "support/expect_error.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::tests::primitives_hash_memory_test {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

/// Fails one allocation, or those above a size, and counts what is there.
struct short_memory {
  memory_resource under;
  std::uint64_t fails_at = never;  ///< number of the allocation that fails
  std::uint64_t most_bytes = never;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

  explicit short_memory(const context& ctx) : under(ctx.state().memory) {}
  memory_resource resource() {
    return {[](void* state, std::uint64_t wanted, CUstream_st* stream) -> void* {
              auto& self = *static_cast<short_memory*>(state);
              if (self.calls++ == self.fails_at || wanted > self.most_bytes) return nullptr;
              self.bytes += wanted;
              return self.under.allocate(self.under.state, wanted, stream);
            },
            [](void* state, void* block, std::uint64_t given, CUstream_st* stream) {
              auto& self = *static_cast<short_memory*>(state);
              self.bytes -= given;
              self.under.deallocate(self.under.state, block, given, stream);
            },
            this};
  }
};

std::vector<named_context> planned_contexts() {
  std::vector<named_context> all = every_context();
  std::erase_if(all, [](const named_context& where) { return !is_hash_planned_on(where.ctx); });
  return all;
}

const hash_trial& trial() {
  static const hash_trial t({.count = 2000, .probes = 150'000, .kind = key_kind::halves, .hits = 1});
  return t;
}

/// hash_search_into the images; false if it throws out_of_memory, and then nothing may have been written.
bool search_into(const context& ctx, const hash_index& index, std::string_view variant) {
  const hash_trial& t = trial();
  const placed probes(ctx, t.probes);
  const image no_offsets = poisoned(t.c.probes + 1, 8, 8);
  const image no_ids = poisoned(t.total(), 4, 4);
  const placed offsets(ctx, no_offsets);
  const placed ids(ctx, no_ids);
  try {
    hash_search_into(ctx, index, probes.view(), {offsets.view().data, t.c.probes + 1, index_type::u64},
                     {ids.view().data, t.total(), index_type::u32}, {.variant = variant});
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::out_of_memory) << e.what();
    EXPECT_TRUE(std::string(e.what()).starts_with("hash_search: ")) << e.what();
    expect_bytes(offsets.download(), no_offsets, "offsets");
    expect_bytes(ids.download(), no_ids, "ids");
    return false;
  }
  ctx.wait();
  expect_bytes(offsets.download(), hash_trial::written(t.offsets, t.c.probes + 1, 8), "offsets");
  expect_bytes(ids.download(), hash_trial::written(t.ids, t.total(), 4), "ids");
  return true;
}

TEST(HashMemory, SearchesKeepToTheScratchLimit) {
  for (named_context& where : planned_contexts()) {
    SCOPED_TRACE(where.name);
    const hash_index index = index_of(where.ctx, trial(), "");
    std::vector<std::string> variants = names_on(primitives::hash_search_variants(), where.ctx.backend());
    std::erase(variants, "reference.serial");
    variants.emplace_back("");
    for (const std::string& variant : variants) {
      SCOPED_TRACE(variant);
      where.ctx.limit_scratch(never);
      const explanation why =
          explain_hash_search(where.ctx, index, {nullptr, trial().c.probes, 8}, {.variant = variant});
      ASSERT_NE(why.choice(), nullptr);
      const std::uint64_t most = why.choice()->scratch_bytes;
      bool could = false;
      for (const std::uint64_t limit : {std::uint64_t{0}, most / 4, most / 2, most - 1, most}) {
        SCOPED_TRACE(limit);
        where.ctx.limit_scratch(limit);
        const bool can = search_into(where.ctx, index, variant);
        EXPECT_TRUE(can || !could) << "more scratch is not enough where less was";
        could = can;
      }
      EXPECT_TRUE(could);
    }
  }
}

TEST(HashMemory, BuildsKeepToTheScratchLimit) {
  for (named_context& where : planned_contexts()) {
    SCOPED_TRACE(where.name);
    const placed keys(where.ctx, trial().keys);
    const explanation why = explain_build_hash_index(where.ctx, keys.view());
    ASSERT_NE(why.choice(), nullptr);
    where.ctx.limit_scratch(why.choice()->scratch_bytes);
    const hash_index index = build_hash_index(where.ctx, keys.view());
    where.ctx.limit_scratch(never);
    EXPECT_TRUE(expect_answers(where.ctx, index, trial(), ""));
    where.ctx.limit_scratch(100);
    EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                  build_hash_index(where.ctx, keys.view());
                }).starts_with("build_hash_index: "));
  }
}

TEST(HashMemory, AnyAllocationMayFail) {
  for (named_context& where : planned_contexts()) {
    SCOPED_TRACE(where.name);
    const placed keys(where.ctx, trial().keys);
    const placed probes(where.ctx, trial().probes);
    const hash_index index = build_hash_index(where.ctx, keys.view());
    short_memory memory(where.ctx);
    where.ctx.use(memory.resource());
    bool has_failed = true;
    for (std::uint64_t failing = 0; has_failed; ++failing) {
      SCOPED_TRACE(failing);
      ASSERT_LT(failing, 100U);
      memory.calls = 0;
      memory.fails_at = failing;
      has_failed = false;
      for (const bool builds : {true, false}) {
        try {
          if (builds) {
            build_hash_index(where.ctx, keys.view());
          } else {
            hash_search(where.ctx, index, probes.view());
          }
        } catch (const error& e) {
          has_failed = true;
          EXPECT_EQ(e.code(), error_code::out_of_memory) << e.what();
          EXPECT_TRUE(std::string(e.what()).starts_with(builds ? "build_hash_index: " : "hash_search: ")) << e.what();
        }
        where.ctx.wait();
        EXPECT_EQ(memory.bytes, 0U) << "memory was not given back";
      }
      has_failed |= memory.calls > failing;
    }
    where.ctx.use(memory.under);
  }
}

// Systems lend more memory than they have. Here nothing is filled, so it does not matter how much this one has.
TEST(HashMemory, IsComparedWithWhatTheHostHasAvailable) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  context ctx = context::cpu(1);
  const auto take = [&](std::uint64_t bytes, std::uint64_t (*available)()) {
    return primitives::hash_memory(ctx, "hash_search", "5 matches", bytes, available);
  };
  const auto little = [] { return 99 * mib; };
  const auto enough = [] { return 100 * mib; };
  const auto expect_refused = [&](std::uint64_t bytes) {
    expect_error(error_code::out_of_memory,
                 fmt::format("hash_search: 5 matches take {} bytes of cpu memory, which are not available", bytes),
                 [&] { take(bytes, little); });
  };
  expect_refused(100 * mib);
  EXPECT_EQ(take(98 * mib, little).size(), 98 * mib);
  EXPECT_EQ(take(100, [] { return std::uint64_t{0}; }).size(), 100U) << "little memory is taken without a question";
  ctx = context::cpu(1);
  EXPECT_EQ(take(100 * mib, enough).size(), 100 * mib);
  if (!under_address_sanitizer && core::host_memory_bytes() / 8 >= 100 * mib) {
    // What was given back is lent again, whatever the system has, until something larger takes its bytes.
    EXPECT_EQ(take(100 * mib, little).size(), 100 * mib);
    expect_refused(120 * mib);
    expect_refused(100 * mib);
  }
  // The memory of a resource of the caller's may lie anywhere.
  short_memory memory(ctx);
  ctx.use(memory.resource());
  EXPECT_EQ(take(100 * mib, little).size(), 100 * mib);
  ctx.use(memory.under);
}

TEST(HashMemory, TooManyMatchesAreNamedWithTheirBytes) {
  for (named_context& where : planned_contexts()) {
    SCOPED_TRACE(where.name);
    const hash_trial t({.count = 10'000, .probes = 1000, .kind = key_kind::equal, .hits = 100});
    const hash_index index = index_of(where.ctx, t, "");
    const placed probes(where.ctx, t.probes);
    short_memory memory(where.ctx);
    memory.most_bytes = 10'000'000;
    where.ctx.use(memory.resource());
    expect_error(error_code::out_of_memory,
                 fmt::format("hash_search: 10000000 matches take 40000000 bytes of {} memory, which are not available",
                             name(where.ctx.backend())),
                 [&] { hash_search(where.ctx, index, probes.view()); });
    where.ctx.wait();
    EXPECT_EQ(memory.bytes, 0U);
    memory.most_bytes = 100;
    expect_error(
        error_code::out_of_memory,
        fmt::format("hash_search: offsets of 1000 probes take 8008 bytes of {} memory, which are not available",
                    name(where.ctx.backend())),
        [&] { hash_search(where.ctx, index, probes.view()); });
    where.ctx.use(memory.under);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_hash_memory_test
