#pragma once

#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "opengl/device/api.hpp"
#include "opengl/device/current.hpp"
#include "opengl/device/state.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests {

/// A test that needs an OpenGL device. At its end no error of OpenGL may be unread in its context.
class opengl_test : public testing::Test {
 protected:
  void SetUp() override {
    try {
      made_ = context::opengl();
    } catch (const error& e) {
      if (requires_opengl()) throw;
      GTEST_SKIP() << e.what();
    }
  }
  void TearDown() override {
    if (!made_) return;
    EXPECT_EQ(unread_error(*made_), GLenum{GL_NO_ERROR});
  }

  const context& ctx() const { return *made_; }
  opengl::opengl_state& state() const { return opengl::state_of(ctx()); }

  static GLenum unread_error(const context& of) {
    const opengl::current_scope current(opengl::state_of(of).handle(), "test");
    return glGetError();
  }

 private:
  std::optional<context> made_;
};

}  // namespace sheaf::tests
