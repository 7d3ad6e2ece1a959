#pragma once

#include <limits>

#include "plan/cheapest.hpp"

// A context that learns (autotuning at run time). Where the two cheapest plans of a call lie close together, the first
// calls of its shape are timed, by one plan and the other in turn, and later calls go by the faster. What is kept of a
// variant is measured over predicted time, so that it holds for all counts of the shape.
namespace sheaf::plan {

/// A problem of which a context may learn has, beside it, a function
///   std::optional<Problem> learned_shape(const Problem&)
/// which is the problem with counts and ranges rounded down to powers of two: calls of one shape share what is learned.
/// It is none unless all variants that may run the problem promise the same result, bit by bit or as unspecified.
template <class Problem>
concept has_learned_shape = requires(const Problem& p) {
  {learned_shape(p)};
};

/// The order of a call's index list, if it decides what variants take and nobody has told it. Problems of such calls
/// have a function beside them, access_pattern::kind sampled_order(const context&, const Problem&, const Buffers&).
template <class Problem, class Buffers>
access_pattern::kind order_for_learning(const context& ctx, const Problem& problem, const Buffers& buffers) {
  if constexpr (requires { sampled_order(ctx, problem, buffers); }) return sampled_order(ctx, problem, buffers);
  return access_pattern::kind::unknown;
}

/// Least predicted seconds of calls of which a context learns. Shorter ones would wait for the sample of their list:
/// it takes 0.025 ms.
constexpr double least_learned_seconds = 5e-4;
/// How far apart two predictions may lie for the plans to be timed.
constexpr double close_predictions = 2;

/// What calls of one shape took by one variant.
struct timed_variant {
  std::uint32_t untimed_calls = 0;  ///< that bore costs which later ones do not have
  std::uint32_t timed_calls = 0;
  double ratio = std::numeric_limits<double>::infinity();  ///< the least of measured over predicted seconds
  bool lacked_scratch = false;

  bool is_known(std::uint32_t wanted_calls) const noexcept { return lacked_scratch || timed_calls >= wanted_calls; }
  /// Adds a call. The first one by a variant with scratch is not timed: it touches the scratch's pages.
  void add(double seconds, const planned& plan) noexcept;
};

/// What is known of the calls of one shape.
class timed_shape {
 public:
  timed_shape(const void* list, access_pattern::kind order, std::size_t variants)
      : list_(list), order_(order), variants_(variants) {}
  virtual ~timed_shape() = default;
  timed_shape(const timed_shape&) = delete;
  timed_shape& operator=(const timed_shape&) = delete;

  bool is_of(const void* list) const noexcept { return list_ == list; }
  access_pattern::kind order() const noexcept { return order_; }
  /// @param number  the variant's position in the primitive's list
  timed_variant& at(std::size_t number) { return variants_.at(number); }

  /// Timed calls of each of two variants, from which on they are known.
  std::uint32_t wanted_calls() const noexcept { return wanted_calls_; }
  /// Counts a call whose two variants are known. The 16th, the 64th and so on ask for one more timed call of each: what
  /// disturbed the first ones, other work of the machine for one, or memory that was short, decides for a while, not
  /// for ever.
  void count_known_call() noexcept {
    if (++known_calls_ < next_look_) return;
    next_look_ *= 4;
    ++wanted_calls_;
    for (timed_variant& v : variants_) v.lacked_scratch = false;
  }

 private:
  std::uint32_t wanted_calls_ = 2;
  std::uint64_t known_calls_ = 0;
  std::uint64_t next_look_ = 16;
  const void* list_;
  access_pattern::kind order_;  ///< of the index list, sampled
  std::vector<timed_variant> variants_;
};

/// All that a context has learned: of the last shapes that it used.
class timed_shapes final : public core::plan_memory {
 public:
  static constexpr std::size_t most_shapes = 256;

  /// The shape's, made if there is none; the shape counts as used.
  template <class Problem>
  std::shared_ptr<timed_shape> of(const void* list, const Problem& shape, access_pattern::kind order,
                                  std::size_t variants) {
    const auto found = std::ranges::find_if(
        shapes_, [&](const auto& known) { return is_same<Problem>(*known, list, shape) && known->order() == order; });
    if (found != shapes_.end()) {
      std::rotate(found, found + 1, shapes_.end());
    } else {
      append(std::make_shared<shape_of<Problem>>(list, shape, order, variants));
    }
    return shapes_.back();
  }
  /// The last one that was used of this shape, whatever the order of its list; null if there is none.
  template <class Problem>
  timed_shape* last(const void* list, const Problem& shape) const {
    const auto found = std::find_if(shapes_.rbegin(), shapes_.rend(),
                                    [&](const auto& known) { return is_same<Problem>(*known, list, shape); });
    return found == shapes_.rend() ? nullptr : found->get();
  }
  std::size_t size() const noexcept { return shapes_.size(); }

 private:
  template <class Problem>
  struct shape_of final : timed_shape {
    shape_of(const void* list, const Problem& shape, access_pattern::kind order, std::size_t variants)
        : timed_shape(list, order, variants), problem(shape) {}
    Problem problem;
  };
  template <class Problem>
  static bool is_same(const timed_shape& known, const void* list, const Problem& shape) {
    return known.is_of(list) && static_cast<const shape_of<Problem>&>(known).problem == shape;
  }
  void append(std::shared_ptr<timed_shape> shape);

  std::vector<std::shared_ptr<timed_shape>> shapes_;  ///< the one used last at the end
};

/// Whether calls of this context are timed now. Those inside another call are a part of its time; captured ones do not
/// run.
bool may_learn(const core::context_state& state);
/// What a context has learned, made if there is nothing.
timed_shapes& learned_by(core::context_state& state);

/// Which of two plans a call goes by.
struct learned_verdict {
  bool is_second = false;
  bool is_timed = false;  ///< whether the call is to be timed, because one of the variants is not known yet
};
learned_verdict judge(std::uint32_t wanted_calls, const timed_variant& first, double first_predicted,
                      const timed_variant& second, double second_predicted) noexcept;

/// A call under way whose time is wanted, or is not. It keeps the variant's times, because the caller's memory resource
/// is asked for scratch meanwhile, and might make calls.
class timed_call {
 public:
  timed_call() = default;
  /// The time begins.
  timed_call(core::context_state& state, std::shared_ptr<timed_variant> variant);

  /// The plan's scratch is not to be had: another plan runs, and this one loses.
  void lacks_scratch() noexcept;
  /// The work is done. The call is not timed if the context has failed, because bad indices may have cut work short.
  void end(const planned& plan);

 private:
  core::context_state* state_ = nullptr;
  std::shared_ptr<timed_variant> variant_;
  double begin_ = 0;
};

/// The cheapest plan but `best`, if both are long enough and close enough to be timed; else none.
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> close_rival(std::span<const variant<Problem, Buffers>> list, const Problem& problem,
                                              const context& ctx, const choice<variant<Problem, Buffers>>& best) {
  if (best.plan.seconds < least_learned_seconds) return {};
  auto rival = cheapest(list, problem, ctx.backend(), scope_of(ctx), {}, best.variant);
  if (rival.variant != nullptr && rival.plan.seconds > close_predictions * best.plan.seconds) return {};
  return rival;
}

/// Puts the plan by which a call is to go, as the context has learned or wants to learn, in the place of the cheapest.
/// @param forced  the variant that the call has to take; nothing is learned unless it is empty
template <class Problem, class Buffers>
timed_call learn(std::span<const variant<Problem, Buffers>> list, const Problem& problem, const context& ctx,
                 std::string_view forced, const Buffers& buffers, choice<variant<Problem, Buffers>>& taken) {
  if constexpr (has_learned_shape<Problem>) {
    if (!forced.empty() || !may_learn(ctx.state())) return {};
    const std::optional<Problem> shape = learned_shape(problem);
    if (!shape) return {};
    auto rival = close_rival(list, problem, ctx, taken);
    if (rival.variant == nullptr) return {};
    const auto number_of = [&](const auto& c) { return static_cast<std::size_t>(c.variant - list.data()); };
    const access_pattern::kind order = order_for_learning(ctx, problem, buffers);
    const auto times = learned_by(ctx.state()).of(list.data(), *shape, order, list.size());
    const learned_verdict verdict = judge(times->wanted_calls(), times->at(number_of(taken)), taken.plan.seconds,
                                          times->at(number_of(rival)), rival.plan.seconds);
    if (!verdict.is_timed) times->count_known_call();
    if (verdict.is_second) taken = std::move(rival);
    if (verdict.is_timed) return {ctx.state(), {times, &times->at(number_of(taken))}};
  }
  return {};
}

/// Writes into an explanation, in which the cheapest variant is chosen, what calls of the two variants took, and which
/// of them the next call takes.
void tell_learned(explanation& why, std::string_view second_name, std::uint32_t wanted_calls,
                  const timed_variant& first, const timed_variant& second);

template <class Problem, class Buffers>
void explain_learned(std::span<const variant<Problem, Buffers>> list, const Problem& problem, const context& ctx,
                     std::string_view forced, explanation& why) {
  if constexpr (has_learned_shape<Problem>) {
    if (!forced.empty() || !may_learn(ctx.state())) return;
    const std::optional<Problem> shape = learned_shape(problem);
    timed_shape* const times = shape ? learned_by(ctx.state()).last(list.data(), *shape) : nullptr;
    if (times == nullptr) return;
    const auto best = cheapest(list, problem, ctx.backend(), scope_of(ctx));
    if (best.variant == nullptr) return;
    const auto rival = close_rival(list, problem, ctx, best);
    if (rival.variant == nullptr) return;
    const auto number_of = [&](const auto& c) { return static_cast<std::size_t>(c.variant - list.data()); };
    tell_learned(why, rival.variant->name, times->wanted_calls(), times->at(number_of(best)),
                 times->at(number_of(rival)));
  }
}

}  // namespace sheaf::plan
