#include "plan/learning.hpp"

#include <fmt/format.h>

namespace sheaf::plan {

void timed_variant::add(double seconds, const planned& plan) noexcept {
  if (plan.scratch_bytes > 0 && untimed_calls == 0) {
    ++untimed_calls;
    return;
  }
  ++timed_calls;
  ratio = std::min(ratio, seconds / plan.seconds);
}

void timed_shapes::append(std::shared_ptr<timed_shape> shape) {
  if (shapes_.size() == most_shapes) shapes_.erase(shapes_.begin());
  shapes_.push_back(std::move(shape));
}

bool may_learn(const core::context_state& state) {
  return state.learns() && state.is_done_on_return() && state.running().empty() && !state.is_captured();
}

timed_shapes& learned_by(core::context_state& state) {
  if (state.learned() == nullptr) state.learned() = std::make_unique<timed_shapes>();
  return static_cast<timed_shapes&>(*state.learned());
}

learned_verdict judge(std::uint32_t wanted_calls, const timed_variant& first, double first_predicted,
                      const timed_variant& second, double second_predicted) noexcept {
  const bool first_is_known = first.is_known(wanted_calls);
  const bool second_is_known = second.is_known(wanted_calls);
  if (first_is_known && second_is_known) {
    return {.is_second = second.ratio * second_predicted < first.ratio * first_predicted, .is_timed = false};
  }
  // In turn, so that what changes in the meantime changes both.
  const auto calls_of = [](const timed_variant& v) { return v.untimed_calls + v.timed_calls; };
  const bool is_second = first_is_known || (!second_is_known && calls_of(second) < calls_of(first));
  return {.is_second = is_second, .is_timed = true};
}

timed_call::timed_call(core::context_state& state, std::shared_ptr<timed_variant> variant)
    : state_(&state), variant_(std::move(variant)), begin_(state.clock()) {}

void timed_call::lacks_scratch() noexcept {
  if (variant_ != nullptr) *variant_ = {.lacked_scratch = true};
  variant_ = nullptr;
}

void timed_call::end(const planned& plan) {
  if (variant_ == nullptr || state_->status() == work_status::failed) return;
  variant_->add(state_->clock() - begin_, plan);
}

namespace {

/// "took 1.67x the time of cpu.bucketed"
std::string comparison(const variant_estimate& slower, const variant_estimate& faster) {
  if (slower.timed_calls == 0) return "had no memory for its scratch";
  return fmt::format("took {:.2f}x the time of {}", slower.timed_seconds / faster.timed_seconds, faster.variant);
}

}  // namespace

void tell_learned(explanation& why, std::string_view second_name, std::uint32_t wanted_calls,
                  const timed_variant& first, const timed_variant& second) {
  const auto is_chosen = [](const variant_estimate& v) { return v.chosen; };
  const auto cheapest = std::ranges::find_if(why.variants, is_chosen);
  const auto rival = std::ranges::find(why.variants, second_name, &variant_estimate::variant);
  if (cheapest == why.variants.end() || rival == why.variants.end()) return;
  const auto tell = [](variant_estimate& of, const timed_variant& times) {
    of.timed_calls = times.timed_calls;
    of.timed_seconds = times.timed_calls == 0 ? 0 : times.ratio * of.seconds;
  };
  tell(*cheapest, first);
  tell(*rival, second);
  const learned_verdict verdict = judge(wanted_calls, first, cheapest->seconds, second, rival->seconds);
  variant_estimate& taken = verdict.is_second ? *rival : *cheapest;
  variant_estimate& other = verdict.is_second ? *cheapest : *rival;
  cheapest->chosen = false;
  taken.chosen = true;
  const std::uint64_t calls = first.timed_calls + second.timed_calls;
  if (verdict.is_timed) {
    why.learned = fmt::format("timed calls so far: {}; the next one takes {}", calls, taken.variant);
    other.reason = fmt::format("{} is timed next", taken.variant);
    return;
  }
  other.reason = comparison(other, taken);
  why.learned = fmt::format("chosen by {} timed calls: {} {}", calls, other.variant, other.reason);
}

}  // namespace sheaf::plan
