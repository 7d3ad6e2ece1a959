#pragma once

#include <optional>
#include <span>

#include <sheaf/context.hpp>

namespace sheaf {

namespace plan {
class microbenchmarks;
}

namespace core {

/// What a backend's processors are like, where profiles and models depend on it.
enum class processor_kind : std::uint8_t {
  host_threads,  ///< threads of this process, whose work in cache a profile measures too
  gpu,           ///< multiprocessors, whose threads access memory by warps
  pipeline,      ///< the stages of a graphics pipeline, which may be a program on the host's threads
};

/// What the layers beside the backends know of one. A backend is an enumerator of backend_kind, a factory of contexts,
/// and a row of this table.
struct backend {
  backend_kind kind;
  std::string_view name;  ///< in options, results, profiles, and before the dot of its variants' names
  processor_kind processor;
  bool uses_host_memory;    ///< its calls work on the host's memory: a file's records need no copy
  bool is_taken_by_itself;  ///< context::best() may take it; others run by name only
  /// Devices of this machine; null where this build does not have the backend.
  int (*device_count)() noexcept;
  /// A context on its first device, or on that many threads of the CPU. Null where this build does not have the
  /// backend.
  std::shared_ptr<context_state> (*make_state)(int threads);
  std::unique_ptr<plan::microbenchmarks> (*make_microbenchmarks)(const context& ctx);

  bool is_built() const noexcept { return make_state != nullptr; }
  bool has_device() const noexcept { return is_built() && device_count() > 0; }
};

/// All backends, built or not. context::best() takes the last that is taken by itself and has a device: best_backend().
std::span<const backend> backends() noexcept;
backend_kind best_backend() noexcept;
const backend& backend_of(backend_kind kind) noexcept;
std::optional<backend_kind> backend_named(std::string_view name) noexcept;

/// Whether OpenGL names a renderer as software, which takes the place of a device whose driver is missing.
bool is_named_as_software(std::string_view renderer) noexcept;

}  // namespace core
}  // namespace sheaf
