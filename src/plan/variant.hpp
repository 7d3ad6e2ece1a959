#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/machine_profile.hpp>
#include <sheaf/plan.hpp>

namespace sheaf::plan {

/// What a variant would cost on a problem and what it decided, or why it cannot run. Makes no allocation.
struct planned {
  static constexpr std::size_t most_terms = 8;

  double seconds = 0;
  std::uint64_t scratch_bytes = 0;
  std::array<cost_term, most_terms> terms{};
  std::uint32_t term_count = 0;
  std::array<std::uint64_t, 4> parameters{};  ///< passes, bits and the like that plan() hands to run()
  const char* rejection = nullptr;            ///< why it cannot run; null if it can
  bool by_name_only = false;  ///< runs only when forced: the serial reference, or a variant that the pattern rules out

  bool applicable() const noexcept { return rejection == nullptr; }
  planned& add(const char* what, double term_seconds) noexcept {
    seconds += term_seconds;
    terms[term_count++] = {what, term_seconds};
    return *this;
  }
  /// Adds terms that different resources work on at the same time: their p-norm, with p the overlap exponent. Exponent
  /// 1 means one after the other, infinity means that the longest hides the others; real machines lie between.
  planned& add_overlapped(double overlap_exponent, std::initializer_list<cost_term> concurrent) noexcept {
    double sum = 0;
    double longest = 0;
    for (const cost_term& t : concurrent) {
      add(t.what, t.seconds);
      sum += t.seconds;
      longest = std::max(longest, t.seconds);
    }
    if (longest == 0) return *this;
    double powers = 0;
    for (const cost_term& t : concurrent) powers += std::pow(t.seconds / longest, overlap_exponent);
    return add("overlap", std::min(0.0, longest * std::pow(powers, 1 / overlap_exponent) - sum));
  }
};

inline planned rejected(const char* reason) noexcept {
  planned p;
  p.rejection = reason;
  return p;
}

/// One way to run a primitive. A primitive has one list of variants, and tests, benchmarks, `sheaf plan` and the choice
/// all read that list.
template <class Problem, class Buffers>
struct variant {
  std::string_view name;
  planned (*plan)(const Problem&, const machine&);
  void (*run)(const context&, const Problem&, const planned&, const Buffers&);
};

}  // namespace sheaf::plan
