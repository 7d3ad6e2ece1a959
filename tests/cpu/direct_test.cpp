// Movements in the order of the list, with the streaming stores that outputs larger than the cache are written with: a
// profile with a tiny cache makes every output such a one. The expected output comes from a loop of memcpy.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/cases/movement.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::cpu_direct_test {
namespace {

// Records that are parts of a line, whole lines, and neither.
constexpr std::uint64_t widths[] = {1, 2, 4, 8, 16, 32, 64, 128, 192, 24, 7, 512, 600, 1088};
constexpr std::uint64_t counts[] = {1, 63, 64, 65, 1000, 30001};

std::uint64_t entry(const image& index, std::uint64_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, index.record(i), index.record_bytes);
  return bits;
}

class CpuDirect : public testing::TestWithParam<int> {
 protected:
  CpuDirect() : ctx(context::cpu(GetParam())) {
    machine profile = ctx.profile();
    profile.cache_bytes = 1;
    ctx.use(profile);
  }

  // Calls body(width, count, index type, bytes by which the output's first record misses the beginning of a line).
  template <class Body>
  void for_each_case(Body body) const {
    for (const std::uint64_t width : widths) {
      for (const std::uint64_t count : counts) {
        if (count * width > 1 << 20) continue;
        for (const index_type type : index_types) {
          for (const std::uint64_t misalignment : {std::uint64_t{0}, width, std::uint64_t{1}}) {
            SCOPED_TRACE(fmt::format("{} records of {} bytes, {} index, {} bytes after a line", count, width,
                                     name(type), misalignment));
            body(width, count, type, misalignment);
            if (HasFailure()) return;
          }
        }
      }
    }
  }

  context ctx;
};

TEST_P(CpuDirect, GathersAsALoopOfMemcpyDoes) {
  for_each_case([&](std::uint64_t width, std::uint64_t count, index_type type, std::uint64_t misalignment) {
    const std::uint64_t table_count = count / 2 + 1;
    image index = index_list(inputs::parse_pattern("uniform"), table_count, count, type);
    set_entry(index, count / 2, table_count);
    const image table = filled(table_count, width, width, 0, 3);
    image expected = poisoned(count, width, width, misalignment);
    const placed out(ctx, expected);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (entry(index, i) < table_count) {
        std::memcpy(expected.record(i), table.record(entry(index, i)), width);
      } else {
        std::memset(expected.record(i), 0, width);
      }
    }
    gather(ctx, table.view(), index_view(index, type), out.view(), {.variant = "cpu.direct"});
    expect_error(
        error_code::bad_index,
        fmt::format("gather: index[{}] is {}, past the table's {} records", count / 2, table_count, table_count),
        [&] { ctx.wait(); });
    expect_bytes(out.download(), expected, "output");
  });
}

TEST_P(CpuDirect, ScattersAsALoopOfMemcpyDoes) {
  for_each_case([&](std::uint64_t width, std::uint64_t count, index_type type, std::uint64_t misalignment) {
    image index = index_list(inputs::parse_pattern("permutation"), count, count, type);
    set_entry(index, count / 2, count);
    const image in = filled(count, width, width, 0, 3);
    image expected = poisoned(count, width, width, misalignment);
    const placed out(ctx, expected);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i != count / 2) std::memcpy(expected.record(entry(index, i)), in.record(i), width);
    }
    scatter(ctx, in.view(), index_view(index, type), out.view(), {.variant = "cpu.direct"});
    expect_error(error_code::bad_index,
                 fmt::format("scatter: index[{}] is {}, past the output's {} records", count / 2, count, count),
                 [&] { ctx.wait(); });
    expect_bytes(out.download(), expected, "output");
  });
}

// Blocks of a list are looked at before their records are moved: a bad index counts at each place of a block, beside
// good blocks and in the last one, which is shorter. With the context's own profile outputs leave through the cache.
class CpuBadPlace : public testing::TestWithParam<int> {};

constexpr std::uint64_t own_code_widths[] = {1,  2,  3,  4,  5,  8,   12,  13,  16,  24,
                                             31, 32, 48, 56, 64, 100, 128, 200, 256, 300};

TEST_P(CpuBadPlace, IsReportedAndSkippedByGathers) {
  const context ctx = context::cpu(GetParam());
  rotation<std::uint64_t> turns({std::begin(own_code_widths), std::end(own_code_widths)});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  rotation<const char*> patterns({"permutation", "identity", "clustered:33"});
  constexpr std::uint64_t count = 2 * 512 + 77;
  for (std::uint64_t place = 0; place < count; ++place) {
    const std::uint64_t width = turns.next();
    const index_type type = types.next();
    SCOPED_TRACE(fmt::format("index[{}] of {}, {} bytes", place, name(type), width));
    image index = index_list(inputs::parse_pattern(patterns.next()), count, count, type);
    set_entry(index, place, count);
    const image table = filled(count, width, width, 0, 3);
    image expected = poisoned(count, width, width);
    const placed out(ctx, expected);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i == place) {
        std::memset(expected.record(i), 0, width);
      } else {
        std::memcpy(expected.record(i), table.record(entry(index, i)), width);
      }
    }
    gather(ctx, table.view(), index_view(index, type), out.view(), {.variant = "cpu.direct"});
    expect_error(error_code::bad_index,
                 fmt::format("gather: index[{}] is {}, past the table's {} records", place, count, count),
                 [&] { ctx.wait(); });
    expect_bytes(out.download(), expected, "output");
    if (HasFailure()) return;
  }
}

TEST_P(CpuBadPlace, IsReportedAndSkippedByScatters) {
  const context ctx = context::cpu(GetParam());
  rotation<std::uint64_t> turns({std::begin(own_code_widths), std::end(own_code_widths)});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  rotation<const char*> patterns({"permutation", "identity", "clustered:33"});
  constexpr std::uint64_t count = 2 * 512 + 77;
  for (std::uint64_t place = 0; place < count; ++place) {
    const std::uint64_t width = turns.next();
    const index_type type = types.next();
    SCOPED_TRACE(fmt::format("index[{}] of {}, {} bytes", place, name(type), width));
    image index = index_list(inputs::parse_pattern(patterns.next()), count, count, type);
    set_entry(index, place, count);
    const image in = filled(count, width, width, 0, 3);
    image expected = poisoned(count, width, width);
    const placed out(ctx, expected);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i != place) std::memcpy(expected.record(entry(index, i)), in.record(i), width);
    }
    scatter(ctx, in.view(), index_view(index, type), out.view(), {.variant = "cpu.direct"});
    expect_error(error_code::bad_index,
                 fmt::format("scatter: index[{}] is {}, past the output's {} records", place, count, count),
                 [&] { ctx.wait(); });
    expect_bytes(out.download(), expected, "output");
    if (HasFailure()) return;
  }
}

// Sums of one thread in the order of the list, and of private copies.
TEST_P(CpuBadPlace, IsReportedAndSkippedBySums) {
  const context ctx = context::cpu(GetParam());
  constexpr std::uint64_t count = 2 * 512 + 77;
  constexpr std::uint64_t slots = 300;
  std::vector<std::uint64_t> in(count);
  std::vector<std::uint32_t> index(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    in[i] = i * i + 1;
    index[i] = static_cast<std::uint32_t>(inputs::mix(i) % slots);
  }
  for (const char* const variant : {"cpu.owner", "cpu.private", "cpu.split"}) {
    for (std::uint64_t place = 0; place < count; ++place) {
      SCOPED_TRACE(fmt::format("{}, index[{}]", variant, place));
      const std::uint32_t good = std::exchange(index[place], slots + 1);
      std::vector<std::uint64_t> expected(slots, 5);
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i != place) expected[index[i]] += in[i];
      }
      std::vector<std::uint64_t> out(slots, 5);
      scatter_reduce(ctx, const_values(in.data(), count, value_type::u64),
                     index_span(index.data(), count, index_type::u32), values(out.data(), slots, value_type::u64),
                     reduction::add, {.variant = variant});
      index[place] = good;
      expect_error(error_code::bad_index,
                   fmt::format("scatter_reduce: index[{}] is {}, past the output's {} slots", place, slots + 1, slots),
                   [&] { ctx.wait(); });
      EXPECT_EQ(out, expected);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuBadPlace, testing::Values(1, 2),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

// Lists of which some blocks lie close and others do not, so that some are prefetched, over tables past any
// second-level cache.
TEST_P(CpuBadPlace, MixedListsMoveRight) {
  const context ctx = context::cpu(GetParam());
  for (const std::uint64_t width : {std::uint64_t{8}, std::uint64_t{24}, std::uint64_t{100}, std::uint64_t{320}}) {
    const std::uint64_t count = (std::uint64_t{5} << 18) / width;
    image index = index_list(inputs::parse_pattern("permutation"), count, count, index_type::u32);
    for (std::uint64_t i = count / 3; i < count / 2; ++i) set_entry(index, i, i);
    const image table = filled(count, width, width, 0, 3);
    image expected = poisoned(count, width, width);
    const placed out(ctx, expected);
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(expected.record(i), table.record(entry(index, i)), width);
    gather(ctx, table.view(), index_view(index, index_type::u32), out.view(), {.variant = "cpu.direct"});
    ctx.wait();
    expect_bytes(out.download(), expected, "output");
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuDirect, testing::Values(1, 2, 5),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

}  // namespace
}  // namespace sheaf::tests::cpu_direct_test
