#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>

namespace sheaf::io {

/// Calls work(part, thread) for every part below `parts`, on up to `threads` threads, in any order. `thread` is below
/// `threads`. Throws what one of the calls threw, after all have ended.
template <class Work>
void for_each_part(int threads, std::size_t parts, Work&& work) {
  if (threads <= 1 || parts <= 1) {
    for (std::size_t part = 0; part < parts; ++part) work(part, 0);
    return;
  }
  std::exception_ptr thrown;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t part = 0; part < parts; ++part) {
    try {
      work(part, omp_get_thread_num());
    } catch (...) {
#pragma omp critical(sheaf_io_thrown)
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace sheaf::io
