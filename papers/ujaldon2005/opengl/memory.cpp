#include "papers/ujaldon2005/opengl/memory.hpp"

#include "opengl/device/errors.hpp"
#include "opengl/device/kept_objects.hpp"
#include "opengl/edges/edge_vertices.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/point_matrix.hpp"
#include "opengl/sparse/result_pixels.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

constexpr std::string_view product_call = "product_from_host";
constexpr std::string_view edges_call = "edge_sum_from_host";

/// What a buffer of the device is to hold when it is drawn from.
struct sent_buffer {
  GLuint buffer;
  std::vector<std::byte> bytes;
};

/// Takes a buffer's contents from the device.
sent_buffer taken(GLuint buffer) {
  GLint64 size = 0;
  glBindBuffer(GL_COPY_READ_BUFFER, buffer);
  glGetBufferParameteri64v(GL_COPY_READ_BUFFER, GL_BUFFER_SIZE, &size);
  sent_buffer sent{buffer, std::vector<std::byte>(static_cast<std::size_t>(size))};
  glGetBufferSubData(GL_COPY_READ_BUFFER, 0, static_cast<GLsizeiptr>(size), sent.bytes.data());
  glBufferData(GL_COPY_READ_BUFFER, static_cast<GLsizeiptr>(size), nullptr, GL_STREAM_DRAW);
  glBindBuffer(GL_COPY_READ_BUFFER, 0);
  require_no_error("vertices to host memory");
  return sent;
}

/// Pieces of vertices, whose contents lie in host memory.
template <class Piece>
class sent_pieces {
 public:
  /// Takes what the buffers of a piece hold.
  void add(Piece piece, const std::vector<GLuint>& buffers) {
    std::vector<sent_buffer>& contents = contents_.emplace_back();
    for (const GLuint buffer : buffers) contents.push_back(taken(buffer));
    pieces_.push_back(std::move(piece));
  }
  /// Sends one piece after the other, in storage of its own so that no draw waits for another, and calls draw(piece).
  template <class Draw>
  void send_and_draw(Draw draw) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      for (const sent_buffer& sent : contents_[i]) {
        glBindBuffer(GL_COPY_WRITE_BUFFER, sent.buffer);
        glBufferData(GL_COPY_WRITE_BUFFER, static_cast<GLsizeiptr>(sent.bytes.size()), sent.bytes.data(),
                     GL_STREAM_DRAW);
      }
      glBindBuffer(GL_COPY_WRITE_BUFFER, 0);
      require_no_error("vertices from host memory");
      draw(pieces_[i]);
    }
  }
  std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& piece : contents_) {
      for (const sent_buffer& sent : piece) sum += sent.bytes.size();
    }
    return sum;
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<std::vector<sent_buffer>> contents_;
};

point_form form_of(lookup_scheme scheme) {
  switch (scheme) {
    case lookup_scheme::vertices: return point_form::vertex_index;
    case lookup_scheme::colors: return point_form::color_table;
    default: return point_form::texture_lookup;
  }
}

}  // namespace

struct product_from_host::kept {
  kept(const context& on, const spmv_problem& of, point_form by, sent_pieces<point_piece> sent)
      : ctx(on), problem(of), form(by), pieces(on, std::move(sent)) {}

  context ctx;
  spmv_problem problem;
  point_form form;
  kept_objects<sent_pieces<point_piece>> pieces;
};

product_from_host::product_from_host(const context& ctx, const csr_view& a, lookup_scheme scheme) {
  require_csr_shape(product_call, a);
  require_float_pipeline(product_call, ctx, a.values.type);
  const spmv_problem problem = describe_spmv(product_call, ctx, a, false, spmv_sums::as_values, {});
  require_csr_memory(product_call, ctx, a);
  if (const char* const why = no_points_for(problem)) refuse("{}: {}", product_call, why);
  const point_form form = form_of(scheme);
  opengl_state& state = state_of(ctx);
  const std::uint64_t number = state.begin_call();
  entry_cursor cursor(problem, a);
  {
    pipeline_call call(state, product_call);
    if (form == point_form::color_table && problem.columns > state.limits().buffer_texels) {
      refuse("{}: x has {} values, but a table of one row holds {}", product_call, problem.columns,
             state.limits().buffer_texels);
    }
    if (form == point_form::texture_lookup) require_layers(product_call, state, "values of x", problem.columns);
    sent_pieces<point_piece> pieces;
    while (!cursor.is_done()) {
      point_piece piece = next_piece(state, problem, form, cursor);
      std::vector<GLuint> buffers{piece.vertices.name()};
      if (piece.entries) buffers.push_back(piece.entries->buffer().name());
      pieces.add(std::move(piece), buffers);
    }
    kept_ = std::make_unique<kept>(ctx, problem, form, std::move(pieces));
    call.finish();
  }
  if (cursor.has_met_faults()) state.keep_first(find_fault(problem, a, csr_call::spmv, number));
}

product_from_host::~product_from_host() = default;

void product_from_host::run(const_values x, values y) {
  const spmv_problem& problem = kept_->problem;
  // The matrix may be gone, and x and y where it was.
  const csr_view shape(problem.rows, problem.columns, {}, {}, const_values(nullptr, 0, value_type::f32));
  require_vectors(product_call, kept_->ctx, problem, shape, x, y);
  opengl_state& state = state_of(kept_->ctx);
  state.begin_call();
  pipeline_call call(state, product_call);
  const std::vector<tile_target> sums = zero_targets(state, float_texels, problem.y_count());
  const point_product product(state, problem, kept_->form, x.data);
  begin_sums();
  kept_->pieces->send_and_draw([&](const point_piece& piece) { product.draw(state, piece, sums); });
  end_sums();
  write_result(state, sums, {x.data, y.data});
  call.finish();
}

std::uint64_t product_from_host::vertex_bytes() const noexcept { return kept_->pieces->bytes(); }

std::uint64_t product_from_host::texture_bytes() const noexcept { return kept_->problem.columns * sizeof(float); }

struct edge_sum_from_host::kept {
  kept(const context& on, const edge_sum_problem& of, sent_pieces<edge_piece> sent)
      : ctx(on), problem(of), pieces(on, std::move(sent)) {}

  context ctx;
  edge_sum_problem problem;
  kept_objects<sent_pieces<edge_piece>> pieces;
};

edge_sum_from_host::edge_sum_from_host(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                       std::uint32_t components, edge_function function) {
  require_components(edges_call, "node_values", components);
  require_float_pipeline(edges_call, ctx, value_type::f32);
  require_edge_shape(edges_call, edges, nodes);
  require_edge_memory(edges_call, ctx, edges);
  const edge_sum_problem problem = plain_edge_sum(edges, nodes, components, function);
  opengl_state& state = state_of(ctx);
  const std::uint64_t number = state.begin_call();
  std::uint64_t first_bad = no_edge;
  {
    pipeline_call call(state, edges_call);
    require_layers(edges_call, state, "texels of nodes", node_texels(problem));
    sent_pieces<edge_piece> pieces;
    for (std::uint64_t begin = 0; begin < problem.edges;) {
      edge_piece piece = next_piece(state, problem, edges, begin, first_bad);
      begin += piece.count;
      const std::vector<GLuint> buffers{piece.ends.name()};
      pieces.add(std::move(piece), buffers);
    }
    kept_ = std::make_unique<kept>(ctx, problem, std::move(pieces));
    call.finish();
  }
  report_bad_end(state, problem, edges, first_bad, edge_call::edge_sum, number);
}

edge_sum_from_host::~edge_sum_from_host() = default;

void edge_sum_from_host::run(const_values values_of_nodes, values result) {
  const edge_sum_problem& problem = kept_->problem;
  const const_values no_weights(nullptr, 0, value_type::f32);
  require_edge_values(edges_call, problem, values_of_nodes, no_weights, result);
  require_edge_views(edges_call, kept_->ctx, {}, values_of_nodes, no_weights, result);
  opengl_state& state = state_of(kept_->ctx);
  state.begin_call();
  pipeline_call call(state, edges_call);
  const node_sums sums(state, problem);
  sums.clear();
  const node_values on_device(state, problem, values_of_nodes.data);
  const program& points = use_edge_points(state, problem, on_device);
  kept_->pieces->send_and_draw([&](const edge_piece& piece) { draw_edges(state, points, piece, nullptr, sums); });
  sums.read_back(result.data);
  call.finish();
}

std::uint64_t edge_sum_from_host::vertex_bytes() const noexcept { return kept_->pieces->bytes(); }

std::uint64_t edge_sum_from_host::texture_bytes() const noexcept {
  return kept_->problem.nodes * kept_->problem.node_bytes();
}

}  // namespace sheaf::opengl
