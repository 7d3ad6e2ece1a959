#include "jobs/background.hpp"

#include <utility>

namespace sheaf::jobs {

background::background() : thread_([this] { loop(); }) {}

background::~background() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    stops_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::future<void> background::run(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return done;
}

void background::loop() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::packaged_task<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace sheaf::jobs
