#pragma once

#include "opengl/device/current.hpp"
#include "opengl/device/state.hpp"

namespace sheaf::opengl {

/// Objects of OpenGL that outlive the call that made them. They are deleted with their context current. Where it is
/// current on another thread, they are left to the context, which deletes them at its next call.
template <class Objects>
class kept_objects {
 public:
  kept_objects(const context& ctx, Objects objects)
      : context_(ctx), objects_(std::make_shared<Objects>(std::move(objects))) {}
  kept_objects(const kept_objects&) = delete;
  kept_objects& operator=(const kept_objects&) = delete;
  ~kept_objects() {
    opengl_state& state = state_of(context_);
    try {
      if (state.made_by_this_process()) {
        const current_scope current(state.handle(), "the end of a prepared object");
        objects_.reset();
        return;
      }
    } catch (...) {  // current on another thread
    }
    state.leave(std::move(objects_));
  }

  Objects& operator*() const noexcept { return *objects_; }
  Objects* operator->() const noexcept { return objects_.get(); }

 private:
  context context_;
  std::shared_ptr<Objects> objects_;
};

}  // namespace sheaf::opengl
