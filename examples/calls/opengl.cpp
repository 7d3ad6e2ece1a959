#include <epoxy/egl.h>
#include <epoxy/gl.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/interop/opengl.hpp>
#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace {

/// A buffer object of 32-bit numbers in the context that is current.
GLuint buffer_of(const std::vector<float>& numbers) {
  GLuint name = 0;
  glGenBuffers(1, &name);
  glBindBuffer(GL_ARRAY_BUFFER, name);
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(numbers.size() * sizeof(float)), numbers.data(),
               GL_DYNAMIC_COPY);
  return name;
}

std::vector<float> numbers_of(GLuint name, std::size_t count) {
  std::vector<float> numbers(count);
  glBindBuffer(GL_ARRAY_BUFFER, name);
  glGetBufferSubData(GL_ARRAY_BUFFER, 0, static_cast<GLsizeiptr>(count * sizeof(float)), numbers.data());
  return numbers;
}

}  // namespace

int main() try {
  const sheaf::context ctx = sheaf::context::opengl();
  //! [opengl_renderer]
  std::printf("%s\n", sheaf::opengl_renderer(ctx).data());  // such as llvmpipe, which renders in software
  //! [opengl_renderer]
  //! [opengl_display]
  EGLDisplay display = sheaf::opengl_display(ctx);
  //! [opengl_display]
  //! [opengl_context]
  // The program's own OpenGL calls, between those of the library.
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, sheaf::opengl_context(ctx));
  //! [opengl_context]

  const std::vector<std::uint32_t> index{4, 0, 2, 2}, ends{0, 1, 1, 2}, offsets{0, 1, 2, 3}, columns{2, 1, 0};
  const std::vector<float> ones(3, 1.0F);
  const GLuint table = buffer_of({0, 1, 2, 3, 4}), out = buffer_of({0, 0, 0, 0}), back = buffer_of({9, 9, 9, 9, 9});
  const GLuint x = buffer_of({1, 4, 9}), y = buffer_of({0, 0, 0}), flow = buffer_of({0, 0, 0});
  //! [opengl_run]
  const auto take = sheaf::prepare_gather(ctx, index, 5, sizeof(float), 100);
  sheaf::opengl_run(take, sheaf::opengl_buffer{table, 0}, sheaf::opengl_buffer{out, 0});
  const auto put = sheaf::prepare_scatter(ctx, index, 5, sizeof(float), 100);
  sheaf::opengl_run(put, sheaf::opengl_buffer{out, 0}, sheaf::opengl_buffer{back, 0});

  const auto product = sheaf::prepare_spmv(ctx, sheaf::csr_view(3, 3, offsets, columns, ones), 100);
  sheaf::opengl_run(product, {x, 0}, {y, 0}, 1.0, 0.0);
  const auto sum = sheaf::prepare_edge_sum(ctx, sheaf::edge_view(ends), 3, 1, 100, {.value = sheaf::value_type::f32});
  sheaf::opengl_run(sum, {x, 0}, {0, 0}, {flow, 0}, sheaf::edge_function::weighted_difference);
  //! [opengl_run]
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, sheaf::opengl_context(ctx));
  calls::expect(numbers_of(out, 4) == std::vector<float>{4, 0, 2, 2});
  calls::expect(numbers_of(back, 5) == std::vector<float>{0, 9, 2, 9, 4});
  calls::expect(numbers_of(y, 3) == std::vector<float>{9, 4, 1});
  calls::expect(numbers_of(flow, 3) == std::vector<float>{3, 2, -5});
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
