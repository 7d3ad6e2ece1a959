#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

namespace sheaf::tests {

#if defined(__SANITIZE_THREAD__)
constexpr bool under_thread_sanitizer = true;
#elif defined(__has_feature)
constexpr bool under_thread_sanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool under_thread_sanitizer = false;
#endif

struct named_context {
  std::string name;
  context ctx;
};

/// A context on the first CUDA device, or nothing if the build or the machine has none.
inline std::optional<context> cuda_context() {
  try {
    return context::cuda(0);
  } catch (const error& e) {
    if (e.code() != error_code::backend_unavailable) throw;
    return std::nullopt;
  }
}

/// One context of every kind that can be made here. Five threads on any machine: more than it has, on a small one.
inline std::vector<named_context> every_context() {
  std::vector<named_context> all;
  for (const int threads : {1, 2, 5})
    all.push_back({fmt::format("cpu with {} threads", threads), context::cpu(threads)});
  if (auto cuda = cuda_context()) all.push_back({"cuda", *cuda});
  return all;
}

/// Whether a variant's backend can run here; "" is the planner's own choice.
inline bool can_run_here(std::string_view variant) {
  return !variant.starts_with("cuda.") || cuda_context().has_value();
}

/// Names a parameterised test after its variant.
inline std::string test_name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.empty() ? "planners_choice" : info.param;
  for (char& c : name) {
    if (c == '.' || c == '-') c = '_';
  }
  return name;
}

}  // namespace sheaf::tests
