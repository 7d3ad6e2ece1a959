#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/sort.hpp>

#include "inputs/pattern.hpp"
#include "inputs/pattern_function.hpp"
#include "support/contexts.hpp"
#include "support/large.hpp"

// Past 2^32 rows. Only where SHEAF_LARGE=1, as in large_test.cpp.
namespace sheaf::tests {
namespace {

constexpr std::uint64_t row_count = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t seed = 29;
constexpr std::uint64_t chunk = std::uint64_t{8} << 20;

class SortLarge : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1, taking minutes and much memory";
    ctx = GetParam() == backend_kind::cuda ? cuda_context() : context::cpu();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  // Memory of the context, or nothing where that would take what the host has not to spare.
  std::optional<buffer> memory(std::uint64_t bytes) const {
    const std::uint64_t on_host = ctx->backend() == backend_kind::cpu ? bytes : 0;
    if (available_host_bytes() < on_host + (std::uint64_t{2} << 30)) return std::nullopt;
    try {
      return buffer(*ctx, bytes);
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      return std::nullopt;
    }
  }

  // Runs each variant but the reference that takes the problem; the others may need more scratch than there is.
  template <class Run>
  void for_each_variant(const explanation& why, Run run) const {
    std::size_t runs = 0;
    for (const variant_estimate& v : why.variants) {
      if (!v.applicable || v.variant.starts_with("reference.")) continue;
      SCOPED_TRACE(v.variant);
      if (ctx->backend() == backend_kind::cpu && available_host_bytes() < v.scratch_bytes + (std::uint64_t{1} << 30)) {
        fmt::print("{}: not enough memory for {} bytes of scratch\n", v.variant, v.scratch_bytes);
        continue;
      }
      try {
        run(v.variant);
        ++runs;
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory) throw;
        fmt::print("{}: {}\n", v.variant, e.what());
      }
    }
    if (runs == 0) GTEST_SKIP() << "no variant had the memory";
  }

  // Calls look(first, bytes) for pieces of device or host memory in order.
  template <class Look>
  void for_each_chunk(const std::byte* first, std::uint64_t bytes, Look look) const {
    std::vector<std::byte> part(chunk);
    for (std::uint64_t at = 0; at < bytes; at += chunk) {
      const std::uint64_t here = std::min(chunk, bytes - at);
      copy_bytes(*ctx, part.data(), first + at, here);
      look(at, std::span<const std::byte>(part.data(), here));
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  std::optional<context> ctx;
};

#if SHEAF_HAS_CUDA
constexpr backend_kind backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind backends[] = {backend_kind::cpu};
#endif
INSTANTIATE_TEST_SUITE_P(EveryBackend, SortLarge, testing::ValuesIn(backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

// As many of each as there were, in order.
TEST_P(SortLarge, BytesPastTwoTo32AreInOrder) {
  const auto there = memory(2 * row_count);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data(), row_count, 1);
  const records out(there->data() + row_count, row_count, 1);
  inputs::fill_records(*ctx, in, seed);
  std::vector<std::uint64_t> counts(256, 0);
  for (std::uint64_t i = 0; i < row_count; ++i) ++counts[inputs::record_byte(seed, i, 0)];
  const sort_key key = sort_key::of<std::int8_t>();
  for_each_variant(explain_sort(*ctx, in, key), [&](const std::string& variant) {
    sort_records(*ctx, in, key, out, {variant});
    ctx->wait();
    std::vector<std::uint64_t> found(256, 0);
    int last = -128;
    for_each_chunk(out.data, row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t i = 0; i < bytes.size(); ++i) {
        const int number = static_cast<std::int8_t>(bytes[i]);
        ASSERT_LE(last, number) << at + i;
        last = number;
        ++found[std::to_integer<std::size_t>(bytes[i])];
      }
    });
    EXPECT_EQ(found, counts);
  });
}

// The sum and the exclusive or of all say that they are those there were.
TEST_P(SortLarge, NumbersPastTwoTo32AreInOrder) {
  const auto there = memory(8 * row_count);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data(), row_count, 4);
  const records out(there->data() + 4 * row_count, row_count, 4);
  inputs::fill_records(*ctx, in, seed);
  std::uint64_t sum = 0;
  std::uint32_t mixed = 0;
  const auto number_at = [](std::span<const std::byte> bytes, std::uint64_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  };
  for_each_chunk(in.data, 4 * row_count, [&](std::uint64_t, std::span<const std::byte> bytes) {
    for (std::uint64_t b = 0; b < bytes.size(); b += 4) {
      sum += number_at(bytes, b);
      mixed ^= number_at(bytes, b);
    }
  });
  const sort_key key = sort_key::of<std::uint32_t>();
  for_each_variant(explain_sort(*ctx, in, key), [&](const std::string& variant) {
    sort_records(*ctx, in, key, out, {variant});
    ctx->wait();
    std::uint64_t found_sum = 0;
    std::uint32_t found_mixed = 0;
    std::uint32_t last = 0;
    for_each_chunk(out.data, 4 * row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t b = 0; b < bytes.size(); b += 4) {
        const std::uint32_t number = number_at(bytes, b);
        ASSERT_LE(last, number) << (at + b) / 4;
        last = number;
        found_sum += number;
        found_mixed ^= number;
      }
    });
    EXPECT_EQ(found_sum, sum);
    EXPECT_EQ(found_mixed, mixed);
  });
}

// Keys of few bits: rows of a key ascend, and each is of that key, and there are as many: then they are all of them.
TEST_P(SortLarge, GatherIndexNamesRowsPastTwoTo32) {
  const auto there = memory(9 * row_count + 8);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data() + 8 * row_count, row_count, 1);
  inputs::fill_records(*ctx, in, seed);
  const index_output index(there->data(), row_count, index_type::u64);
  const sort_key key = key_field{0, 1, key_type::unsigned_integer, false, 4, 3};
  const auto key_of = [](std::uint64_t i) { return inputs::record_byte(seed, i, 0) >> 4 & 7U; };
  std::vector<std::uint64_t> counts(8, 0);
  for (std::uint64_t i = 0; i < row_count; ++i) ++counts[key_of(i)];
  for_each_variant(explain_sort_gather_index(*ctx, in, key, index.type), [&](const std::string& variant) {
    sort_gather_index(*ctx, in, key, index, {variant});
    ctx->wait();
    std::vector<std::uint64_t> found(8, 0);
    unsigned last_key = 0;
    std::uint64_t last = 0;
    for_each_chunk(there->data(), 8 * row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t b = 0; b < bytes.size(); b += 8) {
        std::uint64_t row = 0;
        std::memcpy(&row, bytes.data() + b, sizeof row);
        ASSERT_LT(row, row_count) << (at + b) / 8;
        const unsigned number = key_of(row);
        ASSERT_TRUE(found[number] == 0 ? number >= last_key : number == last_key && row > last) << (at + b) / 8;
        ++found[number];
        last_key = number;
        last = row;
      }
    });
    EXPECT_EQ(found, counts);
  });
}

}  // namespace
}  // namespace sheaf::tests
