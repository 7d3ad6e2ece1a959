#include "plan/choose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sheaf {

const variant_estimate* explanation::choice() const noexcept {
  for (const variant_estimate& estimate : variants) {
    if (estimate.chosen) return &estimate;
  }
  return nullptr;
}

namespace plan {

namespace {

// In place: g++ 12 warns of moved variants that hold no string.
template <class Value>
void keep_in(std::vector<decided_value>& values, const char* what, Value value) {
  decided_value& last = values.emplace_back();
  last.what = what;
  last.value.template emplace<Value>(std::move(value));
}

}  // namespace

void told::keep(const char* what, std::uint64_t value) { keep_in(values_, what, value); }
void told::keep(const char* what, double value) { keep_in(values_, what, value); }
void told::keep(const char* what, std::string_view value) { keep_in(values_, what, std::string(value)); }
void told::keep_flag(const char* what, bool value) { keep_in(values_, what, value); }

void throw_unknown_variant(std::string_view primitive, std::string_view wanted,
                           std::span<const std::string_view> names) {
  throw error(error_code::bad_argument,
              fmt::format("{}: no variant is named '{}'; there are {}", primitive, wanted, fmt::join(names, ", ")));
}

void throw_no_variants(std::string_view primitive, backend_kind backend,
                       std::span<const backend_kind> backends_that_have) {
  std::vector<std::string_view> names;
  for (const backend_kind other : backends_that_have) {
    if (std::ranges::find(names, name(other)) == names.end()) names.push_back(name(other));
  }
  throw error(error_code::no_variant,
              fmt::format("{}: backend {} has no variant of it{}{}", primitive, name(backend),
                          names.empty() ? "" : "; there are variants for ", fmt::join(names, " and ")));
}

void throw_rejected(std::string_view primitive, std::span<const rejection> rejections) {
  std::string text = fmt::format("{}: no variant can run this:", primitive);
  for (const rejection& r : rejections) text += fmt::format(" {} ({});", r.variant, r.reason);
  text.pop_back();
  throw error(error_code::no_variant, text);
}

void throw_out_of_scratch(std::string_view primitive, std::string_view variant, std::uint64_t bytes,
                          std::uint64_t limit) {
  throw error(error_code::out_of_memory, fmt::format("{}: {} takes {} bytes of scratch, but the context's limit is {}",
                                                     primitive, variant, bytes, limit));
}

core::scratch take_scratch(const context& ctx, std::string_view call, std::string_view variant, std::uint64_t bytes) {
  if (bytes > ctx.scratch_limit()) throw_out_of_scratch(call, variant, bytes, ctx.scratch_limit());
  core::scratch taken(ctx.state(), bytes);
  if (!taken.is_taken()) taken.throw_not_taken(call);
  return taken;
}

variant_estimate describe(std::string_view name, const planned& plan, std::uint64_t scratch_limit) {
  variant_estimate estimate;
  estimate.variant = name;
  estimate.applicable = plan.applicable();
  estimate.seconds = plan.seconds;
  estimate.scratch_bytes = plan.scratch_bytes;
  estimate.by_name_only = plan.by_name_only;
  estimate.terms.assign(plan.terms.begin(), plan.terms.begin() + plan.term_count);
  if (plan.applicable()) estimate.decided = plan.decided.told_values();
  if (!plan.applicable()) {
    estimate.reason = plan.rejection;
  } else if (plan.scratch_bytes > scratch_limit) {
    estimate.applicable = false;
    estimate.reason =
        fmt::format("takes {} bytes of scratch, but the context's limit is {}", plan.scratch_bytes, scratch_limit);
  } else if (plan.by_name_only) {
    estimate.reason = "runs by name only";
  }
  return estimate;
}

void explain_losers(explanation& why, bool forced) {
  const variant_estimate* taken = why.choice();
  if (taken == nullptr) return;
  for (variant_estimate& estimate : why.variants) {
    if (estimate.chosen) {
      estimate.reason.clear();
    } else if (estimate.reason.empty()) {
      estimate.reason =
          forced ? fmt::format("{} is forced", taken->variant)
                 : fmt::format("predicted {:.2f}x the time of {}", estimate.seconds / taken->seconds, taken->variant);
    }
  }
}

}  // namespace plan
}  // namespace sheaf
