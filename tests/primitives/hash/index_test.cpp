// What an index says of itself, who may use it, and what it needs.
#include <sheaf/hash_search.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::tests::primitives_hash_index_test {
namespace {

std::vector<std::string> build_variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::hash_build_variants()) names.emplace_back(v.name);
  return names;
}

class EveryHashBuildVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  std::vector<named_context> contexts() const {
    std::vector<named_context> all = every_context();
    std::erase_if(all, [](const named_context& where) {
      const auto names = names_on(primitives::hash_build_variants(), where.ctx.backend());
      return GetParam().empty() ? !is_hash_planned_on(where.ctx)
                                : std::find(names.begin(), names.end(), GetParam()) == names.end();
    });
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(HashBuild, EveryHashBuildVariant, testing::ValuesIn(build_variant_names()), test_name_of);

TEST_P(EveryHashBuildVariant, CountsRecordsKeysAndChains) {
  for (const named_context& where : contexts()) {
    SCOPED_TRACE(where.name);
    std::uint64_t seed = 500;
    for (const std::uint64_t count : {0, 1, 2, 7, 64, 1000, 70'000}) {
      for (const key_kind kind : key_kinds) {
        hash_case c = drawn_hash_case(count, 0, seed++);
        c.kind = kind;
        SCOPED_TRACE(c.description());
        const hash_trial t(c);
        const hash_index index = index_of(where.ctx, t, GetParam());
        EXPECT_EQ(index.count(), count);
        EXPECT_EQ(index.distinct(), t.records.size());
        EXPECT_EQ(index.longest_chain(), t.longest_chain());
        EXPECT_EQ(index.key_bytes(), c.key_bytes);
        EXPECT_EQ(index.id_type(), index_type::u32);
        EXPECT_EQ(index.backend(), where.ctx.backend());
        EXPECT_GE(index.bytes(), t.records.size() * c.key_bytes + count * 4);
        EXPECT_TRUE(GetParam().empty() ? !index.variant().empty() : index.variant() == GetParam());
      }
    }
  }
}

// Buckets are whole, so that a table of few keys is emptier than asked for.
TEST_P(EveryHashBuildVariant, SaysHowFullItsTableIs) {
  for (const named_context& where : contexts()) {
    SCOPED_TRACE(where.name);
    for (const double load : {0.0, 0.05, 0.5, 0.8, 0.9, 0.95, 0.99}) {
      SCOPED_TRACE(load);
      for (const std::uint64_t key_bytes : {4, 8}) {
        const hash_trial t({.count = 50'000, .probes = 0, .key_bytes = key_bytes});
        const placed keys(where.ctx, t.keys);
        const hash_index index = build_hash_index(where.ctx, keys.view(), {.load = load, .variant = GetParam()});
        if (index.variant().starts_with("reference.")) {
          EXPECT_EQ(index.load(), 0) << "it has no buckets";
          continue;
        }
        if (load == 0) {
          EXPECT_GT(index.load(), 0.05);
          EXPECT_LE(index.load(), 0.8);
        } else {
          EXPECT_NEAR(index.load(), load, 0.001);
        }
      }
    }
    const hash_trial of_none({.count = 0, .probes = 0});
    const placed none(where.ctx, of_none.keys);
    EXPECT_EQ(build_hash_index(where.ctx, none.view(), {.variant = GetParam()}).load(), 0);
  }
}

TEST_P(EveryHashBuildVariant, KeepsNothingOfTheCallersKeys) {
  for (const named_context& where : contexts()) {
    SCOPED_TRACE(where.name);
    const hash_trial t({.count = 5000, .probes = 1000});
    auto keys = std::make_unique<placed>(where.ctx, t.keys);
    const hash_index index = build_hash_index(where.ctx, keys->view(), {.variant = GetParam()});
    const std::vector<std::byte> junk(t.keys.bytes.size(), std::byte{0xee});
    copy_bytes(where.ctx, keys->view().data - t.keys.first, junk.data(), junk.size());
    keys.reset();
    EXPECT_TRUE(expect_answers(where.ctx, index, t, ""));
  }
}

TEST_P(EveryHashBuildVariant, BuildsIndicesThatManyContextsSearchAtOnce) {
  for (const named_context& where : contexts()) {
    SCOPED_TRACE(where.name);
    const hash_trial t({.count = 20'000, .probes = 5000, .kind = key_kind::halves, .hits = 30});
    const hash_index index = index_of(where.ctx, t, GetParam());
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int k = 0; k < 3; ++k) {
      threads.emplace_back([&] {
        const context own = where.ctx.backend() == backend_kind::cpu ? context::cpu(1) : context::cuda(0);
        const placed probes(own, t.probes);
        const hash_matches found = hash_search(own, index, probes.view());
        own.wait();
        EXPECT_TRUE(numbers_of(own, found.offsets()) == t.offsets);
        EXPECT_TRUE(numbers_of(own, found.ids()) == t.ids);
      });
    }
    for (std::thread& one : threads) one.join();
  }
}

TEST(HashIndex, MovesAndIsOfNoUseWhereItWasMovedFrom) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint64_t> keys{3, 4, 3};
  hash_index index = build_hash_index(ctx, keys);
  hash_index other = std::move(index);
  EXPECT_EQ(other.count(), 3U);
  EXPECT_TRUE(index.was_moved_from());  // NOLINT(bugprone-use-after-move): what this is about
  constexpr std::string_view moved = "hash_index: it was moved from; another object holds its contents now";
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.count()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.distinct()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.longest_chain()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.key_bytes()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.id_type()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.bytes()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.load()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.backend()); });
  expect_error(error_code::bad_argument, moved, [&] { static_cast<void>(index.variant()); });
  std::vector<std::uint32_t> out(3);
  std::vector<std::uint8_t> found(3);
  const auto refused = [](std::string_view call) {
    return fmt::format("{}: the index was moved from; another object holds its contents now", call);
  };
  expect_error(error_code::bad_argument, refused("hash_search"), [&] { hash_search(ctx, index, keys); });
  expect_error(error_code::bad_argument, refused("hash_search_into"),
               [&] { hash_search_into(ctx, index, keys, out, out); });
  expect_error(error_code::bad_argument, refused("hash_count"), [&] { hash_count(ctx, index, keys, out); });
  expect_error(error_code::bad_argument, refused("hash_contains"), [&] { hash_contains(ctx, index, keys, found); });
  expect_error(error_code::bad_argument, refused("hash_find"), [&] { hash_find(ctx, index, keys, out); });
  expect_error(error_code::bad_argument, refused("hash_find"), [&] { explain_hash_find(ctx, index, keys); });
  index = std::move(other);
  EXPECT_EQ(index.distinct(), 2U);
  hash_find(ctx, index, keys, out);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 1, 0}));
}

// An index of another place, of which nothing is read.
class table_elsewhere final : public primitives::hash_table {
 public:
  table_elsewhere(backend_kind backend, int device) {
    facts.backend = backend;
    facts.device = device;
    facts.records = facts.distinct = facts.longest_chain = 3;
    facts.built_by = "elsewhere";
  }
  std::uint64_t bytes() const noexcept override { return 0; }
};

TEST(HashIndex, IsSearchedWhereItWasBuilt) {
  const std::vector<std::uint64_t> probes(3);
  std::vector<std::uint32_t> out(3);
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const bool on_cpu = where.ctx.backend() == backend_kind::cpu;
    const hash_index other(
        std::make_unique<table_elsewhere>(on_cpu ? backend_kind::cuda : backend_kind::cpu, on_cpu ? 0 : -1));
    expect_error(error_code::bad_argument,
                 on_cpu ? "hash_find: the index was built on cuda, but the context works on cpu"
                        : "hash_find: the index was built on cpu, but the context works on cuda",
                 [&] { hash_find(where.ctx, other, probes, out); });
    const hash_index far(std::make_unique<table_elsewhere>(where.ctx.backend(), 7));
    expect_error(error_code::bad_argument,
                 fmt::format("hash_search: the index was built on device 7, but the context works on device {}",
                             where.ctx.device()),
                 [&] { hash_search(where.ctx, far, probes); });
  }
}

TEST(HashIndex, SaysWhatWouldSearchIt) {
  const context ctx = context::cpu(2);
  const std::vector<std::uint32_t> keys(1000, 5);
  const explanation build = explain_build_hash_index(ctx, keys);
  ASSERT_NE(build.choice(), nullptr);
  EXPECT_EQ(build.primitive, "build_hash_index");
  const hash_index index = build_hash_index(ctx, keys);
  EXPECT_EQ(index.variant(), build.choice()->variant);
  const const_records probes(nullptr, 1 << 20, 4);
  const index_output counts(nullptr, 1 << 20, index_type::u32);
  for (const explanation& why :
       {explain_hash_search(ctx, index, probes), explain_hash_count(ctx, index, probes, counts),
        explain_hash_contains(ctx, index, probes), explain_hash_find(ctx, index, probes)}) {
    ASSERT_NE(why.choice(), nullptr) << why.primitive;
    EXPECT_TRUE(why.choice()->variant.starts_with("cpu.")) << why.choice()->variant;
    for (const variant_estimate& v : why.variants) {
      if (v.variant == "reference.serial") {
        EXPECT_EQ(v.reason,
                  "searches only what reference.serial has built; force build_hash_index:reference.serial too");
      }
    }
  }
  // An index of the reference is searched by the reference, and nobody has to say so.
  const hash_index sorted = build_hash_index(ctx, keys, {.variant = "reference.serial"});
  ASSERT_NE(explain_hash_find(ctx, sorted, probes).choice(), nullptr);
  EXPECT_EQ(explain_hash_find(ctx, sorted, probes).choice()->variant, "reference.serial");
  std::vector<std::uint32_t> out(1);
  const std::string refused = message_of(error_code::no_variant, [&] {
    hash_find(ctx, sorted, std::vector<std::uint32_t>{5}, out, {.variant = "cpu.direct"});
  });
  EXPECT_EQ(refused, "hash_find: no variant can run this: cpu.direct (searches only what a CPU variant has built)");
}

}  // namespace
}  // namespace sheaf::tests::primitives_hash_index_test
