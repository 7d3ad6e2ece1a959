#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"
#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"
#include "support/cases/movement.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::papers_ujaldon2005_forms_test {
namespace {

using opengl::lookup_scheme;

constexpr std::uint64_t widths[] = {4, 8, 12, 16};
constexpr const char* scheme_names[] = {"vertices", "texels", "colors"};

class Ujaldon2005 : public opengl_test {};

std::vector<std::uint32_t> list_of(std::uint64_t count, std::uint64_t limit, std::uint64_t seed) {
  std::vector<std::uint32_t> list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    list[i] = static_cast<std::uint32_t>(inputs::mix(i + 1000 * seed) % limit);
  }
  return list;
}

// Every way to resolve so many indirections: vertices may do the first, the color table the last.
std::vector<std::vector<lookup_scheme>> schemes_of(std::size_t depth) {
  std::vector<std::vector<lookup_scheme>> all;
  for (const lookup_scheme first : {lookup_scheme::vertices, lookup_scheme::texels}) {
    for (const lookup_scheme last : {lookup_scheme::texels, lookup_scheme::colors}) {
      if (depth == 1 && first == lookup_scheme::vertices && last == lookup_scheme::colors) continue;
      std::vector<lookup_scheme> schemes(depth, lookup_scheme::texels);
      if (last == lookup_scheme::colors) schemes.back() = last;
      if (first == lookup_scheme::vertices) schemes.front() = first;
      all.push_back(schemes);
    }
  }
  return all;
}

TEST_F(Ujaldon2005, CompilesEveryShaderOfItsOwn) {
  const opengl::pipeline_call call(state(), "test");
  EXPECT_EQ(opengl::paper_shaders().size(), 8U);
  for (const opengl::shader_source& source : opengl::paper_shaders()) {
    SCOPED_TRACE(source.file);
    EXPECT_TRUE(source.text.starts_with("#version 330 core\n"));
    glDeleteShader(opengl::compiled_shader(source));
  }
}

TEST_F(Ujaldon2005, ResolvesUpToFourIndirectionsByEveryScheme) {
  constexpr std::uint64_t counts[] = {1003, 700, 911, 650};  // of the lists, the innermost first
  constexpr std::uint64_t table_count = 800;
  for (std::size_t depth = 1; depth <= opengl::most_indirections; ++depth) {
    std::vector<std::vector<std::uint32_t>> lists;
    for (std::size_t k = 0; k < depth; ++k) {
      lists.push_back(list_of(counts[k], k + 1 < depth ? counts[k + 1] : table_count, k));
    }
    const std::vector<index_span> spans(lists.begin(), lists.end());
    for (const auto& schemes : schemes_of(depth)) {
      for (const std::uint64_t width : widths) {
        std::string words;
        for (const lookup_scheme s : schemes) words += std::string(" ") + scheme_names[static_cast<int>(s)];
        SCOPED_TRACE(fmt::format("{} bytes by{}", width, words));
        const image table = filled(table_count, width, width + 4, 0, 5);
        image out = poisoned(counts[0], width, width);
        image expected = out;
        for (std::uint64_t i = 0; i < out.count; ++i) {
          std::uint64_t at = i;
          for (const auto& list : lists) at = list[at];
          std::copy_n(table.record(at), width, expected.record(i));
        }
        opengl::gather_nested(ctx(), table.view(), spans, schemes, out.view());
        ctx().wait();
        expect_bytes(out.bytes, expected, "out");
      }
    }
  }
}

// A texel and a pixel of four channels move four values in one lookup, which are those that four lookups move.
TEST_F(Ujaldon2005, FourChannelsMoveWhatFourLookupsMove) {
  constexpr std::uint32_t channels = 4;
  const std::vector<std::uint32_t> index = list_of(1003, 800, 3);
  std::vector<float> table(800 * channels);
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(inputs::mix(i) % 10007) - 5000.5F;
  for (const lookup_scheme scheme : {lookup_scheme::vertices, lookup_scheme::texels, lookup_scheme::colors}) {
    SCOPED_TRACE(scheme_names[static_cast<int>(scheme)]);
    const auto looked_up = [&](const std::vector<float>& from, std::uint32_t components) {
      std::vector<float> out(index.size() * components, -1);
      const std::vector<index_span> lists{index};
      const std::vector<lookup_scheme> schemes{scheme};
      const opengl::kept_gather_nested kept(
          ctx(), const_records(from.data(), from.size() / components, components * sizeof(float)), lists, schemes,
          records(out.data(), index.size(), components * sizeof(float)));
      kept.draw();
      kept.read_back();
      return out;
    };
    const std::vector<float> together = looked_up(table, channels);
    for (std::uint32_t k = 0; k < channels; ++k) {
      std::vector<float> one;
      for (std::uint64_t i = k; i < table.size(); i += channels) one.push_back(table[i]);
      const std::vector<float> alone = looked_up(one, 1);
      for (std::uint64_t i = 0; i < index.size(); ++i) {
        ASSERT_EQ(together[i * channels + k], alone[i]) << "channel " << k << " of " << i;
        ASSERT_EQ(alone[i], table[index[i] * std::uint64_t{channels} + k]);
      }
    }
  }
}

// Draws need nothing of the host's, and share nothing with the calls between them but programs.
TEST_F(Ujaldon2005, ArraysThatStayOnTheDeviceAreFollowedByDrawsAlone) {
  constexpr std::uint64_t counts[] = {1003, 700, 911, 650};
  constexpr std::uint64_t table_count = 800;
  for (const bool small : {false, true}) {
    if (small) state().lower_limits({.texture_edge = 64, .points_per_draw = 100, .vertices_per_buffer = 70});
    for (std::size_t depth = 1; depth <= opengl::most_indirections; ++depth) {
      for (const auto& schemes : schemes_of(depth)) {
        const image table = filled(table_count, 12, 16, 0, 5);
        image expected = poisoned(counts[0], 12, 12);
        image out = expected;
        image from_other = expected;
        std::optional<opengl::kept_gather_nested> kept;
        {
          std::vector<std::vector<std::uint32_t>> lists;
          for (std::size_t k = 0; k < depth; ++k) {
            lists.push_back(list_of(counts[k], k + 1 < depth ? counts[k + 1] : table_count, k));
          }
          const std::vector<index_span> spans(lists.begin(), lists.end());
          opengl::gather_nested(ctx(), table.view(), spans, schemes, expected.view());
          const image passing = table;  // NOLINT(performance-unnecessary-copy-initialization): it ends before the run
          kept.emplace(ctx(), passing.view(), spans, schemes, out.view());
          // Another table by the same programs.
          const image other = filled(table_count, 12, 12, 0, 77);
          opengl::gather_nested(ctx(), other.view(), spans, schemes, from_other.view());
          ASSERT_FALSE(from_other.bytes == expected.bytes);
        }
        SCOPED_TRACE(fmt::format("{} lists, first scheme {}, last {}", depth,
                                 scheme_names[static_cast<int>(schemes[0])],
                                 scheme_names[static_cast<int>(schemes.back())]));
        expect_bytes(out.bytes, poisoned(counts[0], 12, 12), "out before it is read back");
        for (int repeat = 0; repeat < 2; ++repeat) {
          const image fresh = poisoned(counts[0], 12, 12);
          std::copy(fresh.bytes.begin(), fresh.bytes.end(), out.bytes.begin());
          kept->draw();
          kept->read_back();
          expect_bytes(out.bytes, expected, "out");
        }
      }
    }
  }
  ctx().wait();
}

TEST_F(Ujaldon2005, GivesZeroForABadIndexAtAnyDepth) {
  for (const lookup_scheme first : {lookup_scheme::vertices, lookup_scheme::texels}) {
    for (std::size_t bad = 0; bad < 3; ++bad) {
      std::vector<std::vector<std::uint32_t>> lists{{0, 1, 2}, {2, 1, 0}, {0, 1, 2}};
      lists[bad][1] = 99;
      const std::vector<index_span> spans(lists.begin(), lists.end());
      const std::vector<lookup_scheme> schemes{first, lookup_scheme::texels, lookup_scheme::texels};
      const std::vector<std::uint32_t> table{7, 8, 9};
      std::vector<std::uint32_t> out(3, 1);
      opengl::gather_nested(ctx(), table, spans, schemes, out);
      EXPECT_EQ(out, (std::vector<std::uint32_t>{9, 0, 7})) << "list " << bad;
      expect_error(error_code::bad_index,
                   fmt::format("gather_nested: entry 1 of list {} is 99, past {} 3 {}", bad,
                               bad == 2 ? std::string("the table's") : fmt::format("list {}'s", bad + 1),
                               bad == 2 ? "records" : "entries"),
                   [&] { ctx().wait(); });
    }
  }
}

// Each of one to four lists may be the bad one, and only the last names records of the table.
TEST_F(Ujaldon2005, NamesTheListThatHasABadIndex) {
  const std::vector<std::int32_t> good{0, 1, 2};
  const std::vector<std::int32_t> bad{0, 1, -5};
  const std::vector<std::uint32_t> table{7, 8, 9};
  std::vector<std::uint32_t> out(3);
  for (std::size_t depth = 1; depth <= opengl::most_indirections; ++depth) {
    const std::vector<lookup_scheme> schemes(depth, lookup_scheme::texels);
    for (std::size_t k = 0; k < depth; ++k) {
      std::vector<index_span> lists(depth, index_span(good));
      lists[k] = bad;
      opengl::gather_nested(ctx(), table, lists, schemes, out);
      const std::string whose = k + 1 == depth ? "the table's 3 records" : fmt::format("list {}'s 3 entries", k + 1);
      expect_error(error_code::bad_index, fmt::format("gather_nested: entry 2 of list {} is -5, outside {}", k, whose),
                   [&] { ctx().wait(); });
    }
  }
}

TEST_F(Ujaldon2005, OtherFormsNameTheirListByTheCall) {
  const std::vector<std::uint32_t> index{0, 5};
  const std::vector<std::uint32_t> table{7, 8, 9};
  std::vector<std::uint32_t> out(2);
  opengl::gather_where(ctx(), table, index, {}, out);
  expect_error(error_code::bad_index, "gather_where: index[1] is 5, past the table's 3 records", [&] { ctx().wait(); });
  opengl::gather_from_dimensions(ctx(), table, index, 2, out);
  expect_error(error_code::bad_index, "gather_from_dimensions: index[1] is 5, past the table's 3 records",
               [&] { ctx().wait(); });
}

TEST_F(Ujaldon2005, NamesTheListThatTakesSeveralTextures) {
  state().lower_limits({.texture_edge = 2, .points_per_draw = 100, .vertices_per_buffer = 100});
  const std::vector<std::uint32_t> one{0};
  const std::vector<std::uint32_t> many(5);
  const std::vector<index_span> lists{one, one, many};
  std::vector<std::uint32_t> out(1);
  expect_error(
      error_code::bad_argument, "gather_nested: list 2 has 5 records, which take 2 textures of 2 x 2 texels, not one",
      [&] { opengl::gather_nested(ctx(), one, lists, std::vector<lookup_scheme>(3, lookup_scheme::texels), out); });
}

TEST_F(Ujaldon2005, RefusesSchemesWhereTheyCannotStand) {
  const std::vector<std::uint32_t> list{0, 1};
  const std::vector<std::uint32_t> table(1025);
  std::vector<std::uint32_t> out(2);
  const auto message = [&](std::size_t lists, const std::vector<lookup_scheme>& schemes) {
    const std::vector<index_span> spans(lists, index_span(list));
    return message_of(error_code::bad_argument, [&] { opengl::gather_nested(ctx(), table, spans, schemes, out); });
  };
  using enum lookup_scheme;
  EXPECT_EQ(message(0, {}), "gather_nested: 0 lists, not 1 to 4");
  EXPECT_EQ(message(5, {texels, texels, texels, texels, texels}), "gather_nested: 5 lists, not 1 to 4");
  EXPECT_EQ(message(2, {texels}), "gather_nested: 2 lists and 1 schemes");
  EXPECT_EQ(message(2, {texels, vertices}), "gather_nested: vertices resolve the first indirection only");
  EXPECT_EQ(message(2, {colors, texels}), "gather_nested: the color table resolves the last indirection only");
  EXPECT_EQ(message(1, {colors}), "gather_nested: the color table holds 1024 records, but the table has 1025");
}

TEST_F(Ujaldon2005, ChecksEveryListOfSeveral) {
  const std::vector<std::uint32_t> good{0, 1, 0, 1};
  const std::vector<std::uint32_t> table{7, 8};
  std::vector<std::uint32_t> out(4);
  const std::vector<lookup_scheme> schemes(3, lookup_scheme::texels);
  for (std::size_t k = 1; k < 3; ++k) {
    const auto message = [&](index_span bad) {
      std::vector<index_span> lists(3, index_span(good));
      lists[k] = bad;
      return message_of(error_code::bad_argument, [&] { opengl::gather_nested(ctx(), table, lists, schemes, out); });
    };
    const std::string list = fmt::format("gather_nested: list {}", k);
    const auto* const unaligned = reinterpret_cast<const std::byte*>(good.data()) + 1;
    EXPECT_EQ(message({nullptr, 4, index_type::u32}), list + " is null");
    EXPECT_EQ(message({unaligned, 2, index_type::u32}), list + " is not aligned to its 4 bytes");
    EXPECT_EQ(message({out.data(), 4, index_type::u32}), fmt::format("gather_nested: out overlaps list {}", k));
    EXPECT_EQ(message({good.data(), 4, static_cast<index_type>(9)}),
              fmt::format("gather_nested: the type of list {} is 9, not 0 to 3", k));
    EXPECT_EQ(message({good.data(), ~std::uint64_t{0}, index_type::u64}),
              list + " has 18446744073709551615 entries, more than memory can hold");
  }
}

// The table begins where a longer output would end.
TEST_F(Ujaldon2005, ListsMayBeLongerThanTheOutput) {
  std::vector<std::uint32_t> both{0, 0, 7, 8, 9};
  const std::vector<std::uint32_t> first{2, 0};
  const std::vector<std::uint32_t> second{0, 1, 2, 0, 1};
  const std::vector<index_span> lists{first, second};
  opengl::gather_nested(ctx(), const_records(both.data() + 2, 3, 4), lists,
                        std::vector<lookup_scheme>(2, lookup_scheme::texels), records(both.data(), 2, 4));
  ctx().wait();
  EXPECT_EQ(both, (std::vector<std::uint32_t>{9, 7, 7, 8, 9}));
}

TEST_F(Ujaldon2005, WritesWhereTheConditionHolds) {
  constexpr std::uint64_t count = 1003;
  constexpr std::uint64_t table_count = 321;
  const std::vector<std::uint32_t> index = list_of(count, table_count, 3);
  std::vector<std::uint8_t> each(count);
  for (std::uint64_t i = 0; i < count; ++i) each[i] = inputs::mix(i) % 3 == 0 ? 0 : 1;
  std::vector<opengl::write_condition> conditions{{}, {.each = each}, {.words = 0x5}, {.each = each, .words = 0}};
  for (const std::uint64_t first : {0, 1, 31, 32, 33, 1002, 1003, 2000}) {
    for (const std::uint64_t length : {0, 1, 31, 32, 33, 95, 500, 5000}) {
      conditions.push_back({.first = first, .count = length});
    }
  }
  conditions.push_back({.each = each, .first = 20, .count = 777, .words = 0xa});
  for (const std::uint64_t width : widths) {
    const image table = filled(table_count, width, width, 0, 5);
    for (const opengl::write_condition& c : conditions) {
      SCOPED_TRACE(fmt::format("{} bytes, {} conditions, {} from {}, words {:#x}", width, c.each.size(), c.count,
                               c.first, c.words));
      image out = poisoned(count, width, width + 4);
      image expected = out;
      for (std::uint64_t i = 0; i < count; ++i) {
        const bool holds = (c.each.empty() || c.each[i] != 0) && i >= c.first && i - c.first < c.count;
        for (std::uint64_t word = 0; holds && word < width / 4; ++word) {
          if ((c.words >> word & 1) == 0) continue;
          std::copy_n(table.record(index[i]) + 4 * word, 4, expected.record(i) + 4 * word);
        }
      }
      opengl::gather_where(ctx(), table.view(), index, c, out.view());
      ctx().wait();
      expect_bytes(out.bytes, expected, "out");
    }
  }
}

TEST_F(Ujaldon2005, WantsAConditionForEachRecordOrNone) {
  const std::vector<std::uint32_t> index{0, 1};
  std::vector<std::uint32_t> out(2);
  const std::vector<std::uint8_t> each(3);
  expect_error(error_code::bad_argument, "gather_where: 3 conditions for 2 records",
               [&] { opengl::gather_where(ctx(), index, index, {.each = each}, out); });
}

TEST_F(Ujaldon2005, GathersFromTexturesOfOneTwoAndThreeDimensions) {
  for (const int dimensions : {1, 2, 3}) {
    for (const std::uint64_t width : widths) {
      for (const std::uint64_t table_count : {1, 2, 3, 64, 65, 1000, 4097}) {
        SCOPED_TRACE(fmt::format("{} dimensions, {} records of {} bytes", dimensions, table_count, width));
        const std::vector<std::uint32_t> index = list_of(777, table_count, 1);
        const image table = filled(table_count, width, width + 4, 1, 5);
        image out = poisoned(index.size(), width, width);
        image expected = out;
        for (std::uint64_t i = 0; i < out.count; ++i) std::copy_n(table.record(index[i]), width, expected.record(i));
        opengl::gather_from_dimensions(ctx(), table.view(), index, dimensions, out.view());
        ctx().wait();
        expect_bytes(out.bytes, expected, "out");
      }
    }
  }
}

TEST_F(Ujaldon2005, SaysWhatADeviceOrATexelCannotHold) {
  const std::vector<std::uint32_t> index{0, 1};
  const std::vector<std::uint32_t> table(200);
  std::vector<std::uint32_t> out(2);
  const auto message = [&](int dimensions) {
    return message_of(error_code::bad_argument,
                      [&] { opengl::gather_from_dimensions(ctx(), table, index, dimensions, out); });
  };
  EXPECT_EQ(message(0), "gather_from_dimensions: 0 dimensions, not 1 to 3");
  EXPECT_EQ(message(4), "gather_from_dimensions: 4 dimensions, not 1 to 3");
  state().lower_limits({.texture_edge = 100, .points_per_draw = 1 << 20, .vertices_per_buffer = 1 << 20});
  EXPECT_EQ(message(1),
            "gather_from_dimensions: a table of 200 records takes a texture of 200 texels a side in 1 dimensions, but "
            "the device has 100");
  state().lower_limits(
      {.texture_edge = 100, .volume_edge = 7, .points_per_draw = 1 << 20, .vertices_per_buffer = 1 << 20});
  EXPECT_EQ(message(3),
            "gather_from_dimensions: a table of 200 records takes a texture of 8 texels a side in 3 dimensions, but "
            "the device has 7");
  state().lower_limits({.texture_edge = 1, .points_per_draw = 1 << 20, .vertices_per_buffer = 1 << 20});
  EXPECT_EQ(message(2), "gather_from_dimensions: out has 2 records, which take 2 textures of 1 x 1 texels, not one");
  const std::vector<std::uint8_t> bytes(10);
  std::vector<std::uint8_t> byte_out(2);
  expect_error(error_code::bad_argument, "gather_where: texels hold records of 4, 8, 12 or 16 bytes, not of 1",
               [&] { opengl::gather_where(ctx(), bytes, index, {}, byte_out); });
  expect_error(error_code::bad_argument, "gather_where: the context works on cpu",
               [&] { opengl::gather_where(context::cpu(1), table, index, {}, out); });
}

}  // namespace
}  // namespace sheaf::tests::papers_ujaldon2005_forms_test
