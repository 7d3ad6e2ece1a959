#pragma once

#include <string_view>

#include <gtest/gtest.h>
#include <sheaf/error.hpp>

namespace sheaf::tests {

/// Expects the call to throw sheaf::error with this code and exactly this message.
template <class Call>
void expect_error(error_code code, std::string_view message, Call&& call) {
  try {
    call();
  } catch (const error& e) {
    EXPECT_EQ(name(e.code()), name(code)) << e.what();
    EXPECT_EQ(std::string_view(e.what()), message);
    return;
  }
  ADD_FAILURE() << "nothing was thrown; expected " << name(code) << ": " << message;
}

/// The message of the error that the call throws, for messages of which a part depends on the machine.
template <class Call>
std::string message_of(error_code code, Call&& call) {
  try {
    call();
  } catch (const error& e) {
    EXPECT_EQ(name(e.code()), name(code)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown; expected " << name(code);
  return {};
}

}  // namespace sheaf::tests
