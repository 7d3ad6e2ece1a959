#pragma once

#include <cstdint>
#include <functional>

#include <xla/ffi/api/ffi.h>

#include <sheaf/context.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/value_rows.hpp>

// What handlers of XLA's foreign function interface share. They run on threads of XLA's, without the interpreter's
// lock, so nothing here may touch an object of Python.
namespace sheaf::python {

namespace ffi = xla::ffi;

/// Where XLA runs a call.
struct place_of_call {
  int device = -1;  ///< of CUDA; -1: the CPU
  CUstream_st* stream = nullptr;
};

/// What a handler's binding names to get a place_of_call.
struct on_cpu {};
struct on_cuda {};

/// Buffers of XLA as views of the library. XLA lays them out row by row.
using buffer_in = ffi::AnyBuffer;
using buffer_out = ffi::Result<ffi::AnyBuffer>;

/// Bytes of a row behind the first `leading` dimensions.
std::uint64_t bytes_of_rows(const buffer_in& buffer, std::size_t leading);
/// The numbers of a buffer. @throws error(bad_argument) for a type that the library does not combine
value_type number_type_of(const buffer_in& buffer);
/// Rows behind the first `leading` dimensions, as records or as numbers.
const_records records_of(const buffer_in& buffer, std::size_t leading = 1);
records records_of(buffer_out& buffer, std::size_t leading = 1);
const_value_rows rows_of(const buffer_in& buffer, std::size_t leading = 1);
value_rows rows_of(buffer_out& buffer);
const_values values_of(const buffer_in& buffer);
values values_of(buffer_out& buffer);
/// @throws error(bad_argument) unless the buffer has int32, int64, uint32 or uint64
index_span index_of(const buffer_in& buffer);
index_output index_of(buffer_out& buffer);
/// The numbers of a buffer as keys of a sort. @throws error(bad_argument) for complex numbers and floats of 8 bits
sort_key key_of(const buffer_in& buffer, bool descending);

using work_of_call = std::function<void(const context&)>;

/// Runs `work(ctx)` where XLA wants it, and returns what went wrong.
///
/// On a device it is queued in the context that all calls of XLA at this device and stream share. An earlier call's bad
/// index, which the device finds later, ends this call before its work begins. On the CPU, work on few `bytes` is done
/// by XLA's thread alone, and other work by all threads, one call after the other.
ffi::Error run(place_of_call place, std::uint64_t bytes, const work_of_call& work);

}  // namespace sheaf::python

namespace xla::ffi {

template <>
struct CtxDecoding<sheaf::python::on_cpu> {
  using Type = sheaf::python::place_of_call;

  static std::optional<Type> Decode(const XLA_FFI_Api*, XLA_FFI_ExecutionContext*, DiagnosticEngine&) { return Type{}; }
};

template <>
struct CtxDecoding<sheaf::python::on_cuda> {
  using Type = sheaf::python::place_of_call;

  static std::optional<Type> Decode(const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* ctx,
                                    DiagnosticEngine& diagnostic) {
    const auto stream = CtxDecoding<PlatformStream<CUstream_st*>>::Decode(api, ctx, diagnostic);
    const auto device = CtxDecoding<DeviceOrdinal>::Decode(api, ctx, diagnostic);
    if (!stream || !device) return std::nullopt;
    return Type{*device, *stream};
  }
};

}  // namespace xla::ffi
