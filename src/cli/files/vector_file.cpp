#include "cli/files/vector_file.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/printable.hpp"
#include "io/arrays/numbers.hpp"
#include "io/record_file.hpp"

namespace sheaf::cli {

template <class Value>
std::vector<Value> read_vector(const std::string& path, std::uint64_t count, std::string_view of,
                               const std::string& matrix) {
  const io::record_file file(path, 0, "the header of an .npy file");
  const bool is_wide = file.type().item_bytes == 8;
  if (file.type().kind != 'f' || (!is_wide && file.type().item_bytes != 4)) {
    throw error(error_code::bad_input,
                fmt::format("{}: descr is {}; a vector is '<f4' or '<f8'", path, core::printable(file.type().descr)));
  }
  const const_records rows = file.rows(file.type().item_bytes, std::max<std::size_t>(1, file.shape().size()));
  if (rows.count != count) {
    throw error(error_code::bad_input,
                fmt::format("{}: {} numbers, but {} has {} {}", path, rows.count, matrix, count, of));
  }
  const io::native_numbers native(rows, file.type());
  const auto number_at = [&](std::uint64_t i, auto number) {
    std::memcpy(&number, native.data() + i * sizeof number, sizeof number);
    return static_cast<Value>(number);
  };
  std::vector<Value> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = is_wide ? number_at(i, double{}) : number_at(i, float{});
  return numbers;
}

template std::vector<float> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);
template std::vector<double> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);

}  // namespace sheaf::cli
