#include "cuda/hash/slot_index.hpp"

#include "primitives/hash/function.hpp"

namespace sheaf::cuda {

namespace {

/// Where most keys lie in the bucket that they want, and the table is not much larger than it has to be. A table that
/// caches hold anyway may be emptier, so that hardly a key lies elsewhere.
double usual_load(slot_form form, std::uint64_t distinct) noexcept {
  constexpr double least = 0.1;
  constexpr double cached_bytes = 16 << 20;
  const double usual = form == slot_form::narrow ? 0.6 : 0.5;
  return std::clamp(static_cast<double>(distinct * slot_bytes(form)) / cached_bytes, least, usual);
}

/// Numbers of buckets have as many bytes as record numbers; runs of full buckets behind the last one need some, too.
constexpr std::uint64_t most_buckets(slot_form form) noexcept {
  return form == slot_form::wide_rows ? std::uint64_t{1} << 40 : std::uint64_t{1} << 31;
}

}  // namespace

std::uint64_t buckets_for(std::uint64_t distinct, std::uint64_t key_bytes, slot_form form, double load) noexcept {
  const double slots = static_cast<double>(distinct) / (load > 0 ? load : usual_load(form, distinct));
  const auto buckets = static_cast<std::uint64_t>(std::ceil(slots / static_cast<double>(slots_per_bucket(form))));
  return std::clamp<std::uint64_t>(buckets, 1, std::min(most_buckets(form), primitives::most_buckets(key_bytes)));
}

std::uint64_t expected_slot_bytes(const primitives::hash_facts& facts) noexcept {
  const slot_form form = form_of(facts);
  return buckets_for(facts.distinct, facts.key_bytes, form, facts.load) * sector_bytes;
}

const char* index_rejection(const primitives::hash_search_problem& p) noexcept {
  if (p.index.built_by.empty() || p.index.built_by == "cuda.sorted") return nullptr;
  return "the index was built by another variant";
}

}  // namespace sheaf::cuda
