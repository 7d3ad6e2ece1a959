#pragma once

#include <string_view>

#include <sheaf/plan.hpp>

namespace sheaf::plan {

/// The name by which options, reports and profiles call a kind of access pattern.
struct pattern_kind_name {
  std::string_view text;
  access_pattern::kind kind;
  bool takes_number;
};

inline constexpr pattern_kind_name pattern_kind_names[] = {
    {"unknown", access_pattern::kind::unknown, false},    {"sequential", access_pattern::kind::sequential, false},
    {"random", access_pattern::kind::random, false},      {"partitioned", access_pattern::kind::partitioned, true},
    {"clustered", access_pattern::kind::clustered, true}, {"strided", access_pattern::kind::strided, true},
    {"skewed", access_pattern::kind::skewed, false},      {"repeated", access_pattern::kind::repeated, true}};

}  // namespace sheaf::plan
