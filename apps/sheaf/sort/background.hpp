#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace sheaf::jobs {

/// One thread that runs tasks in order, to read and write while the caller computes. get() of a task's future throws
/// what the task threw. The destructor drops tasks that have not begun and waits for the one that runs, so declare this
/// after the buffers that tasks use.
class background {
 public:
  background();
  ~background();
  background(const background&) = delete;
  background& operator=(const background&) = delete;

  std::future<void> run(std::function<void()> work);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> waiting_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace sheaf::jobs
