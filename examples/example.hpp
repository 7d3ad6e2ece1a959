#pragma once

#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

// What the larger examples share: an array where a context works, a command line of a size and a backend, a clock.
namespace example {

/// Numbers or structures in the memory where a context works. A range for the library's calls; the host may be unable
/// to read it and takes a copy with on_host.
template <class T>
class array {
 public:
  array() = default;
  array(const sheaf::context& ctx, std::uint64_t count) : memory_(ctx, count * sizeof(T)), count_(count) {}
  array(const sheaf::context& ctx, const std::vector<T>& from) : array(ctx, from.size()) {
    sheaf::copy_bytes(ctx, data(), from.data(), count_ * sizeof(T));
  }

  T* data() const { return memory_.template as<T>(); }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }
  std::uint64_t size() const { return count_; }
  std::span<T> span() const { return {data(), count_}; }

  std::vector<T> on_host(const sheaf::context& ctx) const {
    std::vector<T> copy(count_);
    sheaf::copy_bytes(ctx, copy.data(), data(), count_ * sizeof(T));
    return copy;
  }
  /// One of them.
  T on_host(const sheaf::context& ctx, std::uint64_t place) const {
    T copy;
    sheaf::copy_bytes(ctx, &copy, data() + place, sizeof(T));
    return copy;
  }

 private:
  sheaf::buffer memory_;
  std::uint64_t count_ = 0;
};

struct arguments {
  std::uint64_t size;
  sheaf::context ctx;
};

/// Reads `PROGRAM [SIZE] [auto|cpu|cuda]`; ends the program with code 2 and a message where it says anything else.
inline arguments read_arguments(int argc, char** argv, const char* what, std::uint64_t usual, std::uint64_t least,
                                std::uint64_t most) {
  const auto refuse = [&](const char* wrong) {
    std::fprintf(stderr, "%s: \"%s\"\nusage: %s [%s, %" PRIu64 " to %" PRIu64 ", else %" PRIu64 "] [auto|cpu|cuda]\n",
                 argv[0], wrong, argv[0], what, least, most, usual);
    std::exit(2);
  };
  if (argc > 3) refuse(argv[3]);
  std::uint64_t size = usual;
  if (argc > 1) {
    const char* const end = argv[1] + std::strlen(argv[1]);
    const auto [stop, code] = std::from_chars(argv[1], end, size);
    if (code != std::errc() || stop != end || size < least || size > most) refuse(argv[1]);
  }
  const std::string_view backend = argc > 2 ? argv[2] : "auto";
  if (backend == "cpu") return {size, sheaf::context::cpu()};
  if (backend == "cuda") return {size, sheaf::context::cuda()};
  if (backend != "auto") refuse(argv[2]);
  return {size, sheaf::context::best()};
}

/// Seconds from the first call until all that was queued is done.
template <class Work>
double seconds(const sheaf::context& ctx, Work work) {
  ctx.wait();
  const auto start = std::chrono::steady_clock::now();
  work();
  ctx.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds of a second run: the first meets fresh memory, and on a device loads its code.
template <class Work>
double seconds_of_second(const sheaf::context& ctx, Work work) {
  seconds(ctx, work);
  return seconds(ctx, work);
}

/// The program's exit code: 1 also where its output could not be written.
inline int exit_code(bool right) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return right ? 0 : 1;
  std::fprintf(stderr, "standard output cannot be written\n");
  return 1;
}

/// Prints what is wrong; the check has failed.
inline bool fails(const char* why) {
  std::fprintf(stderr, "check failed: %s\n", why);
  return false;
}

}  // namespace example
