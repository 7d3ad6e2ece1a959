#pragma once

#include <utility>

#include "opengl/device/api.hpp"

// Objects of OpenGL that are deleted with their owner, while their context is current.
namespace sheaf::opengl {

template <class Kind>
class object {
 public:
  object() { Kind::make(&name_); }
  object(object&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
  object& operator=(object&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~object() {
    if (name_ != 0) Kind::destroy(name_);
  }

  GLuint name() const noexcept { return name_; }

 private:
  GLuint name_ = 0;
};

struct texture_kind {
  static void make(GLuint* name) { glGenTextures(1, name); }
  static void destroy(GLuint name) { glDeleteTextures(1, &name); }
};

struct buffer_kind {
  static void make(GLuint* name) { glGenBuffers(1, name); }
  static void destroy(GLuint name) { glDeleteBuffers(1, &name); }
};

struct frame_buffer_kind {
  static void make(GLuint* name) { glGenFramebuffers(1, name); }
  static void destroy(GLuint name) { glDeleteFramebuffers(1, &name); }
};

struct vertex_array_kind {
  static void make(GLuint* name) { glGenVertexArrays(1, name); }
  static void destroy(GLuint name) { glDeleteVertexArrays(1, &name); }
};

using texture = object<texture_kind>;
using buffer_object = object<buffer_kind>;
using frame_buffer = object<frame_buffer_kind>;
using vertex_array = object<vertex_array_kind>;

}  // namespace sheaf::opengl
