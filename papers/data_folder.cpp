#include "papers/data_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "apps/sheaf/files/failure.hpp"

namespace sheaf::bench::papers {

std::string data_folder(const std::string& asked, bool takes_environment) {
  const auto is_folder = [](const std::string& path) {
    std::error_code failure;
    return std::filesystem::is_directory(path, failure);
  };
  if (!asked.empty()) {
    if (is_folder(asked)) return asked;
    io::throw_error(error_code::bad_input, "--data {}: no such folder", asked);
  }
  const char* const said = takes_environment ? std::getenv("SHEAF_DATA_DIR") : nullptr;
  return said != nullptr && is_folder(said) ? said : std::string();
}

}  // namespace sheaf::bench::papers
