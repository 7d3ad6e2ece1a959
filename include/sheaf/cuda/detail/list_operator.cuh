#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <sheaf/cuda/detail/list_by_rank.cuh>
#include <sheaf/cuda/detail/list_results.cuh>

// Queues the kernels of one type of values and one operator.
namespace sheaf::list_kernels {

/// Blocks that fill a device with a kernel.
template <class... Parameters>
cudaError_t resident_blocks(void (*kernel)(Parameters...), int device, std::uint32_t& resident) {
  int multiprocessors = 0;
  int blocks = 0;
  cudaError_t result = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (result == cudaSuccess) {
    result = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, list_threads, 0);
  }
  resident = static_cast<std::uint32_t>(std::max(1, blocks * multiprocessors));
  return result;
}

/// Queues a kernel of so many blocks. With cooperative = 1 they are all resident, and may wait for each other.
template <class... Parameters, class... Arguments>
cudaError_t launch(cudaStream_t stream, std::uint32_t blocks, int cooperative, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = cooperative;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(blocks);
  configuration.blockDim = dim3(list_threads);
  configuration.stream = stream;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  return cudaLaunchKernelEx(&configuration, kernel, arguments...);
}

/// Queues a kernel of a thread for each item, or of as many as are resident.
template <auto Kernel, class... Arguments>
cudaError_t launch_over(cudaStream_t stream, std::uint64_t items, int cooperative, const Arguments&... arguments) {
  // By device; 0 until it has been asked, which takes as long as a launch.
  static std::atomic<std::uint32_t> known[16];
  int device = 0;
  if (const cudaError_t result = cudaGetDevice(&device); result != cudaSuccess) return result;
  std::atomic<std::uint32_t>* const kept = device < 16 ? known + device : nullptr;
  std::uint32_t resident = kept != nullptr ? kept->load(std::memory_order_relaxed) : 0;
  if (resident == 0) {
    if (const cudaError_t result = resident_blocks(Kernel, device, resident); result != cudaSuccess) return result;
    if (kept != nullptr) kept->store(resident, std::memory_order_relaxed);
  }
  const auto blocks =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((items + list_threads - 1) / list_threads, 1, resident));
  return launch(stream, blocks, cooperative, Kernel, arguments...);
}

/// Calls body with the reader of a level 0 whose nodes have values of type T.
template <class T, class Body>
cudaError_t with_reader(const list_input& input, Body body) {
  if constexpr (has_values<T>) {
    return body(node_reader<T>{static_cast<const packed_node<T>*>(input.nodes), input.is_signed});
  } else {
    if (input.successor_bytes == 4) {
      return body(successor_reader<std::uint32_t>{static_cast<const std::uint32_t*>(input.nodes), input.is_signed});
    }
    return body(successor_reader<std::uint64_t>{static_cast<const std::uint64_t*>(input.nodes), input.is_signed});
  }
}

/// Calls body with a null pointer to the type of results: values, or ranks of 4 or 8 bytes.
template <class T, class Body>
cudaError_t with_result(std::uint32_t out_bytes, Body body) {
  if constexpr (has_values<T>) {
    return body(static_cast<T*>(nullptr));
  } else {
    if (out_bytes == 4) return body(static_cast<std::uint32_t*>(nullptr));
    return body(static_cast<std::uint64_t*>(nullptr));
  }
}

template <class T, class Op>
struct list_launches {
  static const Op& function(const void* op) { return *static_cast<const Op*>(op); }
  template <class Arguments>
  static T initial_of(const Arguments& a) {
    T initial{};
    if constexpr (has_values<T>) {
      if (a.is_exclusive) std::memcpy(&initial, a.initial, sizeof initial);
    }
    return initial;
  }

  static cudaError_t pack(cudaStream_t stream, const pack_arguments& args) {
    if constexpr (has_values<T>) {
      const auto pack_as = [&](auto successor) {
        using Successor = decltype(successor);
        return launch_over<pack_nodes<T, Successor>>(
            stream, args.count, 0, static_cast<const Successor*>(args.successors), args.is_signed,
            static_cast<const T*>(args.values), args.count, static_cast<packed_node<T>*>(args.nodes), args.status);
      };
      return args.successor_bytes == 4 ? pack_as(std::uint32_t{}) : pack_as(std::uint64_t{});
    } else {
      return cudaErrorInvalidValue;
    }
  }

  static cudaError_t log(cudaStream_t stream, std::uint32_t blocks, const void* op, const walk_arguments& a,
                         const list_input& input) {
    return with_reader<T>(input, [&](auto reader) {
      return launch(stream, a.summing_blocks + blocks, 0, walk_and_log<T, Op, decltype(reader)>, a, reader,
                    function(op));
    });
  }

  static cudaError_t walk(cudaStream_t stream, std::uint32_t blocks, const void* op, const walk_arguments& a,
                          const list_input& input) {
    return with_reader<T>(input, [&](auto reader) {
      return launch(stream, a.summing_blocks + blocks, 0, walk_level_0<T, Op, decltype(reader)>, a, reader,
                    function(op));
    });
  }

  static cudaError_t scan(cudaStream_t stream, const void* op, const levels_arguments& a) {
    return launch_over<list_kernels::scan_sublists<T, Op>>(stream, a.level[0].cut.count, 1, a, function(op));
  }

  static cudaError_t finish_in_log(cudaStream_t stream, const void* op, const finish_arguments& args,
                                   std::uint32_t out_bytes) {
    return with_result<T>(out_bytes, [&](auto* result) {
      using Out = std::remove_pointer_t<decltype(result)>;
      return launch_over<list_kernels::finish_log<T, Op, Out>>(stream, std::uint64_t{args.chunks} * log_chunk, 0, args,
                                                               initial_of(args), function(op));
    });
  }

  static cudaError_t finish_in_place(cudaStream_t stream, const void* op, const finish_arguments& args,
                                     const list_input& input, std::uint32_t out_bytes) {
    return with_reader<T>(input, [&](auto reader) {
      return with_result<T>(out_bytes, [&](auto* result) {
        using Out = std::remove_pointer_t<decltype(result)>;
        return launch_over<list_kernels::finish_places<T, Op, Out, decltype(reader)>>(
            stream, args.cut.count, 0, args, reader, initial_of(args), function(op));
      });
    });
  }

  static cudaError_t by_rank(cudaStream_t stream, const void* op, const by_rank_arguments& a, const list_input& input) {
    if constexpr (has_values<T>) {
      return with_reader<T>(input, [&](auto reader) {
        return launch_over<list_kernels::scan_by_rank<T, Op, decltype(reader)>>(stream, a.count, 1, a, reader,
                                                                                initial_of(a), function(op));
      });
    } else {
      return cudaErrorInvalidValue;
    }
  }
};

/// The operator as the library takes it. It refers to `op`.
template <class T, class Op>
detail::device_scan_operator device_operator(const Op& op) {
  using launches = list_launches<T, Op>;
  detail::device_scan_operator erased{};
  erased.op = &op;
  erased.value_bytes = has_values<T> ? sizeof(T) : 0;
  erased.packed_bytes = sizeof(packed_node<T>);
  erased.sublist_bytes = sizeof(sublist_node<T>);
  erased.prefix_bytes = sizeof(list_prefix<T>);
  if constexpr (has_values<T>) erased.segment_bytes = sizeof(segment_sum<T>);
  erased.pack = launches::pack;
  erased.walk_and_log = launches::log;
  erased.walk_level_0 = launches::walk;
  erased.scan_sublists = launches::scan;
  erased.finish_log = launches::finish_in_log;
  erased.finish_places = launches::finish_in_place;
  erased.scan_by_rank = launches::by_rank;
  return erased;
}

}  // namespace sheaf::list_kernels
