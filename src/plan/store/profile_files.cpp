#include "plan/store/profile_files.hpp"

#include <sheaf/machine.hpp>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf {
namespace {

// A folder that the environment names; by the XDG rules a relative one counts as none.
std::string folder_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text == '/' ? text : "";
}

std::string cache_folder() {
  std::string folder = folder_from("XDG_CACHE_HOME");
  if (!folder.empty()) return folder;
  folder = folder_from("HOME");
  return folder.empty() ? folder : folder + "/.cache";
}

// Letters and digits as they are, whatever else lies between them as one hyphen.
std::string file_name_of(const std::string& device_name) {
  std::string name;
  bool gap = false;
  for (const char c : device_name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain && gap && !name.empty()) name += '-';
    if (plain) name += c;
    gap = !plain;
  }
  constexpr std::size_t most_bytes = 100;
  return name.empty() ? "device" : name.substr(0, most_bytes);
}

std::string path_in(const std::string& folder, backend_kind backend, const std::string& device_name) {
  return fmt::format("{}/sheaf/{}-{}.json", folder, name(backend), file_name_of(device_name));
}

std::string of_another_device(const std::string& path, const machine& found, backend_kind backend,
                              const std::string& device_name) {
  return fmt::format("{}: is for {} '{}', but this is {} '{}'", path, name(found.backend), found.name, name(backend),
                     device_name);
}

}  // namespace

std::string default_machine_path(backend_kind backend, const std::string& device_name) {
  const std::string folder = cache_folder();
  if (folder.empty()) {
    throw error(error_code::bad_argument,
                "there is no place for machine profiles: XDG_CACHE_HOME and HOME name no folder; save with --save "
                "FILE, and use the file with SHEAF_PROFILE=FILE");
  }
  return path_in(folder, backend, device_name);
}

std::string store_machine(const machine& profile) {
  std::string path = default_machine_path(profile.backend, profile.name);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw error(error_code::io_failure, fmt::format("{}: cannot be created: {}", folder, failed.message()));
  }
  save_machine(profile, path);
  return path;
}

stored_machine load_stored_machine(backend_kind backend, const std::string& device_name) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  const std::string path = path_in(folder, backend, device_name);
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return {};
  try {
    machine found = load_machine(path);
    if (found.backend == backend && found.name == device_name) return {std::move(found), {}};
    return {std::nullopt, of_another_device(path, found, backend, device_name)};
  } catch (const error& e) {
    return {std::nullopt, e.what()};
  }
}

namespace plan {

core::chosen_profile profile_for(backend_kind backend, const std::string& device_name) {
  std::string ignored;
  if (const char* path = std::getenv("SHEAF_PROFILE"); path != nullptr && *path != '\0') {
    machine loaded = load_machine(path);
    if (loaded.backend == backend) return {std::move(loaded), {}};
    ignored = fmt::format("SHEAF_PROFILE: {}", of_another_device(path, loaded, backend, device_name));
  }
  stored_machine stored = load_stored_machine(backend, device_name);
  if (stored.profile) return {*std::move(stored.profile), std::move(ignored)};
  if (!ignored.empty() && !stored.ignored.empty()) ignored += "; ";
  return {nearest_machine(backend, device_name), ignored + stored.ignored};
}

}  // namespace plan

}  // namespace sheaf
