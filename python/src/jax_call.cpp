#include "jax_call.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <sheaf/error.hpp>

#include "device.hpp"
#include "errors.hpp"
#include "session.hpp"

namespace sheaf::python {
namespace {

std::uint64_t product(const buffer_in& buffer, std::size_t first, std::size_t last) {
  const auto sizes = buffer.dimensions();
  std::uint64_t all = 1;
  for (std::size_t d = first; d < last; ++d) all *= static_cast<std::uint64_t>(sizes[d]);
  return all;
}

std::size_t dimensions_of(const buffer_in& buffer, std::size_t leading) {
  const std::size_t all = buffer.dimensions().size();
  if (all < leading) refuse("an array has {} dimensions, fewer than {}", all, leading);
  return all;
}

index_type index_type_of(const buffer_in& buffer) {
  switch (buffer.element_type()) {
    case ffi::S32: return index_type::i32;
    case ffi::S64: return index_type::i64;
    case ffi::U32: return index_type::u32;
    case ffi::U64: return index_type::u64;
    default: refuse("an index is not of int32, int64, uint32 or uint64");
  }
}

// Does work on the CPU, and throws the bad index that it found.
void finish(const context& ctx, const work_of_call& work) {
  work(ctx);
  if (has_bad_index(ctx)) ctx.wait();
}

// The thread that does larger work on the CPU with all others, one call at a time. OpenMP keeps a team of threads for
// each thread that asked for one, and XLA calls from as many threads as there are processors. It is never ended.
class thread_of_large_work {
 public:
  static thread_of_large_work& only() {
    static auto* const made = new thread_of_large_work;
    return *made;
  }

  void run(const work_of_call& work) {
    const std::lock_guard turn(callers_);
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  thread_of_large_work() { std::thread(&thread_of_large_work::serve, this).detach(); }

  void serve() {
    std::optional<context> ctx;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      try {
        if (!ctx) ctx.emplace(context::cpu());
        finish(*ctx, *work_);
      } catch (...) {
        thrown_ = std::current_exception();
      }
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const work_of_call* work_ = nullptr;
  std::exception_ptr thrown_;
};

void run_on_cpu(std::uint64_t bytes, const work_of_call& work) {
  // One thread does less than this in about the time in which another one wakes.
  constexpr std::uint64_t bytes_for_all_threads = std::uint64_t{256} << 10;
  if (bytes >= bytes_for_all_threads) return thread_of_large_work::only().run(work);
  thread_local const context alone = context::cpu(1);
  finish(alone, work);
}

void run_on_device(place_of_call place, const work_of_call& work) {
  session& s = shared_session(place.device, place.stream);
  const std::lock_guard lock(s.busy);
  if (has_bad_index(s.ctx)) s.ctx.wait();
  work(s.ctx);
}

// An error of the library as XLA's.
ffi::Error status_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return {ffi::ErrorCode::kResourceExhausted, "the host has no memory left"};
  }
  const auto* const known = dynamic_cast<const error*>(&thrown);
  if (known == nullptr) return {ffi::ErrorCode::kInternal, thrown.what()};
  const auto code = [known] {
    switch (known->code()) {
      case error_code::bad_argument:
      case error_code::bad_input: return ffi::ErrorCode::kInvalidArgument;
      case error_code::bad_index: return ffi::ErrorCode::kOutOfRange;
      case error_code::no_variant:
      case error_code::backend_unavailable: return ffi::ErrorCode::kUnimplemented;
      case error_code::out_of_memory: return ffi::ErrorCode::kResourceExhausted;
      default: return ffi::ErrorCode::kInternal;
    }
  }();
  return {code, known->what()};
}

}  // namespace

ffi::Error run(place_of_call place, std::uint64_t bytes, const work_of_call& work) {
  try {
    if (place.device < 0) {
      run_on_cpu(bytes, work);
    } else {
      run_on_device(place, work);
    }
    return ffi::Error::Success();
  } catch (const std::exception& e) {
    return status_of(e);
  }
}

value_type number_type_of(const buffer_in& buffer) {
  switch (buffer.element_type()) {
    case ffi::F16: return value_type::f16;
    case ffi::BF16: return value_type::bf16;
    case ffi::F32: return value_type::f32;
    case ffi::F64: return value_type::f64;
    case ffi::S8: return value_type::i8;
    case ffi::S16: return value_type::i16;
    case ffi::S32: return value_type::i32;
    case ffi::S64: return value_type::i64;
    case ffi::U8: return value_type::u8;
    case ffi::U16: return value_type::u16;
    case ffi::U32: return value_type::u32;
    case ffi::U64: return value_type::u64;
    default: refuse("values are not of float16, bfloat16, float32, float64 or integers of 8 to 64 bits");
  }
}

std::uint64_t bytes_of_rows(const buffer_in& buffer, std::size_t leading) {
  return product(buffer, leading, buffer.dimensions().size()) * ffi::ByteWidth(buffer.element_type());
}

const_records records_of(const buffer_in& buffer, std::size_t leading) {
  dimensions_of(buffer, leading);
  return {buffer.untyped_data(), product(buffer, 0, leading), bytes_of_rows(buffer, leading)};
}

records records_of(buffer_out& buffer, std::size_t leading) {
  const const_records seen = records_of(*buffer, leading);
  return {buffer->untyped_data(), seen.count, seen.record_bytes};
}

const_value_rows rows_of(const buffer_in& buffer, std::size_t leading) {
  const std::size_t all = dimensions_of(buffer, leading);
  return {buffer.untyped_data(), product(buffer, 0, leading), product(buffer, leading, all), number_type_of(buffer)};
}

value_rows rows_of(buffer_out& buffer) {
  const const_value_rows seen = rows_of(*buffer, 1);
  return {buffer->untyped_data(), seen.count, seen.values_per_row, seen.type};
}

const_values values_of(const buffer_in& buffer) {
  return {buffer.untyped_data(), buffer.element_count(), number_type_of(buffer)};
}

values values_of(buffer_out& buffer) {
  return {buffer->untyped_data(), buffer->element_count(), number_type_of(*buffer)};
}

index_span index_of(const buffer_in& buffer) {
  return {buffer.untyped_data(), buffer.element_count(), index_type_of(buffer)};
}

index_output index_of(buffer_out& buffer) {
  return {buffer->untyped_data(), buffer->element_count(), index_type_of(*buffer)};
}

sort_key key_of(const buffer_in& buffer, bool descending) {
  key_field field{0, static_cast<std::uint32_t>(ffi::ByteWidth(buffer.element_type())), key_type::unsigned_integer,
                  descending};
  if (buffer.element_type() == ffi::PRED) return field;
  switch (number_type_of(buffer)) {
    // Sign and magnitude order floats by their bits, wherever the exponent ends: bfloat16 is no exception.
    case value_type::f16:
    case value_type::bf16:
    case value_type::f32:
    case value_type::f64: field.type = key_type::floating; break;
    case value_type::i8:
    case value_type::i16:
    case value_type::i32:
    case value_type::i64: field.type = key_type::signed_integer; break;
    default: break;
  }
  return field;
}

}  // namespace sheaf::python
