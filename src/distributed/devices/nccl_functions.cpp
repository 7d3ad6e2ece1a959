#include "distributed/devices/nccl_functions.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sheaf/distributed/gpus.hpp>
#include <sheaf/error.hpp>

namespace sheaf::distributed {
namespace {

const char* library_name() noexcept {
  const char* const named = std::getenv("SHEAF_NCCL");
  return named != nullptr && *named != 0 ? named : "libnccl.so.2";
}

struct loaded_nccl {
  loaded_nccl() noexcept {
    // Never unloaded: NCCL has threads of its own.
    void* const library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = dlerror();
      std::snprintf(why_not, sizeof why_not, "%s", reason != nullptr ? reason : "it cannot be loaded");
      return;
    }
    bool has_all = true;
    const auto find = [&](auto& function, const char* symbol, bool is_needed = true) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function != nullptr || !is_needed) return;
      has_all = false;
      std::snprintf(why_not, sizeof why_not, "%s has no %s, as NCCL has from 2.14 on", library_name(), symbol);
    };
    find(functions.get_unique_id, "ncclGetUniqueId");
    find(functions.init_rank_config, "ncclCommInitRankConfig");
    find(functions.finalize, "ncclCommFinalize");
    find(functions.destroy, "ncclCommDestroy");
    find(functions.revoke, "ncclCommRevoke", false);
    find(functions.abort, "ncclCommAbort");
    find(functions.get_async_error, "ncclCommGetAsyncError");
    find(functions.count, "ncclCommCount");
    find(functions.user_rank, "ncclCommUserRank");
    find(functions.device, "ncclCommCuDevice");
    find(functions.group_start, "ncclGroupStart");
    find(functions.group_end, "ncclGroupEnd");
    find(functions.send, "ncclSend");
    find(functions.receive, "ncclRecv");
    find(functions.error_string, "ncclGetErrorString");
    is_there = has_all;
  }

  nccl_functions functions;
  bool is_there = false;
  char why_not[512] = {};
};

const loaded_nccl& nccl_of_process() noexcept {
  static const loaded_nccl nccl;
  return nccl;
}

}  // namespace

const nccl_functions* find_nccl() noexcept {
  return nccl_of_process().is_there ? &nccl_of_process().functions : nullptr;
}

const nccl_functions& require_nccl() {
  const nccl_functions* const functions = find_nccl();
  if (functions != nullptr) return *functions;
  throw error(error_code::backend_unavailable,
              fmt::format("NCCL: {}; SHEAF_NCCL names another library", nccl_of_process().why_not));
}

bool has_nccl() noexcept { return find_nccl() != nullptr; }

}  // namespace sheaf::distributed
