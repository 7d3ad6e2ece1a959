// Movements in the order of the list, with the streaming stores that outputs larger than the cache are written with: a
// profile with a tiny cache makes every output such a one. The expected output comes from a loop of memcpy.
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/scatter.hpp>

#include "support/cases/movement.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::cpu_direct_test {
namespace {

// Records that are parts of a line, whole lines, and neither.
constexpr std::uint64_t widths[] = {1, 2, 4, 8, 16, 32, 64, 128, 192, 24, 7};
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

INSTANTIATE_TEST_SUITE_P(Threads, CpuDirect, testing::Values(1, 2, 5),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

}  // namespace
}  // namespace sheaf::tests::cpu_direct_test
