#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace sheaf::tests {

/// An environment variable with another value until the end of the scope.
class scoped_environment {
 public:
  scoped_environment(const char* variable, const std::string& value) : variable_(variable) {
    if (const char* before = std::getenv(variable)) before_ = before;
    setenv(variable, value.c_str(), 1);
  }
  ~scoped_environment() {
    if (before_) {
      setenv(variable_, before_->c_str(), 1);
    } else {
      unsetenv(variable_);
    }
  }
  scoped_environment(const scoped_environment&) = delete;
  scoped_environment& operator=(const scoped_environment&) = delete;

 private:
  const char* variable_;
  std::optional<std::string> before_;
};

}  // namespace sheaf::tests
