#include "opengl/device/kept_objects.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/movement/array_records.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/draw_points.hpp"
#include "opengl/movement/table_lookup.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// Inspector and executor: the list is checked once and stays on the device as record numbers, so a run brings records
// there and back and nothing else.
namespace sheaf::opengl {

using namespace primitives;

namespace {

bool gathers(const prepare_problem& p) { return p.direction == prepared_direction::gather; }

// A run is opengl.texture or opengl.points without the upload of the list, whatever the order of the list.
plan::planned plan_resident(const prepare_problem& problem, const plan::scope& scope) {
  if (const char* const why = unmovable(problem)) return plan::rejected(why);
  const machine& m = scope.machine;
  const double run_seconds = (gathers(problem) ? lookup_plan(problem, m, 0) : point_plan(problem, m, 0)).seconds;
  plan::planned plan;
  plan.scratch_bytes = record_number_bytes(problem);
  plan.add("upload", m.uploaded(record_number_bytes(problem)));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  plan.decided.set(prepare_decision{.run_seconds = run_seconds, .kept_bytes = record_number_bytes(problem)});
  return plan;
}

/// The part of a list that belongs to a tile of a gather's output.
struct list_tile {
  tile where;
  texture numbers;
};

class resident_gather final : public array_movement {
 public:
  resident_gather(const context& ctx, const prepare_problem& p, std::vector<list_tile> list)
      : problem_(p), list_(ctx, std::move(list)) {}

  void run(const context& ctx, const_records table, records out) override {
    run_call(ctx, prepared_gather_call, [&](opengl_state& state) { write(table_lookup(state, table), out); });
  }
  void run_buffers(const context& ctx, const source_array& table, const result_array& out) override {
    const std::uint64_t width = problem_.record_bytes;
    run_call(ctx, prepared_gather_call, [&](opengl_state& state) {
      write(table_lookup(state, table, problem_.indexed_count, width), out, width);
    });
  }
  std::uint64_t kept_bytes() const override { return record_number_bytes(problem_); }

 private:
  // `out` is what draw_target::read_back() takes.
  template <class... Out>
  void write(const table_lookup& lookup, const Out&... out) const {
    for (const list_tile& part : *list_) lookup.gathered(part.numbers, part.where).read_back(out...);
  }

  prepare_problem problem_;
  kept_objects<std::vector<list_tile>> list_;
};

class resident_scatter final : public array_movement {
 public:
  resident_scatter(const context& ctx, const prepare_problem& p, std::vector<number_piece> list)
      : problem_(p), list_(ctx, std::move(list)) {}

  void run(const context& ctx, const_records in, records out) override {
    run_call(ctx, prepared_scatter_call, [&](opengl_state& state) {
      const std::vector<tile_target> targets = targets_of(state, texels_for(problem_.record_bytes), out.count, out);
      draw(state, targets, in);
      for (const tile_target& target : targets) target.pixels.read_back(out);
    });
  }
  void run_buffers(const context& ctx, const source_array& in, const result_array& out) override {
    run_call(ctx, prepared_scatter_call, [&](opengl_state& state) {
      const std::uint64_t width = problem_.record_bytes;
      const std::vector<tile_target> targets =
          targets_of(state, side_by_side_texels_for(width), problem_.indexed_count, out);
      draw(state, targets, in, width);
      for (const tile_target& target : targets) target.pixels.read_back(out, width);
    });
  }
  std::uint64_t kept_bytes() const override { return record_number_bytes(problem_); }

 private:
  // `in` is what draw_points() takes.
  template <class... In>
  void draw(opengl_state& state, const std::vector<tile_target>& targets, const In&... in) const {
    const program& points = state.program_of(record_point_files);
    points.use();
    for (const number_piece& piece : *list_) draw_points(state, points, targets, piece, in...);
  }

  prepare_problem problem_;
  kept_objects<std::vector<number_piece>> list_;
};

std::vector<list_tile> tiles_of_list(const opengl_state& state, const_records numbers) {
  std::vector<list_tile> list;
  for (const tile& t : tiles_of(numbers.count, state.limits().texture_edge)) {
    list.push_back({t, uploaded(texel_format{}, t, numbers)});
  }
  return list;
}

void keep_list(const context& ctx, const prepare_problem& problem, const plan::planned&, const prepare_buffers& buffers,
               std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, problem, buffers.index, gathers(problem) ? gather_wording : scatter_wording, numbers);
  pipeline_call call(state, gathers(problem) ? "prepare_gather" : "prepare_scatter");
  // Linked now, so that the first run need not wait for the driver's linker.
  if (gathers(problem)) {
    lookup_program(state);
    const const_records list(numbers, problem.count, sizeof *numbers);
    *buffers.made = std::make_shared<resident_gather>(ctx, problem, tiles_of_list(state, list));
  } else {
    state.program_of(record_point_files);
    *buffers.made = std::make_shared<resident_scatter>(ctx, problem, pieces_of(state, {numbers, problem.count}));
  }
  call.finish();
}

}  // namespace

extern constinit const prepare_variant prepare_resident{"opengl.resident", backend_kind::opengl, plan_resident,
                                                        keep_list};

}  // namespace sheaf::opengl
