#include "cuda/hash/slot_index.hpp"

#include <algorithm>
#include <cmath>

#include "primitives/hash/function.hpp"

namespace sheaf::cuda {

namespace {

constexpr double most_load = 0.9;

}  // namespace

std::uint64_t buckets_for(std::uint64_t distinct, std::uint64_t key_bytes, slot_form form, double load) noexcept {
  const double slots = static_cast<double>(distinct) / std::min(load, most_load);
  const auto buckets = static_cast<std::uint64_t>(std::ceil(slots / static_cast<double>(slots_per_bucket(form))));
  return std::clamp<std::uint64_t>(buckets, 1, primitives::most_buckets(key_bytes));
}

std::uint64_t expected_slot_bytes(const primitives::hash_facts& facts) noexcept {
  const slot_form form = form_of(facts.key_bytes, facts.records);
  return buckets_for(facts.distinct, facts.key_bytes, form, facts.load) * sector_bytes;
}

const char* index_rejection(const primitives::hash_search_problem& p) noexcept {
  if (p.index.built_by.empty() || p.index.built_by == "cuda.sorted") return nullptr;
  return "the index was built by another variant";
}

}  // namespace sheaf::cuda
