#include "lab/description/entry.hpp"

#include "core/printable.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/views.hpp"

namespace sheaf::primitives {
namespace {

const given_option* find(std::span<const given_option> given, std::string_view option) {
  const auto found = std::ranges::find(given, option, &given_option::option);
  return found == given.end() || found->texts.empty() ? nullptr : &*found;
}

bool has_option(const entry& e, std::string_view option) {
  return std::ranges::any_of(e.fields, [&](const field_use& u) { return u.field->option == option; });
}

// "gather, scatter": the entries that take an option.
std::string takers_of(std::string_view option) {
  std::string names;
  for (const entry* const e : entries()) {
    if (has_option(*e, option)) names += fmt::format("{}{}", names.empty() ? "" : ", ", e->name);
  }
  return names;
}

void require_known(const entry& of, std::span<const given_option> given) {
  for (const given_option& g : given) {
    if (!g.texts.empty() && !has_option(of, g.option)) refuse("{} is for {}", g.option, takers_of(g.option));
  }
}

}  // namespace

bool entry::takes(const problem_field& field) const noexcept {
  return std::ranges::any_of(fields, [&](const field_use& use) { return use.field == &field; });
}

std::span<const entry* const> entries() {
  static const std::vector<const entry*> all = [] {
    std::vector<const entry*> joined;
    for (const family* const f : all_families()) joined.insert(joined.end(), f->entries.begin(), f->entries.end());
    return joined;
  }();
  return all;
}

const entry& entry_named(std::string_view name) {
  for (const entry* const e : entries()) {
    if (e->name == name) return *e;
  }
  std::string names;
  for (const entry* const e : entries()) names += fmt::format("{}{}", names.empty() ? "" : ", ", e->name);
  refuse("'{}' is not a primitive; there are {}", core::printable(name), names);
}

const entry& entry_of(const problem_spec& p) { return entry_named(p.primitive); }

access_pattern hint(const problem_spec& p) {
  const entry& e = entry_of(p);
  return e.hint != nullptr ? e.hint(p) : hint(p.pattern);
}

std::vector<std::string_view> families() {
  std::vector<std::string_view> all;
  for (const family* const f : all_families()) all.push_back(f->name);
  return all;
}

const variant_estimate* cheapest(std::span<const variant_estimate> estimates) noexcept {
  const variant_estimate* best = nullptr;
  for (const variant_estimate& e : estimates) {
    const bool may_be_chosen = e.applicable && e.reason.empty();
    if (may_be_chosen && (best == nullptr || e.seconds < best->seconds)) best = &e;
  }
  return best;
}

problem_spec problem_of_options(const entry& of, std::span<const given_option> given) {
  require_known(of, given);
  problem_spec problem;
  problem.primitive = of.name;
  for (const field_use& use : of.fields) {
    const problem_field& field = *use.field;
    const given_option* const found = find(given, field.option);
    if (found == nullptr) {
      if (use.is_required) refuse("{} is required", field.option);
      if (use.without != nullptr) use.without(problem);
      continue;
    }
    if (use.excludes != nullptr && find(given, use.excludes->option) != nullptr) {
      refuse("give {} or {}, not both", use.excludes->option, field.option);
    }
    if (found->texts.size() > 1 && !field.repeats) {
      refuse("{} times {}: {} has one", found->texts.size(), field.option, of.name);
    }
    field.read(problem, found->texts);
  }
  return problem;
}

}  // namespace sheaf::primitives
