#pragma once

#include <memory>
#include <utility>

#include <sheaf/context.hpp>

#include "opengl/device/current.hpp"
#include "opengl/device/state.hpp"

namespace sheaf::opengl {

/// Objects of OpenGL that outlive the call that made them. They are deleted with their context current. Where it cannot
/// be made current, as in a child of the process, they stay until the context ends.
template <class Objects>
class kept_objects {
 public:
  kept_objects(const context& ctx, Objects objects)
      : context_(ctx), objects_(std::make_unique<Objects>(std::move(objects))) {}
  kept_objects(const kept_objects&) = delete;
  kept_objects& operator=(const kept_objects&) = delete;
  ~kept_objects() {
    try {
      if (state_of(context_).made_by_this_process()) {
        const current_scope current(state_of(context_).handle(), "the end of a prepared object");
        objects_.reset();
        return;
      }
    } catch (...) {  // current on another thread
    }
    static_cast<void>(objects_.release());
  }

  Objects& operator*() const noexcept { return *objects_; }
  Objects* operator->() const noexcept { return objects_.get(); }

 private:
  context context_;
  std::unique_ptr<Objects> objects_;
};

}  // namespace sheaf::opengl
