#pragma once

#include <fmt/format.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter_reduce.hpp>

// Checks of the views that a call is given. Each throws bad_argument, naming the call and the view.
namespace sheaf::primitives {

constexpr std::uint64_t most_record_bytes = 64 * 1024;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw error(error_code::bad_argument, fmt::format(format, std::forward<Args>(args)...));
}

/// Bytes from the first byte of checked records to the end of the last record.
inline std::uint64_t extent(const_records r) {
  return r.count == 0 ? 0 : (r.count - 1) * r.stride_bytes + r.record_bytes;
}

/// Widest power of two up to 16 that divides every number whose bits `bits` unites: pass a | b | c.
inline std::uint32_t widest_word(std::uint64_t bits) {
  bits |= 16;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// The value is an enumerator, of which `last` is the last. Enumerations begin at 0 and have no gaps.
template <class Enum>
void require_enumerator(std::string_view call, std::string_view what, Enum value, Enum last) {
  if (value > last) {
    refuse("{}: {} is {}, not 0 to {}", call, what, static_cast<unsigned>(value), static_cast<unsigned>(last));
  }
}

/// Types of values and reductions that have a name are refused by it: "takes i32 to f64, but the type of in is f16".
void require_enumerator(std::string_view call, std::string_view what, value_type value, value_type last);
void require_enumerator(std::string_view call, std::string_view what, reduction value, reduction last);

/// Likewise the type of `what`. Names are put together only for a message: calls with little to do take as long as it
/// takes to check them.
template <class Enum>
void require_type(std::string_view call, std::string_view what, Enum type, Enum last) {
  if (type > last) require_enumerator(call, fmt::format("the type of {}", what), type, last);
}

void require_index_type(std::string_view call, index_type type, std::string_view what);
void require_shape(std::string_view call, const_records records, std::string_view what);
void require_memory(std::string_view call, const context& ctx, const void* data, std::uint64_t byte_count,
                    std::string_view what);
void require_aligned(std::string_view call, const void* data, std::uint64_t alignment, std::string_view what);
/// Entries of this type can hold every number below `records`.
void require_index_width(std::string_view call, index_type type, std::string_view what, std::uint64_t records);
/// Entries of the index can hold every number below `records`, and ctx can write them.
void require_index_output(std::string_view call, const context& ctx, index_output index, std::string_view what,
                          std::uint64_t records);
void require_no_overlap(std::string_view call, const void* a, std::uint64_t a_bytes, std::string_view a_name,
                        const void* b, std::uint64_t b_bytes, std::string_view b_name);

}  // namespace sheaf::primitives
