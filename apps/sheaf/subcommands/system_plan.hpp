#pragma once

#include <sheaf/csr.hpp>

#include "apps/sheaf/subcommands/planned_call.hpp"

// The plans of solve and npb-cg, which are of one iteration: how many there will be, nobody knows.
namespace sheaf::cli {

call_words words_of_system(const csr_view& a, bool has_jacobi, const access_pattern& pattern);
planned_work work_of_system(std::string subcommand, planned_call call, std::vector<std::string> read);

}  // namespace sheaf::cli
