#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "opengl/device/errors.hpp"
#include "opengl/device/program.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/device/tile.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/shaders/sources.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::opengl_device_test {
namespace {

class OpenglDevice : public opengl_test {};

TEST_F(OpenglDevice, CompilesEveryShader) {
  const opengl::pipeline_call call(state(), "test");
  EXPECT_GE(opengl::shader_sources().size(), 8U);
  for (const opengl::shader_source& source : opengl::shader_sources()) {
    SCOPED_TRACE(source.file);
    EXPECT_TRUE(source.text.starts_with("#version 330 core\n"));
    glDeleteShader(opengl::compiled_shader(source));
  }
}

TEST_F(OpenglDevice, SaysWhatTheLinkerMisses) {
  const opengl::pipeline_call call(state(), "test");
  const std::string message = message_of(error_code::device_failure, [] {
    opengl::program({"pixels.vert", "", "points.vert"});  // two vertex stages, and no fragment stage
  });
  EXPECT_TRUE(message.starts_with("shaders pixels.vert and points.vert: the driver's linker says ")) << message;
  opengl::forget_errors();
}

TEST_F(OpenglDevice, LinksAProgramOnce) {
  const opengl::pipeline_call call(state(), "test");
  const opengl::program_files files{"pixels.vert", "", "gather_texture.frag"};
  state().program_of(files).use();
  GLint first = 0;
  glGetIntegerv(GL_CURRENT_PROGRAM, &first);
  state().program_of(files).use();
  GLint second = 0;
  glGetIntegerv(GL_CURRENT_PROGRAM, &second);
  EXPECT_EQ(first, second);
}

TEST_F(OpenglDevice, KeepsProgramsWhereTheyAreAsMoreAreLinked) {
  const opengl::current_scope current(state().handle(), "test");
  const opengl::program& first = state().program_of({"pixels.vert", "", "probe_fetch.frag"});
  for (const char* const vertex : {"pixels.vert", "points.vert", "probe_points.vert", "values.vert"}) {
    for (const char* const fragment : {"record.frag", "value.frag"}) {
      try {
        state().program_of({vertex, "", fragment});
      } catch (const error&) {  // stages that do not fit together
      }
    }
  }
  EXPECT_EQ(&state().program_of({"pixels.vert", "", "probe_fetch.frag"}), &first);
}

TEST(OpenglTiles, HoldEveryRecordOnceInsideTheLimit) {
  for (const std::uint32_t edge : {1U, 2U, 7U, 8U, 100U, 16384U}) {
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{65},
          std::uint64_t{1000}, std::uint64_t{1} << 16, (std::uint64_t{1} << 16) + 1}) {
      SCOPED_TRACE(fmt::format("{} records, edge {}", count, edge));
      std::uint64_t next = 0;
      for (const opengl::tile& t : opengl::tiles_of(count, edge)) {
        EXPECT_EQ(t.first, next);
        EXPECT_GT(t.count, 0U);
        EXPECT_LE(t.width(), edge);
        EXPECT_LE(t.height, edge);
        EXPECT_LE(t.count, std::uint64_t{t.width()} * t.height);
        EXPECT_GT(t.count, std::uint64_t{t.width()} * (t.height - 1));
        next += t.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(OpenglTiles, OfMoreThan32BitsAreCounted) {
  const auto tiles = opengl::tiles_of((std::uint64_t{1} << 33) + 5, 16384);
  ASSERT_EQ(tiles.size(), 33U);
  EXPECT_EQ(tiles.back().first, std::uint64_t{1} << 33);
  EXPECT_EQ(tiles.back().count, 5U);
}

// Arrays packed, with bytes between records, and at odd addresses come back as they went, and nothing else changes.
TEST_F(OpenglDevice, UploadsAndReadsBackEveryBit) {
  opengl::pipeline_call call(state(), "test");
  for (const std::uint64_t width : {4, 8, 12, 16}) {
    for (const std::uint64_t padding : {0, 1, 4}) {
      for (const std::uint64_t misalignment : {0, 1, 4}) {
        for (const std::uint64_t count : {1, 2, 63, 1000}) {
          SCOPED_TRACE(
              fmt::format("{} records of {} bytes, {} between, {} before", count, width, padding, misalignment));
          const image from = filled(count, width, width + padding, misalignment, 3);
          image to = poisoned(count, width, width + padding, misalignment);
          image expected = to;
          for (std::uint64_t i = 0; i < count; ++i) std::copy_n(from.record(i), width, expected.record(i));
          const opengl::texel_format texels = opengl::texels_for(width);
          for (const opengl::tile& t : opengl::tiles_of(count, 16)) {
            const opengl::draw_target target(texels, t, from.view());
            target.read_back(to.view());
          }
          expect_bytes(to.bytes, expected, "what came back");
        }
      }
    }
  }
  call.finish();
}

TEST_F(OpenglDevice, ThatIsOutOfMemorySaysSo) {
  opengl::pipeline_call call(state(), "test");
  const opengl::buffer_object large;
  glBindBuffer(GL_ARRAY_BUFFER, large.name());
  glBufferData(GL_ARRAY_BUFFER, GLsizeiptr{1} << 46, nullptr, GL_STREAM_DRAW);
  if (glGetError() == GL_NO_ERROR) {
    EXPECT_NO_THROW(call.finish());
    GTEST_SKIP() << "this driver promises memory that it does not have";
  }
  glBufferData(GL_ARRAY_BUFFER, GLsizeiptr{1} << 46, nullptr, GL_STREAM_DRAW);
  expect_error(error_code::out_of_memory, "a call: OpenGL says GL_OUT_OF_MEMORY",
               [] { opengl::require_no_error("a call"); });
  EXPECT_NO_THROW(call.finish());
}

}  // namespace
}  // namespace sheaf::tests::opengl_device_test
