#pragma once

#include "core/context_state.hpp"

namespace sheaf::plan {

/// The profile that a new context of this device takes: the one that SHEAF_PROFILE names if it is of this backend, else
/// the one that was stored for the device, else the shipped one nearest to it. @throws error(bad_input) if the file
/// that SHEAF_PROFILE names is not a profile.
core::chosen_profile profile_for(backend_kind backend, const std::string& device_name);

}  // namespace sheaf::plan
