#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/plan.hpp>

namespace sheaf::plan {

/// What a variant would cost on a problem, and what it decided; or why it cannot run. Cheap to make: no allocation.
struct planned {
  static constexpr std::size_t most_terms = 6;

  double seconds = 0;
  std::uint64_t scratch_bytes = 0;
  std::array<cost_term, most_terms> terms{};
  std::uint32_t term_count = 0;
  std::array<std::uint64_t, 4> parameters{};  ///< passes, bits, items: what run() gets from plan()
  const char* rejection = nullptr;            ///< why it cannot run; null if it can
  bool by_name_only = false;                  ///< runs only when forced: the oracle

  bool applicable() const noexcept { return rejection == nullptr; }
  planned& add(const char* what, double term_seconds) noexcept {
    seconds += term_seconds;
    terms[term_count++] = {what, term_seconds};
    return *this;
  }
};

inline planned rejected(const char* reason) noexcept {
  planned p;
  p.rejection = reason;
  return p;
}

/// One way to run a primitive. Every list of them is the single place where tests, benchmarks, `sheaf plan` and the
/// choice look.
template <class Problem, class Buffers>
struct variant {
  std::string_view name;
  planned (*plan)(const Problem&, const machine&);
  void (*run)(const context&, const Problem&, const planned&, const Buffers&);
};

}  // namespace sheaf::plan
