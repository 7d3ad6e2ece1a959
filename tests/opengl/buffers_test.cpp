// Prepared products, sums and movements of what lies in the caller's buffer objects: the bits of runs with arrays, in
// buffers of the library's context and of contexts that share with it, of every usage; and what is refused before
// anything is written.
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/interop/opengl.hpp>
#include <sheaf/prepared.hpp>

#include "opengl/device/errors.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/csr.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::opengl_buffers_test {
namespace {

constexpr csr_layout narrow{value_type::f32, index_type::u32, index_type::u32, false};
constexpr const char* products[] = {"opengl.texture", "opengl.packed", "opengl.fragments",
                                    "opengl.lookup",  "opengl.vertex", "kept"};
constexpr const char* sums[] = {"opengl.points", "opengl.fragments", "kept"};

constexpr const char* movements[] = {"opengl.resident", "kept"};

// Lists name some records several times, and others not at all.
std::vector<std::uint32_t> drawn_list(std::uint64_t entries, std::uint64_t records) {
  std::vector<std::uint32_t> index(entries);
  for (std::uint64_t i = 0; i < entries; ++i) index[i] = static_cast<std::uint32_t>((i * 7919 + i / 3) % records);
  return index;
}

std::vector<float> drawn_floats(std::uint64_t count) {
  std::vector<float> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 37 % 1009) - 500;
  return numbers;
}

std::vector<float> floats_of(const image& i) {
  std::vector<float> numbers(i.count);
  if (i.count > 0) std::memcpy(numbers.data(), i.record(0), 4 * i.count);
  return numbers;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

/// A buffer object of the caller's, in the context behind a library's context: numbers that runs read or write, and a
/// few before and behind them that stay.
class caller_buffer {
 public:
  static constexpr std::uint64_t around = 5;

  caller_buffer(const context& ctx, const std::vector<float>& numbers) : ctx_(ctx), expected_(2 * around, -77) {
    expected_.insert(expected_.begin() + around, numbers.begin(), numbers.end());
    const opengl::current_scope current(opengl::state_of(ctx).handle(), "test");
    glGenBuffers(1, &name_);
    glBindBuffer(GL_ARRAY_BUFFER, name_);
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(4 * expected_.size()), expected_.data(), GL_STATIC_DRAW);
    glBindBuffer(GL_ARRAY_BUFFER, 0);
  }
  caller_buffer(const caller_buffer&) = delete;
  caller_buffer& operator=(const caller_buffer&) = delete;
  ~caller_buffer() {
    const opengl::current_scope current(opengl::state_of(ctx_).handle(), "test");
    glDeleteBuffers(1, &name_);
  }

  GLuint name() const { return name_; }
  std::uint64_t bytes() const { return 4 * expected_.size(); }
  opengl_buffer view() const { return {name_, 4 * around}; }

  /// The numbers between those that are around them, which must be as they were.
  std::vector<float> download() const {
    std::vector<float> all(expected_.size());
    {
      const opengl::current_scope current(opengl::state_of(ctx_).handle(), "test");
      glBindBuffer(GL_COPY_READ_BUFFER, name_);
      glGetBufferSubData(GL_COPY_READ_BUFFER, 0, static_cast<GLsizeiptr>(bytes()), all.data());
      glBindBuffer(GL_COPY_READ_BUFFER, 0);
    }
    for (std::uint64_t i = 0; i < around; ++i) {
      EXPECT_EQ(all[i], -77) << i;
      EXPECT_EQ(all[all.size() - 1 - i], -77) << i;
    }
    return {all.begin() + around, all.end() - around};
  }
  void expect_unchanged() const {
    EXPECT_TRUE(same_bits(download(), {expected_.begin() + around, expected_.end() - around}));
  }

 private:
  context ctx_;
  std::vector<float> expected_;
  GLuint name_ = 0;
};

class OpenglBuffers : public opengl_test {
 protected:
  // Small textures and buffers, so that vectors take many tiles and layers and matrices many draws.
  void cut_small() { state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 270}); }

  // y of a run with arrays, and of one with buffers, which must have the same bits.
  void expect_bits_of_arrays(const prepared_spmv& prepared, std::uint64_t x_count, std::uint64_t y_count, double alpha,
                             double beta) {
    const std::vector<float> x = floats_of(numbers(x_count, value_type::f32, x_at, false));
    std::vector<float> y = floats_of(numbers(y_count, value_type::f32, y_at, false));
    const caller_buffer x_there(ctx(), x);
    const caller_buffer y_there(ctx(), y);
    prepared.run(x, y, alpha, beta);
    opengl_run(prepared, x_there.view(), y_there.view(), alpha, beta);
    ctx().wait();
    EXPECT_TRUE(same_bits(y_there.download(), y));
    x_there.expect_unchanged();
  }

  void expect_bits_of_arrays(const prepared_edge_sum& prepared, const placed_edges& e, const edge_images& images) {
    const edge_function function = images.layout.function;
    const caller_buffer values_there(ctx(), floats_of(images.values));
    const caller_buffer weights_there(ctx(), floats_of(images.weights));
    std::vector<float> result(images.values.count, 3);
    const caller_buffer result_there(ctx(), result);
    prepared.run(e.values(), e.weights(), values(result), function);
    opengl_run(prepared, values_there.view(), images.layout.has_weights ? weights_there.view() : opengl_buffer{},
               result_there.view(), function);
    ctx().wait();
    EXPECT_TRUE(same_bits(result_there.download(), result));
    values_there.expect_unchanged();
    weights_there.expect_unchanged();
  }
};

TEST_F(OpenglBuffers, ProductsHaveTheBitsOfRunsWithArrays) {
  for (const bool small : {false, true}) {
    if (small) cut_small();
    for (const sparse_rows& m : {banded(500, 3), at_random(700, 1300, 6), power_law(300, 2000)}) {
      const csr_images images(m, narrow);
      const placed_csr a(ctx(), images);
      for (const char* const form : products) {
        for (const bool transposed : {false, true}) {
          const std::string_view name = form;
          if (transposed && (name == "opengl.packed" || name == "opengl.fragments")) continue;
          SCOPED_TRACE(fmt::format("{}, {}, transposed {}, small {}", m.name, form, transposed, small));
          const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.transposed = transposed, .variant = form});
          const std::uint64_t x_count = transposed ? images.rows : images.columns;
          const std::uint64_t y_count = transposed ? images.columns : images.rows;
          for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{-0.3, 2.7}}) {
            expect_bits_of_arrays(prepared, x_count, y_count, alpha, beta);
          }
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(OpenglBuffers, SumsOverEdgesHaveTheBitsOfRunsWithArrays) {
  for (const bool small : {false, true}) {
    if (small) cut_small();
    for (const edge_graph& g : {box_graph(9, true), drawn_graph(900, 3000), edge_graph{"no edges", 9}}) {
      for (std::uint32_t components = 1; components <= most_edge_components; ++components) {
        for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
          const edge_images images(
              g, {value_type::f32, index_type::u32, false, components % 2 == 1, components, function});
          const placed_edges e(ctx(), images);
          for (const char* const form : sums) {
            SCOPED_TRACE(fmt::format("{}, {}, {}, small {}", g.name, images.layout.description(), form, small));
            expect_bits_of_arrays(prepare_edge_sum(ctx(), e.edges(), images.nodes, components, 3,
                                                   {.value = value_type::f32, .variant = form}),
                                  e, images);
          }
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(OpenglBuffers, MayBePartsOfOneBuffer) {
  const csr_images images(banded(100, 2), narrow);
  const placed_csr a(ctx(), images);
  for (const char* const form : products) {
    SCOPED_TRACE(form);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.variant = form});
    std::vector<float> both(200, 1);
    for (std::uint64_t i = 0; i < 100; ++i) both[100 + i] = static_cast<float>(x_at(i));
    const caller_buffer there(ctx(), both);
    const opengl_buffer y = there.view();
    const opengl_buffer x{y.name, y.offset_bytes + 400};
    prepared.run(const_values(both.data() + 100, 100, value_type::f32), values(both.data(), 100, value_type::f32), 2,
                 -1);
    opengl_run(prepared, x, y, 2, -1);
    EXPECT_TRUE(same_bits(there.download(), both));
  }
}

/// A context that shares objects with a library's, and with the way in which it treats resets.
class sharing_context {
 public:
  explicit sharing_context(const context& with) : display_(opengl_display(with)) {
    eglBindAPI(EGL_OPENGL_API);
    for (const bool robust : {true, false}) {
      std::vector<EGLint> wanted{EGL_CONTEXT_MAJOR_VERSION,       3,
                                 EGL_CONTEXT_MINOR_VERSION,       3,
                                 EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT};
      if (robust) {
        wanted.insert(wanted.end(), {EGL_CONTEXT_OPENGL_ROBUST_ACCESS, EGL_TRUE,
                                     EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, EGL_LOSE_CONTEXT_ON_RESET});
      }
      wanted.push_back(EGL_NONE);
      if (handle_ == EGL_NO_CONTEXT) {
        handle_ = eglCreateContext(display_, EGL_NO_CONFIG_KHR, opengl_context(with), wanted.data());
      }
    }
  }
  sharing_context(const sharing_context&) = delete;
  sharing_context& operator=(const sharing_context&) = delete;
  ~sharing_context() {
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (handle_ != EGL_NO_CONTEXT) eglDestroyContext(display_, handle_);
  }
  bool make_current() const {
    return handle_ != EGL_NO_CONTEXT && eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, handle_) == EGL_TRUE;
  }
  EGLContext handle() const { return handle_; }

 private:
  EGLDisplay display_;
  EGLContext handle_ = EGL_NO_CONTEXT;
};

TEST_F(OpenglBuffers, AreThoseOfContextsThatShare) {
  const csr_images images(banded(300, 2), narrow);
  const placed_csr a(ctx(), images);
  const std::vector<float> x = floats_of(numbers(300, value_type::f32, x_at, false));
  const sharing_context callers(ctx());
  ASSERT_TRUE(callers.make_current());
  for (const char* const form : products) {
    SCOPED_TRACE(form);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.variant = form});
    std::vector<float> y(300);
    prepared.run(x, y);
    GLuint names[2] = {};
    glGenBuffers(2, names);
    for (const GLuint name : names) {
      glBindBuffer(GL_ARRAY_BUFFER, name);
      glBufferData(GL_ARRAY_BUFFER, 1200, name == names[0] ? x.data() : nullptr, GL_DYNAMIC_COPY);
    }
    glFinish();
    opengl_run(prepared, {names[0], 0}, {names[1], 0});
    EXPECT_EQ(eglGetCurrentContext(), callers.handle());
    std::vector<float> found(300);
    glBindBuffer(GL_ARRAY_BUFFER, names[1]);
    glGetBufferSubData(GL_ARRAY_BUFFER, 0, 1200, found.data());
    EXPECT_TRUE(same_bits(found, y));
    glDeleteBuffers(2, names);
    EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  }
}

// Storage that nobody may map or write from host memory, and storage that stays mapped.
TEST_F(OpenglBuffers, MayHaveStorageThatNeverChanges) {
  const csr_images images(banded(300, 2), narrow);
  const placed_csr a(ctx(), images);
  const edge_images edges(box_graph(5, false), {.value = value_type::f32, .components = 6});
  const placed_edges e(ctx(), edges);
  const std::vector<float> x = floats_of(numbers(300, value_type::f32, x_at, false));
  const std::vector<float> at = floats_of(edges.values);
  const std::vector<float> weights = floats_of(edges.weights);
  const opengl::current_scope current(state().handle(), "test");
  if (epoxy_gl_version() < 44 && !epoxy_has_gl_extension("GL_ARB_buffer_storage")) {
    GTEST_SKIP() << "this device has no glBufferStorage";
  }
  const auto stored = [](std::uint64_t count, const float* numbers, GLbitfield flags) {
    GLuint name = 0;
    glGenBuffers(1, &name);
    glBindBuffer(GL_ARRAY_BUFFER, name);
    glBufferStorage(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(4 * count), numbers, flags);
    return name;
  };
  constexpr GLbitfield persistent = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  for (const char* const form : products) {
    SCOPED_TRACE(form);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.variant = form});
    std::vector<float> y(300);
    prepared.run(x, y);
    const GLuint x_there = stored(300, x.data(), 0);
    const GLuint y_there = stored(300, nullptr, persistent);
    const void* const mapped = glMapBufferRange(GL_ARRAY_BUFFER, 0, 1200, persistent);
    ASSERT_NE(mapped, nullptr);
    opengl_run(prepared, {x_there, 0}, {y_there, 0});
    EXPECT_EQ(std::memcmp(mapped, y.data(), 1200), 0);
    glDeleteBuffers(1, &x_there);
    glDeleteBuffers(1, &y_there);
  }
  for (const char* const form : sums) {
    SCOPED_TRACE(form);
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx(), e.edges(), edges.nodes, 6, 3, {.value = value_type::f32, .variant = form});
    std::vector<float> result(at.size());
    prepared.run(at, weights, result, edges.layout.function);
    const GLuint names[] = {stored(at.size(), at.data(), 0), stored(weights.size(), weights.data(), 0),
                            stored(at.size(), nullptr, 0)};
    opengl_run(prepared, {names[0], 0}, {names[1], 0}, {names[2], 0}, edges.layout.function);
    std::vector<float> found(at.size());
    glBindBuffer(GL_ARRAY_BUFFER, names[2]);
    glGetBufferSubData(GL_ARRAY_BUFFER, 0, static_cast<GLsizeiptr>(4 * at.size()), found.data());
    EXPECT_TRUE(same_bits(found, result));
    glDeleteBuffers(3, names);
  }
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_F(OpenglBuffers, AreRefusedWhereTheyAreNoneOrTooShortBeforeAnythingIsWritten) {
  const csr_images images(banded(100, 2), narrow);
  const placed_csr a(ctx(), images);
  const caller_buffer x(ctx(), std::vector<float>(100, 1));
  const caller_buffer y(ctx(), std::vector<float>(100, 2));
  const opengl_buffer good = x.view();
  const auto name = [&](const char* what, GLuint buffer) {
    return fmt::format(
        "prepared_spmv: {} is in buffer {}, which belongs neither to this OpenGL context nor to one that shares its "
        "objects",
        what, buffer);
  };
  GLuint without_storage = 0;
  {
    const opengl::current_scope current(state().handle(), "test");
    glGenBuffers(1, &without_storage);  // never bound, so there is none yet
  }
  for (const char* const form : products) {
    SCOPED_TRACE(form);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.variant = form});
    const auto refused = [&](const std::string& message, const opengl_buffer& from, const opengl_buffer& to) {
      expect_error(error_code::bad_argument, message, [&] { opengl_run(prepared, from, to, 1, 1); });
      EXPECT_EQ(unread_error(ctx()), GLenum{GL_NO_ERROR});
    };
    refused(name("x", 0), {}, y.view());
    refused(name("x", 4711), {4711, 0}, y.view());
    refused(name("y", 4711), good, {4711, 0});
    refused(name("y", without_storage), good, {without_storage, 0});
    refused(fmt::format("prepared_spmv: x takes 400 bytes from byte 44 on, but buffer {} has 440", x.name()),
            {x.name(), 44}, y.view());
    refused(fmt::format("prepared_spmv: y takes 400 bytes from byte 440 on, but buffer {} has 440", y.name()), good,
            {y.name(), 440});
    refused(fmt::format("prepared_spmv: y takes 400 bytes from byte 18446744073709551612 on, but buffer {} has 440",
                        y.name()),
            good, {y.name(), ~std::uint64_t{3}});
    refused(fmt::format("prepared_spmv: y begins at byte 18 of buffer {}, not at a multiple of 4", y.name()), good,
            {y.name(), 18});
    refused(fmt::format("prepared_spmv: y overlaps x in buffer {}", x.name()), good, {x.name(), 0});
    const opengl::current_scope current(state().handle(), "test");
    glBindBuffer(GL_ARRAY_BUFFER, x.name());
    ASSERT_NE(glMapBufferRange(GL_ARRAY_BUFFER, 0, 440, GL_MAP_READ_BIT), nullptr);
    refused(fmt::format("prepared_spmv: x is in buffer {}, which is mapped", x.name()), good, y.view());
    glBindBuffer(GL_ARRAY_BUFFER, x.name());
    glUnmapBuffer(GL_ARRAY_BUFFER);
    glBindBuffer(GL_ARRAY_BUFFER, 0);
  }
  x.expect_unchanged();
  y.expect_unchanged();
  const opengl::current_scope current(state().handle(), "test");
  glDeleteBuffers(1, &without_storage);
}

TEST_F(OpenglBuffers, OfSumsOverEdgesAreRefusedLikewise) {
  const edge_images images(box_graph(5, false), {.value = value_type::f32});
  const placed_edges e(ctx(), images);
  const caller_buffer at(ctx(), floats_of(images.values));
  const caller_buffer weights(ctx(), floats_of(images.weights));
  const caller_buffer result(ctx(), floats_of(images.values));
  const std::uint64_t bytes = 4 * images.values.count;
  for (const char* const form : sums) {
    SCOPED_TRACE(form);
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx(), e.edges(), images.nodes, 3, 3, {.value = value_type::f32, .variant = form});
    const auto refused = [&](const std::string& message, const opengl_buffer& from, const opengl_buffer& by,
                             const opengl_buffer& to) {
      expect_error(error_code::bad_argument, "prepared_edge_sum: " + message,
                   [&] { opengl_run(prepared, from, by, to, edge_function::weighted_difference); });
      EXPECT_EQ(unread_error(ctx()), GLenum{GL_NO_ERROR});
    };
    const std::string none = "which belongs neither to this OpenGL context nor to one that shares its objects";
    refused("node_values is in buffer 4711, " + none, {4711, 0}, weights.view(), result.view());
    refused("weights is in buffer 4711, " + none, at.view(), {4711, 0}, result.view());
    refused("the result is in buffer 0, " + none, at.view(), weights.view(), {});
    refused(fmt::format("weights takes {} bytes from byte 44 on, but buffer {} has {}", 4 * images.edges,
                        weights.name(), weights.bytes()),
            at.view(), {weights.name(), 44}, result.view());
    refused(fmt::format("the result takes {} bytes from byte 44 on, but buffer {} has {}", bytes, result.name(),
                        result.bytes()),
            at.view(), weights.view(), {result.name(), 44});
    refused(fmt::format("the result overlaps node_values in buffer {}", at.name()), at.view(), {}, at.view());
    expect_error(error_code::bad_argument, "prepared_edge_sum: the function is 9, not 0 to 1",
                 [&] { opengl_run(prepared, at.view(), {}, result.view(), static_cast<edge_function>(9)); });
  }
  at.expect_unchanged();
  weights.expect_unchanged();
  result.expect_unchanged();
}

// Of all widths that texels hold, with records of a scatter's output that no index names, and several that one does.
TEST_F(OpenglBuffers, MovementsHaveTheBitsOfRunsWithArrays) {
  for (const bool small : {false, true}) {
    if (small) cut_small();
    for (const std::uint64_t words : {1, 2, 3, 4}) {
      for (const auto& [entries, records] : {std::pair<std::uint64_t, std::uint64_t>{900, 700}, {500, 1300}, {1, 1}}) {
        const std::vector<std::uint32_t> index = drawn_list(entries, records);
        const std::vector<float> by_entry = drawn_floats(entries * words);
        const std::vector<float> by_record = drawn_floats(records * words + 1);
        const std::vector<float> table(by_record.begin() + 1, by_record.end());
        for (const char* const form : movements) {
          SCOPED_TRACE(fmt::format("{} words, {} of {}, {}, small {}", words, entries, records, form, small));
          const prepare_options options{.duplicates = duplicates::last, .variant = form};
          const prepared_gather to_gather = prepare_gather(ctx(), std::span(index), records, 4 * words, 3, options);
          std::vector<float> gathered = by_entry;
          const caller_buffer table_there(ctx(), table);
          const caller_buffer gathered_there(ctx(), gathered);
          to_gather.run({table.data(), records, 4 * words}, {gathered.data(), entries, 4 * words});
          opengl_run(to_gather, table_there.view(), gathered_there.view());
          EXPECT_TRUE(same_bits(gathered_there.download(), gathered));
          table_there.expect_unchanged();

          const prepared_scatter to_scatter = prepare_scatter(ctx(), std::span(index), records, 4 * words, 3, options);
          std::vector<float> out = table;
          const caller_buffer in_there(ctx(), by_entry);
          const caller_buffer out_there(ctx(), out);
          to_scatter.run({by_entry.data(), entries, 4 * words}, {out.data(), records, 4 * words});
          opengl_run(to_scatter, in_there.view(), out_there.view());
          ctx().wait();
          EXPECT_TRUE(same_bits(out_there.download(), out));
          in_there.expect_unchanged();
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(OpenglBuffers, OfMovementsMayBePartsOfOneBuffer) {
  const std::vector<std::uint32_t> index{2, 0, 1, 2};
  for (const char* const form : movements) {
    SCOPED_TRACE(form);
    const caller_buffer there(ctx(), {1, 2, 3, 0, 0, 0, 0});
    const opengl_buffer table = there.view();
    const opengl_buffer out{table.name, table.offset_bytes + 12};
    opengl_run(prepare_gather(ctx(), std::span(index), 3, 4, 3, {.variant = form}), table, out);
    EXPECT_EQ(there.download(), (std::vector<float>{1, 2, 3, 3, 1, 2, 3}));
    const opengl_buffer four{table.name, table.offset_bytes + 12};
    opengl_run(prepare_scatter(ctx(), std::span(index), 3, 4, 3, {.duplicates = duplicates::last, .variant = form}),
               four, table);
    EXPECT_EQ(there.download(), (std::vector<float>{1, 2, 3, 3, 1, 2, 3}));
  }
}

TEST_F(OpenglBuffers, OfMovementsAreRefusedLikewise) {
  const std::vector<std::uint32_t> index{2, 0, 1, 2};
  const caller_buffer three(ctx(), std::vector<float>(6, 1));
  const caller_buffer four(ctx(), std::vector<float>(8, 2));
  const std::string none = "which belongs neither to this OpenGL context nor to one that shares its objects";
  for (const char* const form : movements) {
    SCOPED_TRACE(form);
    const prepare_options options{.duplicates = duplicates::last, .variant = form};
    const prepared_gather to_gather = prepare_gather(ctx(), std::span(index), 3, 8, 3, options);
    const prepared_scatter to_scatter = prepare_scatter(ctx(), std::span(index), 3, 8, 3, options);
    const auto refused = [&](const auto& prepared, const std::string& message, const opengl_buffer& from,
                             const opengl_buffer& to) {
      expect_error(error_code::bad_argument, message, [&] { opengl_run(prepared, from, to); });
      EXPECT_EQ(unread_error(ctx()), GLenum{GL_NO_ERROR});
    };
    refused(to_gather, "prepared_gather: table is in buffer 4711, " + none, {4711, 0}, four.view());
    refused(to_gather, "prepared_gather: out is in buffer 0, " + none, three.view(), {});
    refused(to_scatter, "prepared_scatter: in is in buffer 4711, " + none, {4711, 0}, three.view());
    refused(to_gather,
            fmt::format("prepared_gather: table begins at byte 6 of buffer {}, not at a multiple of 4", three.name()),
            {three.name(), 6}, four.view());
    refused(to_gather,
            fmt::format("prepared_gather: out takes 32 bytes from byte 44 on, but buffer {} has {}", four.name(),
                        four.bytes()),
            three.view(), {four.name(), 44});
    refused(to_scatter,
            fmt::format("prepared_scatter: in takes 32 bytes from byte 44 on, but buffer {} has {}", four.name(),
                        four.bytes()),
            {four.name(), 44}, three.view());
    refused(to_gather, fmt::format("prepared_gather: out overlaps table in buffer {}", four.name()), four.view(),
            {four.name(), 4 * caller_buffer::around + 8});
    refused(to_scatter, fmt::format("prepared_scatter: out overlaps in in buffer {}", four.name()), four.view(),
            four.view());
  }
  three.expect_unchanged();
  four.expect_unchanged();
}

// A bad index is reported when its list is read: by the preparation, or with the list as it is by each run.
TEST_F(OpenglBuffers, OfMovementsByAListThatIsWrong) {
  const std::vector<std::uint32_t> index{0, 7, 1};
  const caller_buffer table(ctx(), {1, 2});
  const caller_buffer out(ctx(), {5, 5, 5});
  expect_error(error_code::bad_index, "gather: index[1] is 7, past the table's 2 records",
               [&] { prepare_gather(ctx(), std::span(index), 2, 4, 3, {.variant = "opengl.resident"}); });
  opengl_run(prepare_gather(ctx(), std::span(index), 2, 4, 3, {.variant = "kept"}), table.view(), out.view());
  expect_error(error_code::bad_index, "gather: index[1] is 7, past the table's 2 records", [&] { ctx().wait(); });
  EXPECT_EQ(out.download(), (std::vector<float>{1, 0, 2}));
  const prepare_options trusted{.bounds = bounds::trust, .variant = "opengl.resident"};
  opengl_run(prepare_gather(ctx(), std::span(index), 2, 4, 3, trusted), table.view(), out.view());
  EXPECT_EQ(out.download(), (std::vector<float>{1, 0, 2}));
}

TEST_F(OpenglBuffers, AreForPreparationsOfOpenglThatAreStillThere) {
  const csr_images images(banded(10, 1), narrow);
  const edge_images edges(box_graph(2, false), {.value = value_type::f32});
  const context cpu = context::cpu(1);
  const placed_csr a(cpu, images);
  const placed_edges e(cpu, edges);
  const prepared_spmv product = prepare_spmv(cpu, a.view(), 3);
  const prepared_edge_sum sum = prepare_edge_sum(cpu, e.edges(), edges.nodes, 3, 3, {.value = value_type::f32});
  expect_error(error_code::bad_argument, "prepared_spmv: the context works on cpu",
               [&] { opengl_run(product, {}, {}); });
  expect_error(error_code::bad_argument, "prepared_edge_sum: the context works on cpu",
               [&] { opengl_run(sum, {}, {}, {}, edge_function::inverse_square); });
  prepared_spmv first = prepare_spmv(ctx(), a.view(), 3);
  const prepared_spmv second = std::move(first);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  expect_error(error_code::bad_argument, "prepared_spmv: it was moved from; another object holds its contents now",
               [&] { opengl_run(first, {}, {}); });
}

// Without values there is nothing to name.
TEST_F(OpenglBuffers, OfNothingNeedNotBeThere) {
  for (const char* const form : movements) {
    SCOPED_TRACE(form);
    const std::vector<std::uint32_t> nothing;
    EXPECT_NO_THROW(opengl_run(prepare_gather(ctx(), std::span(nothing), 0, 4, 3, {.variant = form}), {}, {}));
    const caller_buffer stays(ctx(), {1, 2});
    opengl_run(prepare_scatter(ctx(), std::span(nothing), 2, 4, 3, {.variant = form}), {}, stays.view());
    stays.expect_unchanged();
  }
  const sparse_rows no_columns = made_rows("40 x 0", 40, 0, [](std::uint64_t) { return column_list{}; });
  const sparse_rows no_rows = made_rows("0 x 40", 0, 40, [](std::uint64_t) { return column_list{}; });
  const caller_buffer there(ctx(), std::vector<float>(40, 3));
  for (const char* const form : products) {
    SCOPED_TRACE(form);
    const csr_images without_columns(no_columns, narrow);
    const placed_csr of_rows(ctx(), without_columns);
    const prepared_spmv prepared = prepare_spmv(ctx(), of_rows.view(), 3, {.variant = form});
    for (const float left : {-3.0F, 3.0F}) {
      opengl_run(prepared, {}, there.view(), 1, -1);
      EXPECT_EQ(there.download(), std::vector<float>(40, left));
    }
    const csr_images without_rows(no_rows, narrow);
    const placed_csr of_columns(ctx(), without_rows);
    opengl_run(prepare_spmv(ctx(), of_columns.view(), 3, {.variant = form}), there.view(), {});
  }
}

TEST_F(OpenglBuffers, OfALostContextAreNotTouched) {
  const csr_images images(banded(100, 2), narrow);
  const context lost = context::opengl();
  const placed_csr a(lost, images);
  const caller_buffer x(lost, std::vector<float>(100, 1));
  const caller_buffer y(lost, std::vector<float>(100, 2));
  const prepared_spmv prepared = prepare_spmv(lost, a.view(), 3, {.variant = "opengl.texture"});
  opengl::state_of(lost).ask_reset_status_of([]() -> GLenum { return GL_GUILTY_CONTEXT_RESET; });
  expect_error(error_code::device_failure,
               "prepared_spmv: the OpenGL context was lost by work of this context; make another",
               [&] { opengl_run(prepared, x.view(), y.view()); });
  y.expect_unchanged();
  EXPECT_EQ(unread_error(lost), GLenum{GL_NO_ERROR});
}

}  // namespace
}  // namespace sheaf::tests::opengl_buffers_test
