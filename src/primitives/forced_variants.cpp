#include "primitives/backends.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sheaf/error.hpp>

#include "core/printable.hpp"

namespace sheaf::primitives {
namespace {

template <auto List>
std::vector<std::string_view> names_of() {
  const auto variants = List();
  std::vector<std::string_view> names;
  names.reserve(variants.size());
  for (const auto& v : variants) names.push_back(v.name);
  return names;
}

/// The name under which a call asks for its forced variant, and the names of the variants that it has.
struct forced_call {
  std::string_view name;
  std::vector<std::string_view> (*variants)();
};

// A multi_split goes by the variants that are forced for its split and its gather.
constexpr forced_call forced_calls[] = {
    {"gather", names_of<gather_variants>},
    {"scatter", names_of<scatter_variants>},
    {"prepare_gather", names_of<prepare_variants>},
    {"prepare_scatter", names_of<prepare_variants>},
    {"scatter_reduce", names_of<scatter_reduce_variants>},
    {"split", names_of<split_variants>},
    {"split_unstable", names_of<split_variants>},
    {"split_gather_index", names_of<split_variants>},
    {"split_scatter_index", names_of<split_variants>},
    {"sort_records", names_of<sort_variants>},
    {"sort_pairs", names_of<sort_variants>},
    {"sort_gather_index", names_of<sort_variants>},
    {"list_rank", names_of<list_variants>},
    {"list_scan", names_of<list_variants>},
    {"build_hash_index", names_of<hash_build_variants>},
    {"hash_search", names_of<hash_search_variants>},
    {"hash_count", names_of<hash_search_variants>},
    {"hash_contains", names_of<hash_search_variants>},
    {"hash_find", names_of<hash_search_variants>},
    {"spmv", names_of<spmv_variants>},
    {"prepare_spmv", names_of<prepare_spmv_variants>},
    {"conjugate_gradient", names_of<conjugate_gradient_variants>},
    {"edge_sum", names_of<edge_sum_variants>},
    {"prepare_edge_sum", names_of<prepare_edge_sum_variants>},
};

std::vector<std::string_view> names_of_calls() {
  std::vector<std::string_view> names;
  names.reserve(std::size(forced_calls));
  for (const forced_call& call : forced_calls) names.push_back(call.name);
  return names;
}

}  // namespace

void require_known_variant(std::string_view primitive, std::string_view variant) {
  const auto call = std::find_if(std::begin(forced_calls), std::end(forced_calls),
                                 [&](const forced_call& c) { return c.name == primitive; });
  if (call == std::end(forced_calls)) {
    throw error(error_code::bad_argument, fmt::format("SHEAF_VARIANT: '{}' is not a primitive; there are {}",
                                                      core::printable(primitive), fmt::join(names_of_calls(), ", ")));
  }
  const std::vector<std::string_view> names = call->variants();
  if (std::find(names.begin(), names.end(), variant) != names.end()) return;
  throw error(error_code::bad_argument, fmt::format("SHEAF_VARIANT: {}: no variant is named '{}'; there are {}",
                                                    primitive, core::printable(variant), fmt::join(names, ", ")));
}

}  // namespace sheaf::primitives
