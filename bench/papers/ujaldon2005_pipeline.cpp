#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "bench/papers/ujaldon2005.hpp"
#include "inputs/pattern_function.hpp"
#include "opengl/papers/ujaldon2005.hpp"

// Table 1 and section 5.1, "Indirection schemes": parts of the pipeline as parts of a program, each beside the loop of
// one CPU thread. The pipeline's calls upload their arrays and read the answer back, every time.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

using opengl::lookup_scheme;
using words = std::vector<std::uint32_t>;

words numbers_below(std::uint64_t count, std::uint64_t limit, std::uint64_t seed) {
  words list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    list[i] = static_cast<std::uint32_t>(inputs::mix(i + (seed << 32)) % limit);
  }
  return list;
}

words table_of(std::uint64_t count) {
  words table(count);
  for (std::uint64_t i = 0; i < count; ++i) table[i] = static_cast<std::uint32_t>(inputs::mix(i));
  return table;
}

/// The columns of a matrix, as many lookups as it has entries, cut down to a table of `limit` records.
words columns_of(const matrix_input& in, std::uint64_t limit) {
  words list;
  std::visit(
      [&](const auto& columns) {
        for (const auto column : columns) list.push_back(static_cast<std::uint32_t>(column % limit));
      },
      in.matrix->column_indices);
  return list;
}

/// A step of a program, by the pipeline and by a loop, and the words that both write. Records that neither writes keep
/// the word `untouched`.
struct step {
  std::string what;
  std::function<void(words&)> draw;
  std::function<void(words&)> loop;
  std::uint64_t out_words;
  std::string paper = "-";  ///< time in the paper
};

constexpr std::uint32_t untouched = 0xdeadbeef;

timed_call call_of(const call_place& place, std::string who, const std::function<void(words&)>& make,
                   std::uint64_t out_words, const std::shared_ptr<const words>& expected) {
  const auto out = std::make_shared<words>(out_words, untouched);
  return {.where = place.name,
          .who = std::move(who),
          .backend = place.ctx.backend(),
          .run = [make, out] { make(*out); },
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake = [make, out, expected, ctx = place.ctx]() -> std::optional<std::string> {
            std::fill(out->begin(), out->end(), untouched);
            make(*out);
            ctx.wait();
            const auto [found, wanted] = std::mismatch(out->begin(), out->end(), expected->begin());
            if (found == out->end()) return std::nullopt;
            return fmt::format("word {} is {:#x}, not {:#x}", found - out->begin(), *found, *wanted);
          }};
}

void print_steps(paper_run& run, const machine_place& device, const std::string& input,
                 const std::vector<step>& steps) {
  const table rows({"step                            ", "pipeline", "one thread", "gain", "the paper"});
  for (const step& s : steps) {
    words expected(s.out_words, untouched);
    s.loop(expected);
    const auto shared = std::make_shared<const words>(std::move(expected));
    std::vector<timed_call> calls{call_of(device.place, s.what, s.draw, s.out_words, shared),
                                  call_of(run.one_thread(), s.what, s.loop, s.out_words, shared)};
    run.measure(table_number(1), input, calls);
    rows.row({s.what, time_text(calls[0].time.median_seconds), time_text(calls[1].time.median_seconds),
              gain_text(calls[1].time.median_seconds / calls[0].time.median_seconds), s.paper});
  }
}

template <std::size_t Depth>
void follow(const words& table, const std::vector<words>& lists, words& out) {
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    std::uint32_t at = lists[0][i];
    for (std::size_t k = 1; k < Depth; ++k) at = lists[k][at];
    out[i] = table[at];
  }
}

/// out[i] = table[lists[n-1][ ... lists[0][i]]], and which stage resolves which of these indirections.
step nested(const context& ctx, std::string what, const words& table, const std::vector<words>& lists,
            const std::vector<lookup_scheme>& schemes, std::string paper = "-") {
  constexpr void (*loops[])(const words&, const std::vector<words>&, words&) = {follow<1>, follow<2>, follow<3>,
                                                                                follow<4>};
  const auto draw = [ctx, table, lists, schemes](words& out) {
    const std::vector<index_span> spans(lists.begin(), lists.end());
    opengl::gather_nested(ctx, table, spans, schemes, out);
  };
  const auto loop = [table, lists, run = loops[lists.size() - 1]](words& out) { run(table, lists, out); };
  return {std::move(what), draw, loop, lists.front().size(), std::move(paper)};
}

step conditional(const context& ctx, std::string what, const words& table, const words& index,
                 const std::vector<std::uint8_t>& each, std::uint64_t first, std::uint64_t count, std::uint8_t mask) {
  constexpr std::uint64_t width = 2;  // words of a record
  const auto draw = [=](words& out) {
    const opengl::write_condition condition{.each = each, .first = first, .count = count, .words = mask};
    opengl::gather_where(ctx, const_records(table.data(), table.size() / width, 4 * width), index, condition,
                         records(out.data(), out.size() / width, 4 * width));
  };
  const auto loop = [=](words& out) {
    const std::uint64_t end = std::min<std::uint64_t>(index.size(), first + std::min(count, index.size() - first));
    for (std::uint64_t i = first; i < end; ++i) {
      if (!each.empty() && each[i] == 0) continue;
      for (std::uint64_t w = 0; w < width; ++w) {
        if ((mask >> w & 1) != 0) out[i * width + w] = table[index[i] * width + w];
      }
    }
  };
  return {std::move(what), draw, loop, index.size() * width};
}

step dimensional(const context& ctx, const words& table, const words& index, int sides) {
  const auto draw = [=](words& out) { opengl::gather_from_dimensions(ctx, table, index, sides, out); };
  const auto loop = [=](words& out) {
    for (std::uint64_t i = 0; i < index.size(); ++i) out[i] = table[index[i]];
  };
  return {fmt::format("{} dimension{}", sides, sides == 1 ? "" : "s"), draw, loop, index.size()};
}

}  // namespace

void indirections(paper_run& run, const machine_place& device) {
  const matrix_input& in = run.matrices().front();
  const context& ctx = device.place.ctx;
  const std::uint64_t color_count = std::min(opengl::most_colors, in.matrix->columns);
  fmt::print("\n  # {}: indirections; one is x[Column[j]] of {}, {} lookups\n", device.place.name, in.name,
             in.matrix->entries());
  const words x = table_of(in.matrix->columns);
  const words few = table_of(color_count);
  const words columns = columns_of(in, x.size());
  const words few_columns = columns_of(in, color_count);
  using enum lookup_scheme;
  std::vector<step> steps{nested(ctx, "color table", few, {few_columns}, {colors}, "0.01 ms"),
                          nested(ctx, "texture", x, {columns}, {texels}, "0.65 ms"),
                          nested(ctx, "vertex index", x, {columns}, {vertices}, "2.40 ms")};
  std::vector<words> lists{columns};
  for (std::size_t depth = 2; depth <= opengl::most_indirections; ++depth) {
    // A list of as many record numbers stands between the one before and the table.
    lists.insert(lists.begin(), numbers_below(columns.size(), depth == 2 ? columns.size() : lists[0].size(), depth));
    std::vector<lookup_scheme> schemes(depth, texels);
    steps.push_back(nested(ctx, fmt::format("{} deep, textures", depth), x, lists, schemes));
    schemes.front() = vertices;
    steps.push_back(nested(ctx, fmt::format("{} deep, vertices first", depth), x, lists, schemes));
    std::vector<words> to_colors = lists;
    to_colors.back() = few_columns;
    schemes.back() = colors;
    steps.push_back(nested(ctx, fmt::format("{} deep, colors last", depth), few, to_colors, schemes));
  }
  print_steps(run, device, in.name, steps);
}

void conditions(paper_run& run, const machine_place& device) {
  const matrix_input& in = run.matrices().front();
  const context& ctx = device.place.ctx;
  const words table = table_of(2 * in.matrix->columns);
  const words index = columns_of(in, in.matrix->columns);
  const std::uint64_t count = index.size();
  fmt::print("\n  # {}: conditions, gathers of {} records of 8 bytes\n", device.place.name, count);
  std::vector<std::uint8_t> each(count);
  for (std::uint64_t i = 0; i < count; ++i) each[i] = inputs::mix(i) & 1;
  print_steps(run, device, in.name,
              {conditional(ctx, "no IF", table, index, {}, 0, count, 3),
               conditional(ctx, "clipping: inner IF, one half", table, index, each, 0, count, 3),
               conditional(ctx, "window: outer IF, one half", table, index, {}, count / 4, count / 2, 3),
               conditional(ctx, "color mask: outermost, one half", table, index, {}, 0, count, 1)});
}

void dimensions(paper_run& run, const machine_place& device) {
  const matrix_input& in = run.matrices().front();
  const words table = table_of(in.matrix->columns);
  const words index = columns_of(in, table.size());
  fmt::print("\n  # {}: x in a texture of 1, 2 and 3 dimensions (the paper: 2 are slightly faster)\n",
             device.place.name);
  std::vector<step> steps;
  for (int sides = 1; sides <= 3; ++sides) {
    step s = dimensional(device.place.ctx, table, index, sides);
    words out(s.out_words);
    try {
      s.draw(out);
      steps.push_back(std::move(s));
    } catch (const error& e) {
      if (e.code() != error_code::bad_argument) throw;
      fmt::print("  {}\n", e.what());  // x is longer than a side may be
    }
  }
  print_steps(run, device, in.name, steps);
}

}  // namespace sheaf::bench::papers::ujaldon2005
