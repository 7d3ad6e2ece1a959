#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "lab/inputs/pattern.hpp"
#include "support/cases/movement.hpp"
#include "support/expect_error.hpp"
#include "support/large.hpp"

// Past 2^31 and 2^32 records and past 4 GiB. Minutes and tens of gigabytes, so only where SHEAF_LARGE=1.
namespace sheaf::tests::primitives_large_test {
namespace {

constexpr std::uint64_t two_31 = std::uint64_t{1} << 31;
constexpr std::uint64_t two_32 = std::uint64_t{1} << 32;
constexpr std::uint64_t five_gib = std::uint64_t{5} << 30;

struct large_case {
  const char* name;
  bool gathers;
  std::uint64_t count;
  std::uint64_t indexed_count;
  std::uint64_t record_bytes;
  index_type index;
  const char* pattern;

  std::uint64_t needed_bytes() const { return count * (record_bytes + bytes(index)) + indexed_count * record_bytes; }
};

constexpr large_case cases[] = {
    {"gather_table_over_4_gib", true, 1 << 23, five_gib / 64, 64, index_type::u32, "permutation"},
    {"gather_output_over_4_gib", true, (1 << 29) + 3, 1 << 20, 12, index_type::i32, "uniform"},
    {"gather_over_2_31_records", true, two_31 + 11, 1000003, 1, index_type::u32, "uniform"},
    {"gather_over_2_32_records", true, two_32 + 11, 1000003, 1, index_type::u32, "uniform"},
    {"gather_over_2_32_records_of_as_many", true, two_32 + 11, two_32 + 11, 1, index_type::u64, "permutation"},
    {"scatter_output_over_4_gib", false, 1 << 23, five_gib / 64, 64, index_type::u32, "permutation"},
    {"scatter_input_over_4_gib", false, five_gib / 64, five_gib / 64, 64, index_type::i64, "clustered:4096"},
    {"scatter_over_2_31_records", false, two_31 + 11, two_31 + 11, 1, index_type::u32, "permutation"},
    {"scatter_over_2_32_records", false, two_32 + 11, two_32 + 11, 1, index_type::u64, "permutation"},
};

class Large : public testing::TestWithParam<std::tuple<large_case, backend_kind>> {
 protected:
  void SetUp() override {
    if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1, taking minutes and much memory";
    const auto& [c, backend] = GetParam();
    if (backend == backend_kind::cuda) {
      ctx = cuda_context();
      if (!ctx) GTEST_SKIP() << "no CUDA device here";
    } else {
      // Some memory stays free: the kernel kills a process that takes the last.
      const std::uint64_t needed = c.needed_bytes() + (std::uint64_t{1} << 30);
      if (available_host_bytes() < needed) {
        GTEST_SKIP() << "takes " << needed << " bytes of memory, " << available_host_bytes() << " are there";
      }
      ctx = context::cpu();
    }
  }

  std::optional<context> ctx;
};

INSTANTIATE_TEST_SUITE_P(Movement, Large, testing::Combine(testing::ValuesIn(cases), testing::ValuesIn(large_backends)),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", std::get<0>(tested.param).name, name(std::get<1>(tested.param)));
                         });

TEST_P(Large, EveryVariantIsRight) {
  const large_case& c = std::get<0>(GetParam());
  buffer sequential_memory, indexed_memory, index_memory;
  try {
    sequential_memory = buffer(*ctx, c.count * c.record_bytes);
    indexed_memory = buffer(*ctx, c.indexed_count * c.record_bytes);
    index_memory = buffer(*ctx, c.count * bytes(c.index));
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
    GTEST_SKIP() << e.what();
  }
  constexpr std::uint64_t seed = 11;
  constexpr std::uint64_t other_seed = 12;
  const inputs::pattern pattern = inputs::parse_pattern(c.pattern);
  const records sequential(sequential_memory.data(), c.count, c.record_bytes);
  const records indexed(indexed_memory.data(), c.indexed_count, c.record_bytes);
  const index_span index(index_memory.data(), c.count, c.index);
  inputs::fill_index(*ctx, pattern, c.indexed_count, index);
  inputs::fill_records(*ctx, c.gathers ? indexed : sequential, seed);

  const auto move = [&](const std::string& variant) {
    if (c.gathers) return gather(*ctx, indexed, index, sequential, {.variant = variant});
    scatter(*ctx, sequential, index, indexed, {.variant = variant});
  };
  const explanation why =
      c.gathers ? explain_gather(*ctx, indexed, index, sequential) : explain_scatter(*ctx, sequential, index, indexed);
  for (const variant_estimate& v : why.variants) {
    if (!v.applicable || v.variant.starts_with("reference.")) continue;
    SCOPED_TRACE(v.variant);
    inputs::fill_records(*ctx, c.gathers ? sequential : indexed, other_seed);
    move(v.variant);
    ctx->wait();
    EXPECT_EQ(c.gathers ? inputs::count_gather_mismatches(*ctx, sequential, pattern, c.indexed_count, seed)
                        : inputs::count_scatter_mismatches(*ctx, indexed, pattern, c.count, seed),
              0U);
  }

  // A bad index at the very end is reported with all digits of its position.
  const std::uint64_t last = c.count - 1;
  const std::uint64_t bad = ~std::uint64_t{0} >> (bytes(c.index) == 4 ? 33 : 1);
  copy_bytes(*ctx, index_memory.data() + last * bytes(c.index), &bad, bytes(c.index));
  if (bad < c.indexed_count) return;
  for (const variant_estimate& v : why.variants) {
    if (!v.applicable || v.variant.starts_with("reference.")) continue;
    move(v.variant);
    expect_error(error_code::bad_index,
                 fmt::format("{}: index[{}] is {}, past the {} {} records", c.gathers ? "gather" : "scatter", last, bad,
                             c.gathers ? "table's" : "output's", c.indexed_count),
                 [&] { ctx->wait(); });
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_large_test
