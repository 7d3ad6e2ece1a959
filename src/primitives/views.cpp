#include "primitives/views.hpp"

#include <limits>

#include "core/context_state.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

template <class Enum, std::size_t Count>
void require_named(std::string_view call, std::string_view what, Enum value, Enum last,
                   const enum_name<Enum> (&names)[Count]) {
  if (value <= last) return;
  const std::string_view named = text_of(value, names);
  if (named.empty()) {
    refuse("{}: {} is {}, not 0 to {}", call, what, static_cast<unsigned>(value), static_cast<unsigned>(last));
  }
  refuse("{}: takes {} to {}, but {} is {}", call, names[0].text, text_of(last, names), what, named);
}

}  // namespace

void require_enumerator(std::string_view call, std::string_view what, value_type value, value_type last) {
  require_named(call, what, value, last, value_types);
}

void require_enumerator(std::string_view call, std::string_view what, reduction value, reduction last) {
  require_named(call, what, value, last, reductions);
}

void require_shape(std::string_view call, const_records records, std::string_view what) {
  if (records.record_bytes == 0 || records.record_bytes > most_record_bytes) {
    refuse("{}: {} has records of {} bytes, not 1 to {}", call, what, records.record_bytes, most_record_bytes);
  }
  if (records.stride_bytes < records.record_bytes) {
    refuse("{}: {} has a stride of {} bytes, less than its records' {}", call, what, records.stride_bytes,
           records.record_bytes);
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (records.stride_bytes > most ||
      (records.count > 0 && records.count - 1 > (most - records.record_bytes) / records.stride_bytes)) {
    refuse("{}: {} has {} records {} bytes apart, more than memory can hold", call, what, records.count,
           records.stride_bytes);
  }
}

void require_memory(std::string_view call, const context& ctx, const void* data, std::uint64_t byte_count,
                    std::string_view what) {
  if (byte_count == 0) return;
  if (data == nullptr) refuse("{}: {} is null", call, what);
  ctx.state().require_this_process(call);
  ctx.state().require_reachable(data, call, what);
}

void require_aligned(std::string_view call, const void* data, std::uint64_t alignment, std::string_view what) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    refuse("{}: {} is not aligned to its {} bytes", call, what, alignment);
  }
}

void require_index_type(std::string_view call, index_type type, std::string_view what) {
  require_type(call, what, type, index_type::i64);
}

void require_index_width(std::string_view call, index_type type, std::string_view what, std::uint64_t records) {
  require_index_type(call, type, what);
  const std::uint64_t most = type == index_type::u32   ? std::uint64_t{1} << 32
                             : type == index_type::i32 ? std::uint64_t{1} << 31
                                                       : std::numeric_limits<std::uint64_t>::max();
  if (records >= most) refuse("{}: {} has 4-byte entries, too narrow for {} records", call, what, records);
}

void require_index_output(std::string_view call, const context& ctx, index_output index, std::string_view what,
                          std::uint64_t records) {
  require_index_type(call, index.type, what);
  if (index.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: {} has {} entries, more than memory can hold", call, what, index.count);
  }
  require_index_width(call, index.type, what, records);
  require_memory(call, ctx, index.data, index.count * bytes(index.type), what);
  require_aligned(call, index.data, bytes(index.type), what);
}

void require_no_overlap(std::string_view call, const void* a, std::uint64_t a_bytes, std::string_view a_name,
                        const void* b, std::uint64_t b_bytes, std::string_view b_name) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes > 0 && b_bytes > 0 && a_first < b_first + b_bytes && b_first < a_first + a_bytes) {
    refuse("{}: {} overlaps {}", call, a_name, b_name);
  }
}

}  // namespace sheaf::primitives
