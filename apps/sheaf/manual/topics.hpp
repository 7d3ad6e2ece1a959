#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sheaf::cli {

/// The topic of an option by its name, under which help and manual pages have it.
std::string topic_of(std::string_view option);
/// The topic of a subcommand.
std::string topic_of_subcommand(std::string_view subcommand);

/// All topics, of options and of subcommands, in the order in which they are shown.
std::span<const std::string_view> topic_order();

}  // namespace sheaf::cli
