#pragma once

#include <sheaf/context.hpp>

namespace sheaf::cuda {

/// For calls that wait for the device. @throws error(bad_argument) while the context's stream is captured
void refuse_capture(const context& ctx, const char* operation);

}  // namespace sheaf::cuda
