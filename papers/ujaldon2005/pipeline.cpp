#include <fmt/format.h>
#include <sheaf/scatter_reduce.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "papers/ujaldon2005/figures.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"

// Table 1 and section 5.1, "Indirection schemes": parts of the pipeline as parts of a program, each beside the loop of
// one CPU thread. The pipeline's calls check and upload their arrays and read the answer back, every time. The paper's
// times of indirections are of the lookups alone, beside which there are draws of arrays that stay on the device.
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

constexpr std::uint32_t untouched = 0xdeadbeef;

/// A step of a program, by the pipeline and by a loop, and the words that both write.
struct step {
  std::string what;
  std::function<void(words&)> draw;
  std::function<void(words&)> loop;
  std::uint64_t out_words;
  std::string paper = "-";           ///< time in the paper
  std::uint64_t lookups = 0;         ///< in lists and tables, by all indirections together; 0 where none are counted
  std::uint64_t table_records = 0;   ///< of the last table
  std::uint32_t before = untouched;  ///< that both find, and keep where they write nothing
  std::shared_ptr<const opengl::kept_gather_nested> kept = nullptr;  ///< draws alone, where there is one
  std::shared_ptr<words> kept_out = nullptr;                         ///< where it reads back
};

std::optional<std::string> difference_of(const words& found, const words& expected) {
  const auto [word, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (word == found.end()) return std::nullopt;
  return fmt::format("word {} is {:#x}, not {:#x}", word - found.begin(), *word, *wanted);
}

timed_call call_of(const call_place& place, const step& step, const std::function<void(words&)>& make,
                   const std::shared_ptr<const words>& expected) {
  const auto out = std::make_shared<words>(step.out_words, step.before);
  return {.where = place.name,
          .who = step.what,
          .backend = place.ctx.backend(),
          .run = [make, out] { make(*out); },
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake =
              [make, out, expected, before = step.before, ctx = place.ctx] {
                std::fill(out->begin(), out->end(), before);
                make(*out);
                ctx.wait();
                return difference_of(*out, *expected);
              }};
}

timed_call draw_of(const call_place& place, const step& step, const std::shared_ptr<const words>& expected) {
  return {.where = place.name,
          .who = step.what + ", draw alone",
          .backend = place.ctx.backend(),
          .is_prepared = true,
          .run = [kept = step.kept] { kept->draw(); },
          .wait = [] {},
          .mistake =
              [kept = step.kept, out = step.kept_out, expected] {
                std::fill(out->begin(), out->end(), untouched);
                kept->draw();
                kept->read_back();
                return difference_of(*out, *expected);
              }};
}

void print_steps(paper_run& run, const machine_place& device, const std::string& input,
                 const std::vector<step>& steps) {
  const bool are_counted = std::ranges::any_of(steps, [](const step& s) { return s.lookups > 0; });
  const table rows({"step                                ", column("lookups", are_counted),
                    column("records", are_counted), "pipeline", "draw alone", "one thread", "gain", "the paper"});
  for (const step& step : steps) {
    words expected(step.out_words, step.before);
    step.loop(expected);
    const auto shared = std::make_shared<const words>(std::move(expected));
    std::vector<timed_call> calls{call_of(device.place, step, step.draw, shared),
                                  call_of(run.one_thread(), step, step.loop, shared)};
    if (step.kept) calls.push_back(draw_of(device.place, step, shared));
    run.measure(table_number(1), input, calls);
    rows.row({step.what, fmt::to_string(step.lookups), fmt::to_string(step.table_records),
              time_text(calls[0].time.median_seconds),
              step.kept ? time_text(calls[2].time.median_seconds) : std::string("-"),
              time_text(calls[1].time.median_seconds),
              gain_text(calls[1].time.median_seconds / calls[0].time.median_seconds), step.paper});
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
  step s{std::move(what), draw, loop, lists.front().size(), std::move(paper)};
  s.lookups = lists.size() * lists.front().size();
  s.table_records = table.size();
  s.kept_out = std::make_shared<words>(s.out_words, untouched);
  const std::vector<index_span> spans(lists.begin(), lists.end());
  s.kept = std::make_shared<opengl::kept_gather_nested>(ctx, table, spans, schemes, *s.kept_out);
  return s;
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

/// slots[index[i]] = op(slots[index[i]], in[i]), where the operator is a blending function.
step blended(const context& ctx, std::string what, reduction op, const std::vector<float>& in, const words& index,
             std::uint64_t slots) {
  const auto draw = [=](words& out) {
    scatter_reduce(ctx, in, index, values(out.data(), out.size(), value_type::f32), op);
  };
  const auto loop = [=](words& out) {
    for (std::uint64_t i = 0; i < in.size(); ++i) {
      std::uint32_t& word = out[index[i]];
      const auto slot = std::bit_cast<float>(word);
      const float less = std::min(slot, in[i]);
      const float more = std::max(slot, in[i]);
      const float sum = op == reduction::add ? slot + in[i] : slot - in[i];
      word = std::bit_cast<std::uint32_t>(op == reduction::min ? less : op == reduction::max ? more : sum);
    }
  };
  step s{std::move(what), draw, loop, slots};
  s.before = std::bit_cast<std::uint32_t>(1.0F);  // no minimum or maximum of zeros of two signs
  return s;
}

}  // namespace

std::vector<float> sixty_fourths(std::uint64_t count, std::int64_t least, std::int64_t most) {
  std::vector<float> list(count);
  const auto range = static_cast<std::uint64_t>(64 * (most - least) - 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto drawn = 64 * least + 1 + static_cast<std::int64_t>(inputs::mix(i) % range);
    list[i] = static_cast<float>(drawn == 0 ? 1 : drawn) / 64;
  }
  return list;
}

void indirections(paper_run& run, const machine_place& device) {
  const matrix_input& in = run.matrices().front();
  const context& ctx = device.place.ctx;
  const std::uint64_t color_count = std::min(opengl::most_colors, in.matrix->columns);
  fmt::print(
      "\n  # {}: indirections; one is x[Column[j]] of {}. The color table holds {} records: so many has the table of "
      "all\n"
      "  schemes, which look up the same ones. Whole x has {}\n",
      device.place.name, in.name, color_count, in.matrix->columns);
  const words x = table_of(in.matrix->columns);
  const words few = table_of(color_count);
  const words columns = columns_of(in, x.size());
  const words few_columns = columns_of(in, color_count);
  using enum lookup_scheme;
  std::vector<step> steps{nested(ctx, "color table", few, {few_columns}, {colors}, "0.01 ms"),
                          nested(ctx, "texture", few, {few_columns}, {texels}, "0.65 ms"),
                          nested(ctx, "vertex index", few, {few_columns}, {vertices}, "2.40 ms"),
                          nested(ctx, "texture, whole x", x, {columns}, {texels}, "0.65 ms"),
                          nested(ctx, "vertex index, whole x", x, {columns}, {vertices}, "2.40 ms")};
  std::vector<words> lists{few_columns};
  for (std::size_t depth = 2; depth <= opengl::most_indirections; ++depth) {
    // A list of as many record numbers stands between the one before and the table.
    lists.insert(lists.begin(), numbers_below(columns.size(), columns.size(), depth));
    std::vector<lookup_scheme> schemes(depth, texels);
    steps.push_back(nested(ctx, fmt::format("{} deep, textures", depth), few, lists, schemes));
    schemes.front() = vertices;
    steps.push_back(nested(ctx, fmt::format("{} deep, vertices first", depth), few, lists, schemes));
    schemes.back() = colors;
    steps.push_back(nested(ctx, fmt::format("{} deep, vertices first, colors last", depth), few, lists, schemes));
    schemes.front() = texels;
    steps.push_back(nested(ctx, fmt::format("{} deep, colors last", depth), few, lists, schemes));
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

void reductions(paper_run& run, const machine_place& device) {
  const matrix_input& in = run.matrices().front();
  const context& ctx = device.place.ctx;
  const std::uint64_t count = in.matrix->entries();
  words row_of_entry;
  for (std::uint64_t row = 0; row < in.matrix->rows; ++row) {
    row_of_entry.resize(in.matrix->row_offsets[row + 1], static_cast<std::uint32_t>(row));
  }
  fmt::print("\n  # {}: blending as a reduction operator, {} values into {} slots (section 3.2)\n", device.place.name,
             count, in.matrix->rows);
  const std::vector<float> signed_values = sixty_fourths(count, -8, 8);
  std::vector<step> steps;
  for (const auto& [what, op] : {std::pair{"sum", reduction::add}, std::pair{"difference", reduction::subtract},
                                 std::pair{"minimum", reduction::min}, std::pair{"maximum", reduction::max}}) {
    steps.push_back(blended(ctx, what, op, signed_values, row_of_entry, in.matrix->rows));
  }
  print_steps(run, device, in.name, steps);
  fmt::print("\n  # {}: values that the paper's first devices clamped (section 6.1), right to the last bit\n",
             device.place.name);
  print_steps(run, device, in.name,
              {blended(ctx, "sum of values in (0, 1)", reduction::add, sixty_fourths(count, 0, 1), row_of_entry,
                       in.matrix->rows),
               blended(ctx, "sum of values in (-500, 500)", reduction::add, sixty_fourths(count, -500, 500),
                       row_of_entry, in.matrix->rows),
               blended(ctx, "minimum of values below 0", reduction::min, sixty_fourths(count, -500, 0), row_of_entry,
                       in.matrix->rows),
               blended(ctx, "maximum of values above 1", reduction::max, sixty_fourths(count, 1, 500), row_of_entry,
                       in.matrix->rows)});
}

}  // namespace sheaf::bench::papers::ujaldon2005
