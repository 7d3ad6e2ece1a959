#include <chrono>

#include "apps/sheaf/checks/edges.hpp"
#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/context_array.hpp"
#include "lab/harness/edges/calls.hpp"
#include "lab/harness/sparse/calls.hpp"
#include "papers/ujaldon2005/figures.hpp"
#include "papers/ujaldon2005/opengl/memory.hpp"

// Section 5.1, "Type of memory": vertices that are built once and lie in host memory, which is where OpenGL's arrays
// are.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

using opengl::lookup_scheme;

/// Makes an object and says how long that took.
template <class Object, class... Arguments>
std::pair<std::shared_ptr<Object>, double> made(const Arguments&... arguments) {
  const auto begin = std::chrono::steady_clock::now();
  auto object = std::make_shared<Object>(arguments...);
  return {std::move(object), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

struct sent_product {
  explicit sent_product(std::shared_ptr<const io::csr_matrix<float>> m)
      : matrix(std::move(m)), x(vector_for<float>(matrix->columns)), y(matrix->rows) {}

  std::shared_ptr<const io::csr_matrix<float>> matrix;
  std::vector<float> x;
  std::vector<float> y;
};

struct sent_edges {
  sent_edges(std::shared_ptr<const edge_input> in, std::uint32_t count)
      : input(std::move(in)),
        components(count),
        places(input->coordinates.begin(), input->coordinates.end()),
        sums(places.size()) {}

  edge_view edges() const {
    return edge_view(index_span{input->edges.data(), 2 * input->edges.size(), index_type::u32});
  }

  std::shared_ptr<const edge_input> input;
  std::uint32_t components;
  std::vector<float> places;
  std::vector<float> sums;
};

/// A call that keeps its vertices. @param clear  its answer, which `mistake` judges after the next run
timed_call sent_call(const call_place& place, const std::string& form, double loading_seconds,
                     const std::function<void()>& run, const std::function<void()>& clear,
                     const std::function<std::optional<std::string>()>& mistake) {
  return {.where = place.name,
          .who = form + sent_vertices,
          .backend = place.ctx.backend(),
          .is_prepared = true,
          .loading_seconds = loading_seconds,
          .run = run,
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake =
              [=, ctx = place.ctx] {
                clear();
                run();
                ctx.wait();
                return mistake();
              }};
}

}  // namespace

void add_sent_products(const call_place& place, const matrix_input& in, std::vector<timed_call>& calls) {
  for (const auto& [form, scheme] :
       {std::pair{"opengl.texture", lookup_scheme::texels}, std::pair{"opengl.lookup", lookup_scheme::colors},
        std::pair{"opengl.vertex", lookup_scheme::vertices}}) {
    const auto of = std::make_shared<sent_product>(in.matrix);
    // Where the form itself cannot run, because x is too long for a color table, there is nothing to compare with.
    const bool is_kept = std::ranges::any_of(calls, [&, name = form](const timed_call& c) {
      return c.where == place.name && c.is_prepared && c.who == name;
    });
    if (!is_kept) continue;
    const auto [object, seconds] = made<opengl::product_from_host>(place.ctx, jobs::view_of(*of->matrix), scheme);
    const auto run = [of, product = object] { product->run(const_values(of->x), values(of->y)); };
    calls.push_back(sent_call(
        place, form, seconds, run, [of] { std::ranges::fill(of->y, not_a_number); },
        [of] {
          return jobs::product_mistake(jobs::view_of(*of->matrix), const_values(of->x), const_values(of->y), {});
        }));
  }
}

void add_sent_edges(const call_place& place, const mesh_input& in, std::vector<timed_call>& calls) {
  const edge_terms terms;
  if (in.edges->dimensions != terms.components) return;  // of a mesh in the plane values are not positions alone
  const auto of = std::make_shared<sent_edges>(in.edges, terms.components);
  const auto [object, seconds] =
      made<opengl::edge_sum_from_host>(place.ctx, of->edges(), in.edges->nodes, terms.components, terms.function);
  const auto run = [of, sum = object] { sum->run(const_values(of->places), values(of->sums)); };
  calls.push_back(sent_call(
      place, "opengl.points", seconds, run, [of] { std::ranges::fill(of->sums, not_a_number); },
      [of, terms] {
        return jobs::edge_sum_mistake(of->edges(), const_values(of->places), const_values(nullptr, 0, value_type::f32),
                                      const_values(of->sums), of->components, terms.function);
      }));
}

namespace {

/// Where one texture does not hold the input, there is nothing to say.
template <class Sizes>
std::optional<uploaded_bytes> uploads_where_it_fits(Sizes sizes) {
  try {
    return sizes();
  } catch (const error& e) {
    if (e.code() != error_code::bad_argument && e.code() != error_code::out_of_memory) throw;
    return std::nullopt;
  }
}

}  // namespace

std::optional<uploaded_bytes> uploads_of(const call_place& place, const matrix_input& in) {
  return uploads_where_it_fits([&] {
    const opengl::product_from_host product(place.ctx, jobs::view_of(*in.matrix), lookup_scheme::texels);
    return uploaded_bytes{product.vertex_bytes(), product.texture_bytes()};
  });
}

std::optional<uploaded_bytes> uploads_of(const call_place& place, const mesh_input& in) {
  const edge_terms terms;
  const edge_view edges(index_span{in.edges->edges.data(), 2 * in.edges->edges.size(), index_type::u32});
  return uploads_where_it_fits([&] {
    const opengl::edge_sum_from_host sum(place.ctx, edges, in.edges->nodes, terms.components, terms.function);
    return uploaded_bytes{sum.vertex_bytes(), sum.texture_bytes()};
  });
}

}  // namespace sheaf::bench::papers::ujaldon2005
