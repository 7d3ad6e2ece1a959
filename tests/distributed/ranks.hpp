#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/error.hpp>

#include "distributed/state.hpp"

// Tests of calls on groups. The same tests run on ranks that are threads, and on those of MPI: each program brings an
// on_ranks() of its own.
namespace sheaf::tests {

/// Calls `test` on each rank of groups: of 1 to 8 threads, or of the program's processes. What the test throws fails
/// it.
void on_ranks(const std::function<void(const distributed::group&)>& test, const distributed::limits& bounds = {});

/// Whether ranks are threads of this process.
bool ranks_are_threads();

/// Whether the program's tests take the way of devices, too: what carries messages makes no difference to it.
bool takes_both_ways();

/// As on_ranks(), twice: calls go by loops over host memory, and by primitives, as they do on devices.
inline void on_ranks_both_ways(const std::function<void(const distributed::group&)>& test,
                               const distributed::limits& bounds = {}) {
  for (const bool by_primitives : {false, true}) {
    if (by_primitives && !takes_both_ways()) return;
    SCOPED_TRACE(by_primitives ? "by primitives" : "by loops");
    on_ranks(
        [&](const distributed::group& ranks) {
          ranks.state().goes_by_primitives = by_primitives;
          test(ranks);
        },
        bounds);
  }
}

/// How arrays lie on ranks.
enum class spread { even, one_has_all, some_empty, uneven };
constexpr spread all_spreads[] = {spread::even, spread::one_has_all, spread::some_empty, spread::uneven};

inline std::string name(spread s) {
  switch (s) {
    case spread::even: return "even";
    case spread::one_has_all: return "one has all";
    case spread::some_empty: return "some empty";
    default: return "uneven";
  }
}

inline distributed::layout layout_of(spread s, std::uint64_t rows, int ranks) {
  std::vector<std::uint64_t> begins(static_cast<std::size_t>(ranks) + 1, 0);
  switch (s) {
    case spread::even: return distributed::layout::even(rows, ranks);
    case spread::one_has_all:
      for (std::size_t r = begins.size() / 2; r < begins.size(); ++r) begins[r] = rows;
      break;
    case spread::some_empty: {
      const auto half = distributed::layout::even(rows, (ranks + 1) / 2);
      for (std::size_t r = 0; r < begins.size(); ++r)
        begins[r] = half.begins()[std::min((r + 1) / 2, half.begins().size() - 1)];
      break;
    }
    default: {
      std::mt19937_64 random(rows * 31 + static_cast<std::uint64_t>(ranks));
      for (std::size_t r = 1; r + 1 < begins.size(); ++r) begins[r] = random() % (rows + 1);
      begins.back() = rows;
      std::sort(begins.begin(), begins.end());
    }
  }
  begins.back() = rows;
  return distributed::layout::at(begins);
}

/// This rank's part of an array.
template <class T>
std::vector<T> part_of(const std::vector<T>& whole, const distributed::layout& rows, int rank,
                       std::uint64_t width = 1) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(rows.begin(rank) * width),
          whole.begin() + static_cast<std::ptrdiff_t>(rows.end(rank) * width)};
}

/// Calls, and returns the message of the sheaf::error that it throws, which has this code.
template <class Call>
std::string message_of(error_code code, Call call) {
  try {
    call();
  } catch (const error& thrown) {
    EXPECT_EQ(name(thrown.code()), name(code)) << thrown.what();
    return thrown.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace sheaf::tests
