#include "lab/inputs/input_pattern.hpp"

#include <algorithm>

#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

struct kind_row {
  std::string_view name;
  pattern_kind kind;
  bool distinct;
  std::uint64_t example;  ///< the parameter that all_patterns() uses; 0: the kind takes none
};

constexpr std::array<kind_row, 10> kinds{{
    {"identity", pattern_kind::identity, true, 0},
    {"reverse", pattern_kind::reverse, true, 0},
    {"permutation", pattern_kind::permutation, true, 0},
    {"same", pattern_kind::same, false, 0},
    {"uniform", pattern_kind::uniform, false, 0},
    {"zipf", pattern_kind::zipf, false, 0},
    {"strided", pattern_kind::strided, true, 16},
    {"partitioned", pattern_kind::partitioned, true, 256},
    {"drawn", pattern_kind::drawn, true, 256},
    {"clustered", pattern_kind::clustered, true, 4096},
}};

const kind_row& row(pattern_kind kind) { return *std::ranges::find(kinds, kind, &kind_row::kind); }

constexpr enum_name<key_distribution> distributions[] = {
    {"uniform", key_distribution::uniform},
    {"equal", key_distribution::equal},
    {"two", key_distribution::two},
    {"sorted", key_distribution::sorted},
    {"zipf", key_distribution::zipf},
    {"reverse", key_distribution::reverse},
    {"few", key_distribution::few},
    {"nested", key_distribution::nested},
    {"narrowed", key_distribution::narrowed},
    {"distinct100", key_distribution::distinct100},
    {"distinct10007", key_distribution::distinct10007},
    {"normal", key_distribution::normal},
    {"lognormal", key_distribution::lognormal},
    {"exponential", key_distribution::exponential},
    {"pareto", key_distribution::pareto},
    {"timestamps", key_distribution::timestamps},
    {"unit", key_distribution::unit},
    {"sphere", key_distribution::sphere},
    {"cities", key_distribution::cities},
    {"geohash", key_distribution::geohash},
    {"quadtree", key_distribution::quadtree},
    {"octree", key_distribution::octree},
    {"urls", key_distribution::urls},
    {"versions", key_distribution::versions},
    {"counters", key_distribution::counters},
};

constexpr enum_name<nonzero_pattern> nonzero_patterns[] = {{"banded", nonzero_pattern::banded},
                                                           {"grid", nonzero_pattern::grid},
                                                           {"uniform", nonzero_pattern::uniform},
                                                           {"zipf", nonzero_pattern::zipf}};

}  // namespace

input_pattern parse_pattern(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  for (const kind_row& row : kinds) {
    if (kind != row.name) continue;
    const input_pattern p{row.kind, row.example, 1};
    if (kind.size() == text.size()) return p;
    const std::optional<std::uint64_t> parameter = parse_number(text.substr(kind.size() + 1));
    if (row.example == 0 || !parameter || *parameter == 0) break;
    return {row.kind, *parameter, 1};
  }
  std::string known;
  for (const kind_row& r : kinds)
    known += fmt::format("{}{}{}", known.empty() ? "" : ", ", r.name, r.example ? ":N" : "");
  refuse("'{}' is not an access pattern; there are {}", core::printable(text), known);
}

std::string name(const input_pattern& p) {
  const kind_row& r = row(p.kind);
  return r.example == 0 ? std::string(r.name) : fmt::format("{}:{}", r.name, p.parameter);
}

bool is_distinct(const input_pattern& p) noexcept { return row(p.kind).distinct; }

access_pattern hint(const input_pattern& pattern) noexcept {
  switch (pattern.kind) {
    case pattern_kind::identity:
    case pattern_kind::reverse: return access_pattern::sequential();
    case pattern_kind::same: return access_pattern::repeated(1);
    case pattern_kind::permutation:
    case pattern_kind::uniform: return access_pattern::random();
    case pattern_kind::zipf: return access_pattern::skewed();
    case pattern_kind::strided: return access_pattern::strided(pattern.parameter);
    case pattern_kind::partitioned:
    case pattern_kind::drawn: return access_pattern::partitioned(pattern.parameter);
    case pattern_kind::clustered: return access_pattern::clustered(pattern.parameter);
  }
  return access_pattern::unknown();
}

std::vector<input_pattern> all_patterns() {
  std::vector<input_pattern> all;
  all.reserve(std::size(kinds));
  for (const kind_row& r : kinds) all.push_back({r.kind, r.example, 1});
  return all;
}

std::string_view name(nonzero_pattern pattern) noexcept { return text_of(pattern, nonzero_patterns); }

nonzero_pattern parse_nonzero_pattern(std::string_view text) {
  return value_of(text, nonzero_patterns, "a pattern of nonzeros");
}

std::string_view name(key_distribution distribution) noexcept { return text_of(distribution, distributions); }

std::vector<key_distribution> all_key_distributions() {
  std::vector<key_distribution> all;
  for (const enum_name<key_distribution>& n : distributions) all.push_back(n.value);
  return all;
}

key_distribution parse_key_distribution(std::string_view text) {
  return value_of(text, distributions, "a distribution of keys");
}

}  // namespace sheaf::primitives
