#include "bench/primitives/split_keys.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr std::array<std::pair<key_shape, std::string_view>, 8> shapes{{
    {key_shape::uniform, "uniform"},
    {key_shape::equal, "equal"},
    {key_shape::two, "two"},
    {key_shape::sorted, "sorted"},
    {key_shape::zipf, "zipf"},
    {key_shape::reverse, "reverse"},
    {key_shape::few, "few"},
    {key_shape::nested, "nested"},
}};

}  // namespace

std::string_view name(key_shape shape) noexcept { return shapes[static_cast<std::size_t>(shape)].second; }

key_shape parse_key_shape(std::string_view text) {
  for (const auto& [shape, shape_name] : shapes) {
    if (text == shape_name) return shape;
  }
  std::string known;
  for (const auto& [shape, shape_name] : shapes) known += fmt::format("{}{}", known.empty() ? "" : ", ", shape_name);
  throw error(error_code::bad_argument, fmt::format("'{}' is not a distribution of keys; there are {}", text, known));
}

}  // namespace sheaf::bench
