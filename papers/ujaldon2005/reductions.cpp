#include <fmt/format.h>

#include "lab/harness/sparse/calls.hpp"
#include "papers/ujaldon2005/figures.hpp"
#include "papers/ujaldon2005/opengl/reduction.hpp"

// Section 7, beside related work: reductions in one rendering pass and in several, and a banded product.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

using opengl::kept_reduction;
using opengl::reduction_form;

/// Values in slots, and their sums, exact in any order.
struct reduced_input {
  std::string what;
  std::vector<float> values;
  std::vector<std::uint64_t> offsets;
  std::vector<float> sums = {};

  std::uint64_t slots() const { return offsets.size() - 1; }
  void sum_up(std::vector<float>& out) const {
    for (std::uint64_t s = 0; s < slots(); ++s) {
      float sum = 0;
      for (std::uint64_t i = offsets[s]; i < offsets[s + 1]; ++i) sum += values[i];
      out[s] = sum;
    }
  }
};

std::shared_ptr<const reduced_input> input_of(std::string what, std::vector<std::uint64_t> offsets) {
  auto in = std::make_shared<reduced_input>();
  in->what = std::move(what);
  in->values = sixty_fourths(offsets.back(), -1, 1);
  in->offsets = std::move(offsets);
  in->sums.resize(in->slots());
  in->sum_up(in->sums);
  return in;
}

std::optional<std::string> mistake_of(const std::vector<float>& found, const std::vector<float>& sums) {
  for (std::size_t s = 0; s < sums.size(); ++s) {
    if (found[s] != sums[s]) return fmt::format("slot {} is {}, not {}", s, found[s], sums[s]);
  }
  return std::nullopt;
}

timed_call draw_of(const call_place& place, const std::shared_ptr<const kept_reduction>& kept, std::string who,
                   const std::shared_ptr<const reduced_input>& in) {
  return {.where = place.name,
          .who = std::move(who),
          .backend = place.ctx.backend(),
          .is_prepared = true,
          .run = [kept] { kept->draw(); },
          .wait = [] {},
          .mistake =
              [kept, in] {
                std::vector<float> found(in->slots(), not_a_number);
                kept->draw();
                kept->read_back(found);
                return mistake_of(found, in->sums);
              }};
}

timed_call loop_of(const call_place& place, const std::shared_ptr<const reduced_input>& in) {
  const auto out = std::make_shared<std::vector<float>>(in->slots());
  return {.where = place.name,
          .who = "plain loop",
          .backend = place.ctx.backend(),
          .run = [in, out] { in->sum_up(*out); },
          .wait = [] {},
          .mistake =
              [in, out] {
                std::ranges::fill(*out, not_a_number);
                in->sum_up(*out);
                return mistake_of(*out, in->sums);
              }};
}

/// One pass beside as many as the logarithm of the longest slot. Returns the time of these over that of one.
double print_passes(paper_run& run, const machine_place& device, const table& rows,
                    const std::shared_ptr<const reduced_input>& in) {
  const auto made = [&](reduction_form form) {
    return std::make_shared<const kept_reduction>(device.place.ctx, in->values, in->offsets, reduction::add, form);
  };
  const auto several = made(reduction_form::log_passes);
  std::vector<timed_call> calls{draw_of(device.place, made(reduction_form::one_pass), "one pass", in),
                                draw_of(device.place, several, fmt::format("{} passes", several->passes()), in),
                                loop_of(run.one_thread(), in)};
  run.measure(table_number(7), in->what, calls);
  const auto seconds = [&](std::size_t c) { return calls[c].time.median_seconds; };
  rows.row({in->what, fmt::to_string(in->values.size()), fmt::to_string(in->slots()), time_text(seconds(0)),
            fmt::to_string(several->passes()), time_text(seconds(1)), gain_text(seconds(1) / seconds(0)),
            time_text(seconds(2))});
  return seconds(1) / seconds(0);
}

void print_reductions(paper_run& run, const machine_place& device) {
  fmt::print(
      "\n  # {}: sums that stay on the device, draws alone: by blending in one rendering pass, and by passes that\n"
      "  combine four values each, as many as the logarithm of the longest slot\n",
      device.place.name);
  const table rows({"values                        ", "count", "slots", "one pass", "passes", "their time",
                    "passes / one", "one thread"});
  spread gains;
  for (const matrix_input& in : run.matrices()) {
    if (in.of == nullptr) continue;
    const std::vector<std::uint64_t>& offsets = in.matrix->row_offsets;
    gains.add(print_passes(run, device, rows, input_of(fmt::format("rows of {}", in.name), offsets)));
    gains.add(print_passes(run, device, rows, input_of(fmt::format("all of {}", in.name), {0, offsets.back()})));
  }
  run.conclusions.push_back({"reductions: time of log N passes over one", "one pass suffices",
                             fmt::format("{:.2f}x ({:.2f}x to {:.2f}x)", gains.mean(), gains.least(), gains.most())});
}

/// Ten diagonals of so many entries, next to the main one.
matrix_input banded_matrix(std::uint64_t rows) {
  constexpr std::uint64_t diagonals = 10;
  io::csr_matrix<float> m;
  m.rows = m.columns = rows;
  std::vector<std::uint32_t> columns;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t first = std::min(row < diagonals / 2 ? 0 : row - diagonals / 2, rows - diagonals);
    for (std::uint64_t k = 0; k < diagonals; ++k) columns.push_back(static_cast<std::uint32_t>(first + k));
    m.row_offsets.push_back(columns.size());
  }
  m.values = sixty_fourths(columns.size(), -1, 1);
  m.column_indices = std::move(columns);
  return {.of = nullptr,
          .name = fmt::format("{} diagonals of {}", diagonals, rows),
          .source = "made by rule",
          .matrix = std::make_shared<io::csr_matrix<float>>(std::move(m))};
}

/// Kruger and Westermann's banded matrix beside BCSSTK15, both by the same form.
void print_banded(paper_run& run, const machine_place& device) {
  fmt::print("\n  # {}: prepared products by opengl.texture\n", device.place.name);
  const table rows({"matrix                        ", "nonzeros", "run", "the paper's text"});
  const std::uint64_t side = run.size() == run_size::tiny ? 128 : 4096;
  for (const auto& [in, text] : {std::pair{banded_matrix(side), "0.72 ms by Kruger and Westermann"},
                                 std::pair{run.matrices().front(), "0.67 ms in 2003"}}) {
    std::vector<timed_call> calls;
    add_product_calls<float>(device.place, in.matrix, calls);
    std::erase_if(calls, [](const timed_call& c) { return !c.is_prepared || c.who != "opengl.texture"; });
    run.measure(table_number(7), in.name, calls);
    for (const timed_call& call : calls) {
      rows.row({in.name, fmt::to_string(in.matrix->entries()), time_text(call.time.median_seconds), text});
    }
  }
}

}  // namespace

void related_work(paper_run& run, const machine_place& device) {
  print_reductions(run, device);
  print_banded(run, device);
}

}  // namespace sheaf::bench::papers::ujaldon2005
