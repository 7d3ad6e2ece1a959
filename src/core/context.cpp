#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/backends.hpp"
#include "core/composition.hpp"
#include "core/printable.hpp"

namespace sheaf {

std::string_view name(backend_kind backend) noexcept { return core::backend_of(backend).name; }

context::context(std::shared_ptr<core::context_state> state) : state_(std::move(state)) {}

context context::cpu(int threads) { return context(core::make_cpu_state(threads)); }

context context::cuda(int device) {
  const auto make = core::composed().make_cuda_state;
  return make == nullptr ? on(backend_kind::cuda) : context(make(device, nullptr, true));
}
context context::cuda(int device, CUstream_st* stream) {
  const auto make = core::composed().make_cuda_state;
  return make == nullptr ? on(backend_kind::cuda) : context(make(device, stream, false));
}

context context::opengl(int device) {
  const auto make = core::composed().make_opengl_state;
  return make == nullptr ? on(backend_kind::opengl) : context(make(device));
}

context context::on(backend_kind backend, int threads) {
  const core::backend& b = core::backend_of(backend);
  if (!b.is_built()) {
    throw error(error_code::backend_unavailable, fmt::format("this build of sheaf has no backend '{}'", b.name));
  }
  return context(b.make_state(threads));
}

context context::best() { return on(core::best_backend()); }

void context::throw_moved_from() {
  throw error(error_code::bad_argument, "context: it was moved from; another context holds its contents now");
}

backend_kind context::backend() const { return state().backend; }
int context::threads() const { return state().threads; }
int context::device() const { return state().device(); }
CUstream_st* context::stream() const { return state().stream(); }
const machine& context::profile() const { return state().profile; }
std::string_view context::ignored_profile() const { return state().ignored_profile(); }

void context::use(const machine& profile) {
  if (profile.backend != backend()) {
    throw error(error_code::bad_argument,
                fmt::format("context::use: profile '{}' is for {}, but the context works on {}", profile.name,
                            name(profile.backend), name(backend())));
  }
  state().use(profile);
}

void context::use(const memory_resource& memory) {
  if (memory.allocate == nullptr || memory.deallocate == nullptr) {
    throw error(error_code::bad_argument, "context::use: a memory resource needs both of its functions");
  }
  state().memory = memory;
}

void context::limit_scratch(std::uint64_t bytes) { state().limit_scratch(bytes); }
std::uint64_t context::scratch_limit() const { return state().scratch_limit(); }

void context::learn(bool wanted) { state().learn(wanted); }
bool context::learns() const { return state().learns(); }

void context::wait() const {
  state().require_this_process("context::wait");
  state().wait();
}
work_status context::status() const { return state().status(); }

namespace core {
namespace {

std::vector<std::pair<std::string, std::string>> parse_forced(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> forced;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(entry.size() + (entry.size() < text.size() ? 1 : 0));
    if (entry.empty()) continue;
    const auto colon = entry.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == entry.size()) {
      throw error(
          error_code::bad_argument,
          fmt::format("SHEAF_VARIANT: '{}' is not PRIMITIVE:VARIANT, as in gather:cpu.direct", printable(entry)));
    }
    for (const auto& [primitive, variant] : forced) {
      if (primitive != entry.substr(0, colon)) continue;
      throw error(error_code::bad_argument, fmt::format("SHEAF_VARIANT: {} appears twice", printable(primitive)));
    }
    forced.emplace_back(entry.substr(0, colon), entry.substr(colon + 1));
  }
  return forced;
}

bool learns_by_environment() {
  const char* const text = std::getenv("SHEAF_LEARN");
  if (text == nullptr || *text == '\0') return false;
  const std::string_view wanted = text;
  if (wanted == "0" || wanted == "1") return wanted == "1";
  throw error(error_code::bad_argument, fmt::format("SHEAF_LEARN: '{}' is not 0 or 1", printable(wanted)));
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

context_state::context_state(backend_kind kind, std::string device, memory_resource resource)
    : backend(kind), device_name(std::move(device)), memory(resource), clock(steady_seconds) {
  chosen_profile chosen = composed().profile_for(kind, device_name);
  profile = std::move(chosen.profile);
  ignored_profile_ = std::move(chosen.ignored);
  if (const char* text = std::getenv("SHEAF_VARIANT")) forced_ = parse_forced(text);
  for (const auto& [primitive, variant] : forced_) composed().require_known_variant(primitive, variant);
  learns_ = learns_by_environment();
}

void context_state::use(const machine& new_profile) {
  profile = new_profile;
  plans_.clear();
  learned_ = nullptr;
}

void context_state::limit_scratch(std::uint64_t bytes) {
  scratch_limit_ = bytes;
  plans_.clear();
  learned_ = nullptr;
}

void context_state::learn(bool wanted) {
  learns_ = wanted;
  learned_ = nullptr;
}

void context_state::throw_if_lost(std::string_view call) const {
  const std::string_view lost = lost_in_a_fork();
  if (lost.empty()) return;
  throw error(error_code::backend_unavailable,
              fmt::format("{}: this process was forked after the context was made, and {}", call, lost));
}

std::shared_ptr<std::byte> context_state::staging_memory(std::uint64_t bytes) {
  return {new std::byte[bytes], std::default_delete<std::byte[]>()};
}

std::unique_ptr<plan_memory>& context_state::remembered_plan(const void* key) {
  for (auto& [known, plan] : plans_) {
    if (known == key) return plan;
  }
  return plans_.emplace_back(key, nullptr).second;
}

std::string_view context_state::forced_variant(std::string_view primitive) const noexcept {
  for (const auto& [forced_primitive, variant] : forced_) {
    if (forced_primitive == primitive) return variant;
  }
  return {};
}

}  // namespace core
}  // namespace sheaf
