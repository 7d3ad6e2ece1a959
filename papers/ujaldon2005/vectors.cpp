#include <fmt/format.h>
#include <sheaf/edge_sum.hpp>

#include "apps/sheaf/checks/edges.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "papers/ujaldon2005/figures.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"

// Section 5.2, "Vector processing": what four components cost beside one, on the pipeline, whose texels and pixels have
// four channels, and for the loop of one CPU thread.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

constexpr std::uint32_t channels = 4;
/// Numbers of [-0.5, 0.5).
std::vector<float> numbers_of(std::uint64_t count) {
  std::vector<float> list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    list[i] = static_cast<float>(static_cast<double>(inputs::mix(i) >> 40) / (1 << 24) - 0.5);
  }
  return list;
}

const_records records_of(const std::vector<float>& list, std::uint32_t components) {
  return {list.data(), list.size() / components, components * sizeof(float)};
}

/// Texture lookups, out[i] = table[index[i]], of records of some components.
struct lookups {
  lookups(const matrix_input& in, std::uint32_t count)
      : components(count), table(numbers_of(in.matrix->columns * count)), out(in.matrix->entries() * count) {
    std::visit([&](const auto& columns) { index.assign(columns.begin(), columns.end()); }, in.matrix->column_indices);
  }

  template <std::uint32_t Components>
  void loop_of() {
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      for (std::uint32_t k = 0; k < Components; ++k)
        out[i * Components + k] = table[index[i] * std::uint64_t{Components} + k];
    }
  }
  void loop() { components == 1 ? loop_of<1>() : loop_of<channels>(); }
  std::optional<std::string> mistake(const std::function<void()>& make) {
    std::ranges::fill(out, not_a_number);
    make();
    for (std::uint64_t i = 0; i < out.size(); ++i) {
      const float wanted = table[index[i / components] * std::uint64_t{components} + i % components];
      if (out[i] != wanted) return fmt::format("number {} is {}, not {}", i, out[i], wanted);
    }
    return std::nullopt;
  }

  std::uint32_t components;
  std::vector<float> table;
  std::vector<std::uint32_t> index;
  std::vector<float> out;
};

/// Differences of the values of two nodes, added at one and subtracted at the other.
struct differences {
  differences(const mesh_input& in, std::uint32_t count)
      : edges(in.edges), components(count), values(numbers_of(edges->nodes * count)), sums(values.size()) {}

  edge_view view() const {
    return edge_view(index_span{edges->edges.data(), 2 * edges->edges.size(), index_type::u32});
  }
  template <std::uint32_t Components>
  void loop_of() {
    std::ranges::fill(sums, 0.0F);
    for (const mesh::edge& e : edges->edges) {
      for (std::uint32_t k = 0; k < Components; ++k) {
        const std::uint64_t i = e.first * std::uint64_t{Components} + k;
        const std::uint64_t j = e.second * std::uint64_t{Components} + k;
        const float difference = values[j] - values[i];
        sums[i] += difference;
        sums[j] -= difference;
      }
    }
  }
  void loop() { components == 1 ? loop_of<1>() : loop_of<channels>(); }
  std::optional<std::string> mistake(const std::function<void()>& make) {
    std::ranges::fill(sums, not_a_number);
    make();
    return jobs::edge_sum_mistake(view(), const_values(values), const_values(nullptr, 0, value_type::f32),
                                  const_values(sums), components, edge_function::weighted_difference);
  }

  std::shared_ptr<const edge_input> edges;
  std::uint32_t components;
  std::vector<float> values;
  std::vector<float> sums;
};

std::string text_of(std::uint32_t components) {
  return components == 1 ? std::string("1 component") : fmt::format("{} components", components);
}

/// A call on arrays of some components.
template <class Arrays>
timed_call call_of(const call_place& place, std::string_view what, const std::shared_ptr<Arrays>& of, bool is_prepared,
                   const std::function<void()>& run, const std::function<void()>& make) {
  return {.where = place.name,
          .who = fmt::format("{}, {}", what, text_of(of->components)),
          .backend = place.ctx.backend(),
          .is_prepared = is_prepared,
          .run = run,
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake = [of, make] { return of->mistake(make); }};
}

/// The pipeline's call and the loop of one thread, for one component and for four.
void add_lookups(const paper_run& run, const machine_place& device, const matrix_input& in,
                 std::vector<timed_call>& calls) {
  for (const std::uint32_t components : {1U, channels}) {
    const auto of = std::make_shared<lookups>(in, components);
    const std::vector<index_span> lists{of->index};
    const std::vector<opengl::lookup_scheme> schemes{opengl::lookup_scheme::texels};
    const auto kept = std::make_shared<const opengl::kept_gather_nested>(
        device.place.ctx, records_of(of->table, components), lists, schemes,
        records(of->out.data(), of->index.size(), components * sizeof(float)));
    calls.push_back(call_of(
        device.place, "texture lookups", of, true, [kept] { kept->draw(); },
        [kept] {
          kept->draw();
          kept->read_back();
        }));
    const auto loop = [of] { of->loop(); };
    calls.push_back(call_of(run.one_thread(), "lookups", of, false, loop, loop));
  }
}

void add_differences(const paper_run& run, const machine_place& device, const mesh_input& in,
                     std::vector<timed_call>& calls) {
  constexpr std::uint64_t expected_runs = 1000;
  for (const std::uint32_t components : {1U, channels}) {
    const auto of = std::make_shared<differences>(in, components);
    const auto kept = std::make_shared<prepared_edge_sum>(
        prepare_edge_sum(device.place.ctx, of->view(), in.edges->nodes, components, expected_runs,
                         {.value = value_type::f32, .variant = "opengl.points"}));
    const auto draw = [of, kept, ctx = device.place.ctx] {
      kept->run(const_values(of->values), const_values(nullptr, 0, value_type::f32), values(of->sums),
                edge_function::weighted_difference);
      ctx.wait();
    };
    calls.push_back(call_of(device.place, "edge sums", of, true, draw, draw));
    const auto loop = [of] { of->loop(); };
    calls.push_back(call_of(run.one_thread(), "edge sums", of, false, loop, loop));
  }
}

}  // namespace

void vector_processing(paper_run& run, const machine_place& device) {
  const matrix_input& matrix = run.matrices().front();
  const mesh_input& mesh = run.meshes().front();
  fmt::print(
      "\n  # {}: vector processing (section 5.2): four components an access beside one. The paper: the GPU takes the\n"
      "  same time for four, the CPU four times as long. Lookups are draws alone\n",
      device.place.name);
  const table rows(
      {"what           ", "accesses", "of one", "of four", "four / one", "thread, one", "thread, four", "four / one"});
  spread of_pipeline;
  spread of_thread;
  const auto print = [&](const char* what, std::uint64_t accesses, const std::string& input,
                         std::vector<timed_call>& calls) {
    run.measure(table_number(6), input, calls);
    const auto seconds = [&](std::size_t c) { return calls[c].time.median_seconds; };
    of_pipeline.add(seconds(2) / seconds(0));
    of_thread.add(seconds(3) / seconds(1));
    rows.row({what, fmt::to_string(accesses), time_text(seconds(0)), time_text(seconds(2)),
              gain_text(seconds(2) / seconds(0)), time_text(seconds(1)), time_text(seconds(3)),
              gain_text(seconds(3) / seconds(1))});
  };
  std::vector<timed_call> calls;
  if (matrix.matrix->entries() != 0) {
    add_lookups(run, device, matrix, calls);
    print("texture lookups", matrix.matrix->entries(), matrix.name, calls);
    calls.clear();
  }
  add_differences(run, device, mesh, calls);
  print("edge sums", 2 * mesh.edges->edges.size(), mesh.name, calls);
  run.conclusions.push_back(
      {"four components over one", "GPU 1x, CPU 4x",
       fmt::format("{} {:.2f}x, one thread {:.2f}x", device.place.name, of_pipeline.mean(), of_thread.mean())});
}

}  // namespace sheaf::bench::papers::ujaldon2005
