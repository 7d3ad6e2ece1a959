#pragma once

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
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

#if defined(__SANITIZE_ADDRESS__)
constexpr bool under_address_sanitizer = true;
#elif defined(__has_feature)
constexpr bool under_address_sanitizer = __has_feature(address_sanitizer);
#else
constexpr bool under_address_sanitizer = false;
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

/// Whether tests of OpenGL must run: without a device they then fail, and are not skipped.
inline bool requires_opengl() { return std::getenv("SHEAF_TEST_REQUIRES_OPENGL") != nullptr; }

/// A context on the first OpenGL device, or nothing if the build or the machine has none.
inline std::optional<context> opengl_context() {
  try {
    return context::opengl(0);
  } catch (const error& e) {
    if (e.code() != error_code::backend_unavailable || requires_opengl()) throw;
    return std::nullopt;
  }
}

/// Threads of the CPU's contexts: the last are more than a small machine has. AddressSanitizer makes what runs on every
/// context the longest of all tests, and sees most with most threads; tests of one thread say so themselves.
inline std::vector<int> thread_counts() {
  if (under_address_sanitizer) return {5};
  return {1, 2, 5};
}

/// One context of every kind that can be made here and has every primitive: OpenGL has some, and takes some records.
inline std::vector<named_context> every_context() {
  std::vector<named_context> all;
  for (const int threads : thread_counts())
    all.push_back({fmt::format("cpu with {} threads", threads), context::cpu(threads)});
  if (auto cuda = cuda_context()) all.push_back({"cuda", *cuda});
  return all;
}

/// Whether a variant's backend can run here; "" is the planner's own choice.
inline bool can_run_here(std::string_view variant) {
  if (variant.starts_with("opengl.")) return opengl_context().has_value();
  return !variant.starts_with("cuda.") || cuda_context().has_value();
}

/// The contexts to try a variant on: OpenGL's for a variant of OpenGL, else every_context().
inline std::vector<named_context> contexts_to_try(std::string_view variant) {
  if (!variant.starts_with("opengl.")) return every_context();
  std::vector<named_context> all;
  if (auto opengl = opengl_context()) all.push_back({"opengl", *opengl});
  return all;
}

/// How many of contexts_to_try() a variant works on: those of the CPU, CUDA's or OpenGL's if there is one, or all
/// of every_context() for the planner's choice and for variants of no backend.
inline std::size_t contexts_for(std::string_view variant) {
  if (variant.starts_with("opengl.")) return opengl_context() ? 1 : 0;
  const std::size_t cuda = cuda_context() ? 1 : 0;
  if (variant.starts_with("cuda.")) return cuda;
  const std::size_t cpu = thread_counts().size();
  return variant.starts_with("cpu.") || variant.starts_with("reference.") ? cpu : cpu + cuda;
}

/// How many problems of a test a variant takes that refuses some of them.
struct taken_problems {
  std::string_view variant;
  std::size_t problems = 0;
};

/// Expects that a variant ran all `problems` of a test on each of its contexts, or as many as `fewer` says. So a
/// variant that begins to refuse what it took is found, and is not just tested by less.
inline void expect_runs(std::string_view variant, std::size_t runs, std::size_t problems,
                        std::initializer_list<taken_problems> fewer = {}) {
  for (const taken_problems& taken : fewer) {
    if (taken.variant == variant) problems = taken.problems;
  }
  testing::Test::RecordProperty("runs", static_cast<int>(runs));
  EXPECT_GE(runs, problems * contexts_for(variant)) << variant << " refused problems that it should take";
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
