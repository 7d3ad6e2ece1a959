#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <sheaf/error.hpp>

#include "core/context_state.hpp"

namespace sheaf::plan {

constexpr std::uint64_t no_scratch_limit = ~std::uint64_t{0};

/// What a plan may count on: the machine's speeds, the memory that is left, and the context whose forced variants hold
/// for the calls inside a call.
struct scope {
  const sheaf::machine& machine;
  std::uint64_t scratch_limit;         ///< most bytes of scratch that the plan may ask for
  const core::context_state* context;  ///< null: no variant is forced

  scope(const sheaf::machine& m, std::uint64_t most_scratch = no_scratch_limit,
        const core::context_state* state = nullptr) noexcept
      : machine(m), scratch_limit(most_scratch), context(state) {}
};

[[noreturn]] inline void throw_wrong_plan() {
  throw error(error_code::internal, "a variant was run with the plan of another one");
}

[[noreturn]] inline void throw_too_many_terms() {
  throw error(error_code::internal, "a plan has more terms than it can name");
}

/// What a decision tells people. A type that has something to tell has a member `void tell(plan::told& to) const`.
class told {
 public:
  template <class Value>
  told& add(const char* what, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      keep_flag(what, value);
    } else if constexpr (std::is_integral_v<Value>) {
      keep(what, std::uint64_t{value});
    } else if constexpr (std::is_floating_point_v<Value>) {
      keep(what, double{value});
    } else {
      keep(what, std::string_view(value));
    }
    return *this;
  }
  std::vector<decided_value> take() { return std::move(values_); }

 private:
  void keep(const char* what, std::uint64_t value);
  void keep(const char* what, double value);
  void keep(const char* what, std::string_view value);
  void keep_flag(const char* what, bool value);

  std::vector<decided_value> values_;
};

/// What plan() decided, for run() of the same variant: one value of any plain type, stored without an allocation.
class decision {
 public:
  static constexpr std::size_t most_bytes = 192;

  template <class T>
  void set(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes && alignof(T) <= alignof(std::uint64_t));
    std::memset(bytes_, 0, most_bytes);
    std::memcpy(bytes_, &value, sizeof value);
    type_ = &kind_of<T>;
  }
  /// @throws error(internal) if plan() decided a value of another type, or none.
  template <class T>
  T get() const {
    if (type_ != &kind_of<T>) throw_wrong_plan();
    return as<T>();
  }
  /// What there is to tell of it, for explanations; nothing where plan() decided nothing.
  std::vector<decided_value> told_values() const {
    told to;
    if (type_ != nullptr) type_->tell(*this, to);
    return to.take();
  }
  /// The same value of the same type, bytes between members included.
  friend bool operator==(const decision& a, const decision& b) noexcept {
    return a.type_ == b.type_ && std::memcmp(a.bytes_, b.bytes_, most_bytes) == 0;
  }

 private:
  template <class T>
  T as() const {
    std::array<std::byte, sizeof(T)> stored;
    std::memcpy(stored.data(), bytes_, sizeof(T));
    return std::bit_cast<T>(stored);
  }
  template <class T>
  static void tell_of([[maybe_unused]] const decision& decided, [[maybe_unused]] told& to) {
    if constexpr (requires(const T& value) { value.tell(to); }) decided.as<T>().tell(to);
  }

  /// A type of values, known by its address.
  struct kind {
    void (*tell)(const decision&, told&);
  };
  template <class T>
  static constexpr kind kind_of{&tell_of<T>};

  alignas(std::uint64_t) std::byte bytes_[most_bytes]{};
  const kind* type_ = nullptr;
};

/// What a variant would cost on a problem and what it decided, or why it cannot run. Only plans with calls inside
/// allocate.
struct planned {
  static constexpr std::size_t most_terms = 8;

  double seconds = 0;
  std::uint64_t scratch_bytes = 0;  ///< all that run() takes, calls inside it included
  std::array<cost_term, most_terms> terms{};
  std::uint32_t term_count = 0;
  decision decided;                         ///< passes, bits and the like that plan() hands to run()
  std::shared_ptr<const void> inner_calls;  ///< choices for the calls inside run(), of a type that the variant knows
  const char* rejection = nullptr;          ///< why it cannot run; null if it can
  bool by_name_only = false;  ///< runs only when forced: the reference, a paper's form, or ruled out by the pattern

  /// The choices for the calls inside, as the variant's plan() stored them in inner_calls.
  template <class T>
  const T& inner() const {
    if (inner_calls == nullptr) throw_wrong_plan();
    return *static_cast<const T*>(inner_calls.get());
  }

  bool applicable() const noexcept { return rejection == nullptr; }
  /// @throws error(internal) past most_terms
  planned& add(const char* what, double term_seconds) {
    if (term_count == most_terms) throw_too_many_terms();
    seconds += term_seconds;
    terms[term_count++] = {what, term_seconds};
    return *this;
  }
  /// Adds terms that different resources work on at the same time: their p-norm, with p the overlap exponent. Exponent
  /// 1 means one after the other, infinity means that the longest hides the others; real machines lie between.
  planned& add_overlapped(double overlap_exponent, std::initializer_list<cost_term> concurrent) {
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
    add("overlap", std::min(0.0, longest * std::pow(powers, 1 / overlap_exponent) - sum));
    terms[term_count - 1].overlapped = static_cast<std::uint32_t>(concurrent.size());
    return *this;
  }
};

inline planned rejected(const char* reason) noexcept {
  planned p;
  p.rejection = reason;
  return p;
}

/// The plan of a serial reference, which waits for so many accesses to memory, and runs by name only.
inline planned serial(double accesses, const scope& in) {
  planned p;
  p.by_name_only = true;
  p.add("latency", accesses * in.machine.access_seconds);
  return p;
}

/// One way to run a primitive. A primitive has one list of variants, and tests, benchmarks, `sheaf plan` and the choice
/// all read that list.
template <class Problem, class Buffers>
struct variant {
  std::string_view name;
  std::optional<backend_kind> backend;  ///< whose memory it works on; none: any backend's
  planned (*plan)(const Problem&, const scope&);
  void (*work)(const context&, const Problem&, const planned&, const Buffers&, std::byte* scratch);

  /// Queues or does the work. `scratch` has the plan's scratch_bytes, aligned to 256 bytes; null if these are 0.
  void run(const context& ctx, const Problem& problem, const planned& chosen, const Buffers& buffers,
           std::byte* scratch) const {
    const core::running_scope scope(ctx.state(), name);
    work(ctx, problem, chosen, buffers, scratch);
  }

  bool works_on(backend_kind kind) const noexcept { return !backend || *backend == kind; }
};

}  // namespace sheaf::plan
