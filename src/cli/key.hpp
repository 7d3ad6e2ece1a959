#pragma once

#include <optional>

#include <CLI/CLI.hpp>
#include <sheaf/split.hpp>

namespace sheaf::cli {

/// Adds --key OFFSET:BITS and --from-left, which say what bits a record's category is. The first is returned.
CLI::Option* add_key(CLI::App& subcommand, std::optional<bit_field>& bits, bit_order& order);

}  // namespace sheaf::cli
