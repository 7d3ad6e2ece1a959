#pragma once

#include <string_view>

#include <sheaf/context.hpp>

namespace sheaf::cuda {

/// For calls that wait for the device, and say what it is that does. @throws error(bad_argument) while the context's
/// stream is captured
void refuse_capture(const context& ctx, std::string_view what);

}  // namespace sheaf::cuda
