#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

struct ncclComm;

// What is used of NCCL, which is loaded at run time: nothing here needs its header or its library to be built. Names
// and numbers are those of nccl.h, the same since NCCL 2.14.
namespace sheaf::distributed {

using nccl_communicator = ncclComm*;

enum nccl_result : int { nccl_success = 0, nccl_invalid_usage = 5, nccl_in_progress = 7 };

struct nccl_unique_id {
  char bytes[128];
};

/// ncclConfig_t up to the members that are set; NCCL takes the others' defaults where `size` says that they are absent.
struct nccl_config {
  static constexpr int not_set = -2147483647 - 1;

  std::size_t size = sizeof(nccl_config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = not_set;
};

/// NCCL's functions; pointers are null where it has not got them.
struct nccl_functions {
  int (*get_unique_id)(nccl_unique_id*) = nullptr;
  int (*init_rank_config)(nccl_communicator*, int ranks, nccl_unique_id, int rank, nccl_config*) = nullptr;
  int (*finalize)(nccl_communicator) = nullptr;
  int (*destroy)(nccl_communicator) = nullptr;
  int (*revoke)(nccl_communicator, int flags) = nullptr;  ///< from NCCL 2.28 on
  int (*abort)(nccl_communicator) = nullptr;
  int (*get_async_error)(nccl_communicator, int*) = nullptr;
  int (*count)(nccl_communicator, int*) = nullptr;
  int (*user_rank)(nccl_communicator, int*) = nullptr;
  int (*device)(nccl_communicator, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, nccl_communicator, cudaStream_t) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, nccl_communicator, cudaStream_t) = nullptr;
  const char* (*error_string)(int) = nullptr;
};

constexpr int nccl_bytes = 1;  ///< ncclUint8

/// The functions of libnccl.so.2, or of the library that SHEAF_NCCL names; null where it is not found or too old. The
/// library stays loaded.
const nccl_functions* find_nccl() noexcept;
/// @throws error(backend_unavailable) that says what was looked for
const nccl_functions& require_nccl();

}  // namespace sheaf::distributed
