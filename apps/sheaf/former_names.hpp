#pragma once

#include <string>
#include <string_view>

namespace sheaf::cli {

/// What a name of an option that is no longer known, or that other programs have, is called here, as the end of a
/// message: "--pattern-hint is now --pattern". Empty for a name that never meant anything.
std::string former_name_text(std::string_view subcommand, std::string_view option);

}  // namespace sheaf::cli
