#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace sheaf::jobs {

/// One thread that does what it is given in order: reading and writing beside the work of the caller. What a piece of
/// work throws, get() of its future throws. At the end work that has not begun is dropped and work that has is waited
/// for, so this stands below the buffers that the work uses.
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
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace sheaf::jobs
