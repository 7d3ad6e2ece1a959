#include <sheaf/context.hpp>

#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/gather.hpp>
#include <sheaf/interop/opengl.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/spmv.hpp>

#include "core/backends.hpp"
#include "core/composition.hpp"
#include "opengl/device/errors.hpp"
#include "support/expect_error.hpp"
#include "support/in_a_child.hpp"
#include "support/opengl_test.hpp"

namespace sheaf::tests::opengl_context_test {
namespace {

using testing::HasSubstr;

class OpenglContext : public opengl_test {};

// Gathers a reversed list and says how many records are wrong.
std::uint32_t reversed_wrongly(const context& ctx, std::uint32_t count) {
  std::vector<std::uint32_t> table(count);
  std::vector<std::uint32_t> index(count);
  std::vector<std::uint32_t> out(count);
  std::iota(table.begin(), table.end(), 17U);
  for (std::uint32_t i = 0; i < count; ++i) index[i] = count - 1 - i;
  gather(ctx, std::span(table), std::span(index), std::span(out));
  ctx.wait();
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) wrong += out[i] == table[count - 1 - i] ? 0U : 1U;
  return wrong;
}

TEST_F(OpenglContext, DescribesItself) {
  EXPECT_EQ(ctx().backend(), backend_kind::opengl);
  EXPECT_EQ(ctx().device(), 0);
  EXPECT_EQ(ctx().threads(), 1);
  EXPECT_EQ(ctx().stream(), nullptr);
  EXPECT_EQ(ctx().profile().backend, backend_kind::opengl);
  EXPECT_GT(ctx().profile().upload_bytes_per_second, 0);
  EXPECT_GT(ctx().profile().readback_bytes_per_second, 0);
  EXPECT_EQ(opengl_renderer(ctx()), ctx().state().device_name);
  EXPECT_FALSE(opengl_renderer(ctx()).empty());
  EXPECT_NE(opengl_display(ctx()), nullptr);
  EXPECT_NE(opengl_context(ctx()), nullptr);
  EXPECT_EQ(ctx().status(), work_status::done);
}

TEST_F(OpenglContext, HasTexturesOfAtLeast1024TexelsASide) { EXPECT_GE(state().limits().texture_edge, 1024U); }

TEST_F(OpenglContext, IsOneOfTheDevicesThatAreCounted) {
  const int devices = core::opengl_device_count();
  EXPECT_GE(devices, 1);
  expect_error(error_code::backend_unavailable,
               fmt::format("context::opengl: no OpenGL device {}; this machine has {}", devices, devices),
               [&] { context::opengl(devices); });
  message_of(error_code::backend_unavailable, [] { context::opengl(-1); });
}

// No device that EGL lists is needed for this.
TEST(OpenglDevices, ComeWithHardwareBeforeSoftware) {
  const auto made = [](const char* extensions, const char* renderer) {
    return opengl::egl_device{.extensions = extensions, .renderer = renderer};
  };
  const std::vector<opengl::egl_device> sorted = opengl::hardware_first({
      made("EGL_MESA_device_software EGL_EXT_device_query", "an unknown rasterizer"),
      made("EGL_EXT_device_drm", "NVIDIA H200/PCIe/SSE2"),
      made("", "llvmpipe (LLVM 15.0.6, 256 bits)"),
      made("EGL_EXT_device_drm EGL_MESA_device_software_of_another_kind", "AMD Radeon (radeonsi)"),
      made("EGL_EXT_device_drm EGL_MESA_device_software", "softpipe"),
      made("", "Mesa Intel(R) Graphics"),
  });
  const std::pair<const char*, bool> expected[] = {
      {"NVIDIA H200/PCIe/SSE2", false}, {"AMD Radeon (radeonsi)", false},           {"Mesa Intel(R) Graphics", false},
      {"an unknown rasterizer", true},  {"llvmpipe (LLVM 15.0.6, 256 bits)", true}, {"softpipe", true}};
  ASSERT_EQ(sorted.size(), std::size(expected));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(sorted[i].renderer, expected[i].first);
    EXPECT_EQ(sorted[i].is_software, expected[i].second) << sorted[i].renderer;
  }
  EXPECT_TRUE(opengl::hardware_first({}).empty());
}

TEST(OpenglDevices, AreSoftwareByTheirNames) {
  for (const char* const name : {"llvmpipe (LLVM 15.0.6, 256 bits)", "softpipe", "Mesa swrast",
                                 "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)))", "Software Rasterizer",
                                 "Apple Software Renderer"}) {
    EXPECT_TRUE(core::is_named_as_software(name)) << name;
  }
  for (const char* const name : {"", "OpenGL", "NVIDIA H100 80GB HBM3/PCIe/SSE2", "AMD Radeon RX 7900 (radeonsi)",
                                 "Mesa Intel(R) UHD Graphics 630", "zink Vulkan 1.3 (NVIDIA)"}) {
    EXPECT_FALSE(core::is_named_as_software(name)) << name;
  }
}

TEST(OpenglDevices, ThatWillNotDoEachSayWhy) {
  EXPECT_EQ(opengl::why_no_device({}), "EGL finds no device");
  const std::vector<std::string> problems{
      "eglInitialize says EGL_NOT_INITIALIZED", "has no EGL_KHR_surfaceless_context",
      "context::opengl: no core context of OpenGL 3.3: eglCreateContext says EGL_BAD_MATCH"};
  EXPECT_EQ(opengl::why_no_device(problems),
            "EGL's device 0: eglInitialize says EGL_NOT_INITIALIZED; EGL's device 1: has no "
            "EGL_KHR_surfaceless_context; EGL's device 2: no core context of OpenGL 3.3: eglCreateContext says "
            "EGL_BAD_MATCH");
}

TEST_F(OpenglContext, IsOfTheDeviceThatIsFirst) {
  const std::vector<opengl::egl_device>& known = opengl::known_devices().devices;
  ASSERT_FALSE(known.empty());
  EXPECT_EQ(opengl_renderer(ctx()), known.front().renderer);
}

TEST_F(OpenglContext, IsNotWhatBestTakes) { EXPECT_NE(context::best().backend(), backend_kind::opengl); }

TEST_F(OpenglContext, LeavesTheThreadWithTheContextThatItHad) {
  EXPECT_EQ(reversed_wrongly(ctx(), 100), 0U);
  EXPECT_EQ(eglGetCurrentContext(), EGL_NO_CONTEXT);
  const context other = context::opengl();
  const opengl::current_scope callers(opengl::state_of(other).handle(), "test");
  EXPECT_EQ(reversed_wrongly(ctx(), 100), 0U);
  EXPECT_EQ(eglGetCurrentContext(), opengl_context(other));
  // Also where the context of the call is the one that the caller has made current.
  EXPECT_EQ(reversed_wrongly(other, 100), 0U);
  EXPECT_EQ(eglGetCurrentContext(), opengl_context(other));
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_F(OpenglContext, LeavesTheInterfaceThatTheThreadHasBound) {
  ASSERT_EQ(eglBindAPI(EGL_OPENGL_ES_API), EGLBoolean{EGL_TRUE});
  EXPECT_EQ(reversed_wrongly(ctx(), 100), 0U);
  EXPECT_EQ(eglQueryAPI(), EGLenum{EGL_OPENGL_ES_API});
}

// A program that draws with the context itself may leave any switch on.
TEST_F(OpenglContext, WorksWhateverSwitchesTheCallerHasLeftOn) {
  {
    const opengl::current_scope current(state().handle(), "test");
    for (const GLenum capability : {GL_BLEND, GL_SCISSOR_TEST, GL_DEPTH_TEST, GL_CULL_FACE, GL_RASTERIZER_DISCARD}) {
      glEnable(capability);
    }
    glScissor(0, 0, 1, 1);
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
    glPixelStorei(GL_UNPACK_SKIP_PIXELS, 3);
    glPixelStorei(GL_PACK_ROW_LENGTH, 1000);
    glBindTexture(GL_TEXTURE_2D, 12345);  // an error that nobody has read
  }
  EXPECT_EQ(reversed_wrongly(ctx(), 1000), 0U);
}

// Points go to the pixels that their places name, which another origin of the window would turn upside down.
TEST_F(OpenglContext, WorksWhateverClipControlTheCallerHasLeft) {
  {
    const opengl::current_scope current(state().handle(), "test");
    if (epoxy_gl_version() < 45) GTEST_SKIP() << "this device has no glClipControl";
    glClipControl(GL_UPPER_LEFT, GL_ZERO_TO_ONE);
  }
  constexpr std::uint32_t count = 1000;
  std::vector<std::uint32_t> in(count);
  std::vector<std::uint32_t> out(count);
  std::iota(in.begin(), in.end(), 0U);
  const std::vector<std::uint32_t> index(in.rbegin(), in.rend());
  scatter(ctx(), std::span(std::as_const(in)), std::span(index), std::span(out));
  ctx().wait();
  EXPECT_EQ(out, index);
}

TEST_F(OpenglContext, MovesBetweenThreadsThatTakeTurns) {
  for (int round = 0; round < 3; ++round) {
    std::uint32_t wrong = 1;
    std::thread([&] { wrong = reversed_wrongly(ctx(), 5000); }).join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(reversed_wrongly(ctx(), 5000), 0U);
  }
}

TEST_F(OpenglContext, ManyLiveSideBySideOnManyThreads) {
  constexpr std::size_t count = 8;
  std::vector<context> contexts;
  contexts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) contexts.push_back(context::opengl());
  std::vector<std::uint32_t> wrong(contexts.size(), 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    threads.emplace_back([&, i] {
      wrong[i] = 0;
      for (std::uint32_t round = 0; round < 5; ++round) {
        wrong[i] += reversed_wrongly(contexts[i], 1000 * static_cast<std::uint32_t>(i + 1) + round);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, testing::Each(0U));
  for (const context& one : contexts) EXPECT_EQ(unread_error(one), GLenum{GL_NO_ERROR});
}

TEST_F(OpenglContext, MayBeDestroyedOnAnotherThreadAndBeforeItsBuffers) {
  auto made = std::make_unique<context>(context::opengl());
  auto memory = std::make_unique<buffer>(*made, 1000);
  reversed_wrongly(*made, 10);
  std::thread([&] { made.reset(); }).join();
  memory.reset();
  EXPECT_EQ(reversed_wrongly(ctx(), 10), 0U);
}

TEST_F(OpenglContext, ThatIsCurrentElsewhereIsAnError) {
  std::string message;
  const opengl::current_scope current(state().handle(), "test");
  std::thread([&] { message = message_of(error_code::device_failure, [&] { reversed_wrongly(ctx(), 10); }); }).join();
  EXPECT_THAT(message, HasSubstr("gather: eglMakeCurrent says EGL_BAD_ACCESS; one thread uses a context at a time"));
}

GLenum reset_by_another() { return GL_INNOCENT_CONTEXT_RESET; }
GLenum no_reset() { return GL_NO_ERROR; }

TEST_F(OpenglContext, ThatIsLostSaysSoEverAfter) {
  const context lost = context::opengl();
  opengl::state_of(lost).ask_reset_status_of(reset_by_another);
  constexpr const char* message = "gather: the OpenGL context was lost by work of another context; make another";
  expect_error(error_code::device_failure, message, [&] { reversed_wrongly(lost, 10); });
  opengl::state_of(lost).ask_reset_status_of(no_reset);  // drivers report a reset once
  expect_error(error_code::device_failure, message, [&] { reversed_wrongly(lost, 10); });
  EXPECT_EQ(reversed_wrongly(ctx(), 10), 0U);
  EXPECT_EQ(unread_error(lost), GLenum{GL_NO_ERROR});
}

// Says that all is well once, and that the device was reset from then on: when a call begins, and when it ends.
int questions = 0;
GLenum reset_meanwhile() { return questions++ == 0 ? GL_NO_ERROR : GL_UNKNOWN_CONTEXT_RESET; }

// Each kind of prepared object, and arrays for its runs.
struct prepared_objects {
  std::vector<std::uint32_t> begins{0, 1, 2};
  std::vector<std::uint32_t> columns{1, 0};
  std::vector<float> ones{1, 1};
  std::vector<float> numbers{3, 4};
  std::vector<float> out{5, 5};
  prepared_spmv product;
  prepared_edge_sum sum;
  prepared_gather to_gather;
  prepared_scatter to_scatter;

  prepared_objects(const context& ctx, const char* product_form, const char* sum_form)
      : product(prepare_spmv(ctx, csr_view(2, 2, index_span(begins), index_span(columns), const_values(ones)), 3,
                             {.variant = product_form})),
        sum(prepare_edge_sum(ctx, edge_view(columns), 2, 1, 3, {.value = value_type::f32, .variant = sum_form})),
        to_gather(prepare_gather(ctx, columns, 2, 4, 3, {.variant = "opengl.resident"})),
        to_scatter(prepare_scatter(ctx, columns, 2, 4, 3, {.variant = "opengl.resident"})) {}

  static constexpr const char* calls[] = {"prepared_spmv", "prepared_edge_sum", "prepared_gather", "prepared_scatter"};
  void run(std::size_t which) {
    switch (which) {
      case 0: return product.run(numbers, out);
      case 1: return sum.run(numbers, const_values(), values(out), edge_function::weighted_difference);
      case 2: return to_gather.run(const_records(numbers), records(out));
      default: return to_scatter.run(const_records(numbers), records(out));
    }
  }
};

constexpr const char* product_forms[] = {"opengl.texture", "opengl.packed", "opengl.fragments", "opengl.lookup",
                                         "opengl.vertex"};
constexpr const char* sum_forms[] = {"opengl.points", "opengl.fragments"};

TEST_F(OpenglContext, ThatIsLostWhileACallRunsSaysSoAtItsEnd) {
  const context lost = context::opengl();
  questions = 0;
  opengl::state_of(lost).ask_reset_status_of(reset_meanwhile);
  constexpr const char* message =
      "gather: the OpenGL context was lost for a reason that the driver does not know; make another";
  expect_error(error_code::device_failure, message, [&] { reversed_wrongly(lost, 10); });
  EXPECT_EQ(questions, 2);
  opengl::state_of(lost).ask_reset_status_of(no_reset);  // drivers report a reset once
  expect_error(error_code::device_failure, message, [&] { reversed_wrongly(lost, 10); });
  EXPECT_EQ(unread_error(lost), GLenum{GL_NO_ERROR});
}

// Whichever run meets the loss, before its draws or after them: it and all others say so, and what was prepared ends
// without a word.
TEST_F(OpenglContext, ThatIsLostEndsPreparedRunsAndWhatWasPrepared) {
  constexpr std::size_t kinds = std::size(prepared_objects::calls);
  const auto lose = [&](const char* product_form, const char* sum_form, std::size_t first, bool is_meanwhile) {
    SCOPED_TRACE(fmt::format("{}, {}, first {}, {}", product_form, sum_form, first, is_meanwhile));
    const context lost = context::opengl();
    std::optional<prepared_objects> prepared(std::in_place, lost, product_form, sum_form);
    for (std::size_t which = 0; which < kinds; ++which) EXPECT_NO_THROW(prepared->run(which));
    questions = 0;
    opengl::state_of(lost).ask_reset_status_of(is_meanwhile ? reset_meanwhile : reset_by_another);
    for (std::size_t k = 0; k < kinds; ++k) {
      const std::size_t which = (first + k) % kinds;
      EXPECT_THAT(message_of(error_code::device_failure, [&] { prepared->run(which); }),
                  testing::StartsWith(std::string(prepared_objects::calls[which]) + ": the OpenGL context was lost "));
    }
    prepared.reset();
    EXPECT_EQ(unread_error(lost), GLenum{GL_NO_ERROR});
  };
  for (const bool is_meanwhile : {false, true}) {
    for (const char* const form : product_forms) lose(form, "opengl.points", 0, is_meanwhile);
    for (const char* const form : sum_forms) lose("opengl.texture", form, 1, is_meanwhile);
    for (const std::size_t movement : {2, 3}) lose("opengl.texture", "opengl.points", movement, is_meanwhile);
  }
  EXPECT_EQ(reversed_wrongly(ctx(), 10), 0U);
}

// A preparation on a context that is lost meanwhile throws, and what it had made by then goes with it.
TEST_F(OpenglContext, ThatIsLostEndsPreparations) {
  const std::vector<std::uint32_t> begins{0, 1, 2};
  const std::vector<std::uint32_t> columns{1, 0};
  const std::vector<float> ones{1, 1};
  const csr_view a(2, 2, index_span(begins), index_span(columns), const_values(ones));
  const auto lost_while = [&](const char* call, const auto& prepare) {
    const context lost = context::opengl();
    questions = 0;
    opengl::state_of(lost).ask_reset_status_of(reset_meanwhile);
    EXPECT_THAT(message_of(error_code::device_failure, [&] { prepare(lost); }),
                testing::StartsWith(std::string(call) + ": the OpenGL context was lost for a reason"));
    EXPECT_EQ(unread_error(lost), GLenum{GL_NO_ERROR});
  };
  for (const char* const form : product_forms) {
    lost_while("prepare_spmv", [&](const context& ctx) { prepare_spmv(ctx, a, 3, {.variant = form}); });
  }
  for (const char* const form : sum_forms) {
    lost_while("prepare_edge_sum", [&](const context& ctx) {
      prepare_edge_sum(ctx, edge_view(columns), 2, 1, 3, {.value = value_type::f32, .variant = form});
    });
  }
  lost_while("prepare_gather",
             [&](const context& ctx) { prepare_gather(ctx, columns, 2, 4, 3, {.variant = "opengl.resident"}); });
  lost_while("prepare_scatter",
             [&](const context& ctx) { prepare_scatter(ctx, columns, 2, 4, 3, {.variant = "opengl.resident"}); });
}

TEST_F(OpenglContext, TurnsErrorsOfOpenglIntoOurs) {
  const opengl::current_scope current(state().handle(), "test");
  glEnable(GL_LINE_STRIP + 0x7000);
  expect_error(error_code::device_failure, "a call: OpenGL says GL_INVALID_ENUM",
               [] { opengl::require_no_error("a call"); });
  EXPECT_NO_THROW(opengl::require_no_error("a call"));
  EXPECT_EQ(opengl::name_of_gl_error(GL_OUT_OF_MEMORY), "GL_OUT_OF_MEMORY");
  EXPECT_EQ(opengl::name_of_gl_error(0x1234), "error 0x1234");
  EXPECT_EQ(opengl::name_of_egl_error(EGL_BAD_MATCH), "EGL_BAD_MATCH");
  EXPECT_EQ(opengl::name_of_egl_error(0x99), "error 0x99");
}

TEST_F(OpenglContext, SaysWhichPrimitivesItLacks) {
  const std::vector<std::uint32_t> keys{3, 1, 2};
  std::vector<std::uint32_t> sorted(3);
  EXPECT_THAT(message_of(error_code::no_variant, [&] { sort_keys(ctx(), std::span(keys), std::span(sorted)); }),
              testing::HasSubstr(": backend opengl has no variant of it; there are variants for cpu"));
}

TEST_F(OpenglContext, InteropWantsAContextOfOpengl) {
  const context cpu = context::cpu(1);
  expect_error(error_code::bad_argument, "opengl_context: the context works on cpu", [&] { opengl_context(cpu); });
  expect_error(error_code::bad_argument, "opengl_display: the context works on cpu", [&] { opengl_display(cpu); });
  expect_error(error_code::bad_argument, "opengl_renderer: the context works on cpu", [&] { opengl_renderer(cpu); });
}

TEST_F(OpenglContext, StaysWithTheParentInAFork) {
  EXPECT_EQ(reversed_wrongly(ctx(), 100), 0U);
  EXPECT_THAT(in_a_child([&] { return std::to_string(reversed_wrongly(ctx(), 100)); }),
              HasSubstr("this process was forked after the context was made, and OpenGL works only in the parent"));
  EXPECT_THAT(in_a_child([] { return std::string(name(context::opengl().backend())); }),
              HasSubstr("forked from one that had used OpenGL"));
  EXPECT_EQ(in_a_child([] { return std::to_string(core::opengl_device_count()); }), "0");
  // The child gives back its handle without touching the driver.
  EXPECT_EQ(in_a_child([&] {
              context handle = ctx();
              handle = context::cpu(1);
              return std::string("done");
            }),
            "done");
  EXPECT_EQ(reversed_wrongly(ctx(), 100), 0U);
}

}  // namespace
}  // namespace sheaf::tests::opengl_context_test
