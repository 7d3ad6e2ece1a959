#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/multipass.hpp"

// The multi-pass variants with passes and segments set by hand: the planner seldom asks for more than one pass, and
// never on arrays as small as these.
namespace sheaf::tests::primitives_movement_multipass_test {
namespace {

// Both directions: gather (0) and scatter (1).
class Multipass : public testing::TestWithParam<int> {
 protected:
  bool gathers() const { return GetParam() == 0; }
};

INSTANTIATE_TEST_SUITE_P(Both, Multipass, testing::Values(0, 1),
                         [](const auto& which) { return which.param == 0 ? "gather" : "scatter"; });

TEST_P(Multipass, EqualsTheReferenceWithAnyPassesAndSegments) {
  const auto contexts = every_context();
  const char* const pattern = gathers() ? "uniform" : "permutation";
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const std::uint64_t width : {1, 2, 3, 4, 8, 12, 16, 24, 64, 100}) {
    const movement_case packed{inputs::parse_pattern(pattern), types.next(), 9001, 9973, width};
    movement_case padded = packed;
    padded.index = types.next();
    padded.sequential_padding = 16 - width % 16;
    padded.indexed_padding = 16;
    for (const movement_case& c : {packed, padded}) {
      const multipass_trial t(gathers(), c);
      const image expected = t.expected(context::cpu(1));
      for (const named_context& where : contexts) {
        for (const forced& rounds : every_round()) {
          SCOPED_TRACE(fmt::format("{}, {} passes, {} segments, {}", c.description(), rounds.passes, rounds.segments,
                                   where.name));
          expect_bytes(run_multipass(where.ctx, t, rounds), expected, "output");
          where.ctx.wait();
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(Multipass, TakesFewerRecordsThanPassesAndSegments) {
  for (const std::uint64_t count : {1, 2, 3, 33}) {
    for (const std::uint64_t width : {1, 8, 24}) {
      const multipass_trial t(gathers(), {inputs::parse_pattern("reverse"), index_type::i32, count, count, width});
      const image expected = t.expected(context::cpu(1));
      for (const named_context& where : every_context()) {
        for (const forced& rounds : every_round()) {
          SCOPED_TRACE(fmt::format("{} of {}, {} passes, {} segments, {}", count, width, rounds.passes, rounds.segments,
                                   where.name));
          expect_bytes(run_multipass(where.ctx, t, rounds), expected, "output");
        }
      }
    }
  }
}

TEST_P(Multipass, MovesManyTilesAndTrustedIndices) {
  const std::uint64_t million = 1 << 20;
  for (const std::uint64_t width : {1, 4, 8, 16, 20}) {
    const multipass_trial t(
        gathers(), {inputs::parse_pattern("permutation"), index_type::u32, million, million + 3, width}, bounds::trust);
    const image expected = t.expected(context::cpu(1));
    for (const named_context& where : every_context()) {
      for (const forced rounds : {forced{7, 1}, forced{16, 5}, forced{3, 512}}) {
        SCOPED_TRACE(
            fmt::format("{} bytes, {} passes, {} segments, {}", width, rounds.passes, rounds.segments, where.name));
        expect_bytes(run_multipass(where.ctx, t, rounds), expected, "output");
      }
    }
  }
}

TEST_P(Multipass, RunsAsPlanned) {
  const multipass_trial t(gathers(), {inputs::parse_pattern("permutation"), index_type::u64, 9001, 9001, 8});
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    expect_bytes(run_multipass(where.ctx, t, [](plan::planned&) {}), t.expected(context::cpu(1)), "output");
  }
}

// A bad index is in no region. A pass has to see it at any position and beside neighbours of any region. The first bad
// index is reported, and all are skipped.
TEST_P(Multipass, ReportsTheFirstBadIndexOnce) {
  constexpr std::uint64_t two_31 = std::uint64_t{1} << 31;
  rotation<std::uint64_t> widths({8, 1, 16, 24, 4, 2, 100});
  rotation<std::uint64_t> values({9001, 9002, two_31 - 1, two_31, ~std::uint64_t{0}});
  for (const index_type type : index_types) {
    for (const std::uint64_t position : {0, 4500, 9000}) {
      multipass_trial t(gathers(), {inputs::parse_pattern("permutation"), type, 9001, 9001, widths.next()});
      set_entry(t.index, 9000, values.next());
      set_entry(t.index, std::min<std::uint64_t>(position + 5, 9000), values.next());
      set_entry(t.index, position, values.next());
      const context reference = context::cpu(1);
      const image expected = t.expected(reference);
      const std::string words = message_of(error_code::bad_index, [&] { reference.wait(); });
      for (const named_context& where : every_context()) {
        for (const forced rounds : {forced{1, 1}, forced{2, 5}, forced{7, 1}, forced{16, 2}, forced{1000, 1}}) {
          SCOPED_TRACE(fmt::format("{} at {}, width {}, {} passes, {} segments, {}", name(type), position,
                                   t.sequential.record_bytes, rounds.passes, rounds.segments, where.name));
          const std::vector<std::byte> got = run_multipass(where.ctx, t, rounds);
          expect_error(error_code::bad_index, words, [&] { where.ctx.wait(); });
          EXPECT_NO_THROW(where.ctx.wait());
          expect_bytes(got, expected, "output");
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Every region has a bad index beside its good ones.
TEST_P(Multipass, SkipsBadIndicesAmongTheRecordsOfEveryRegion) {
  multipass_trial t(gathers(), {inputs::parse_pattern("identity"), index_type::u32, 9001, 9001, 8});
  for (std::uint64_t i = 100; i < 9001; i += 250) set_entry(t.index, i, 9001 + i);
  const context reference = context::cpu(1);
  const image expected = t.expected(reference);
  const std::string words = message_of(error_code::bad_index, [&] { reference.wait(); });
  for (const named_context& where : every_context()) {
    for (const forced& rounds : every_round()) {
      SCOPED_TRACE(fmt::format("{} passes, {} segments, {}", rounds.passes, rounds.segments, where.name));
      const auto got = run_multipass(where.ctx, t, rounds);
      expect_error(error_code::bad_index, words, [&] { where.ctx.wait(); });
      expect_bytes(got, expected, "output");
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_multipass_test
