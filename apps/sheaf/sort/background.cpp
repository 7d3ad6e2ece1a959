#include "apps/sheaf/sort/background.hpp"

#include <system_error>
#include <utility>

#include "core/startable.hpp"

namespace sheaf::jobs {

background::background() {
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& e) {
    core::throw_unstartable(2, 1, e.code().value());
  }
}

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
