#include "bench/primitives/split_keys.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr std::array<std::pair<key_distribution, std::string_view>, 8> distributions{{
    {key_distribution::uniform, "uniform"},
    {key_distribution::equal, "equal"},
    {key_distribution::two, "two"},
    {key_distribution::sorted, "sorted"},
    {key_distribution::zipf, "zipf"},
    {key_distribution::reverse, "reverse"},
    {key_distribution::few, "few"},
    {key_distribution::nested, "nested"},
}};

}  // namespace

std::string_view name(key_distribution distribution) noexcept {
  return distributions[static_cast<std::size_t>(distribution)].second;
}

key_distribution parse_key_distribution(std::string_view text) {
  for (const auto& [distribution, distribution_name] : distributions) {
    if (text == distribution_name) return distribution;
  }
  std::string known;
  for (const auto& [distribution, distribution_name] : distributions)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", distribution_name);
  throw error(error_code::bad_argument, fmt::format("'{}' is not a distribution of keys; there are {}", text, known));
}

}  // namespace sheaf::bench
