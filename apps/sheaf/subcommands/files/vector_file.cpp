#include "apps/sheaf/subcommands/files/vector_file.hpp"

#include <algorithm>
#include <cstring>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/npy.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "core/printable.hpp"

namespace sheaf::cli {
namespace {

// A file that is not an array is MatrixMarket, unless its name says that it should be an array.
bool is_matrix_market(const std::string& path) {
  if (io::names_array(path)) return false;
  const io::input_file file = io::open_input(path);
  std::vector<std::byte> front(std::min<std::uint64_t>(io::npy_magic_bytes, file.size()));
  file.read_at(0, front.data(), front.size());
  return !io::starts_as_npy(front);
}

}  // namespace

namespace {

std::size_t axes_of(const io::record_file& file) { return std::max<std::size_t>(1, file.shape().size()); }

io::record_file opened_vector(const std::string& path, std::uint64_t count, std::string_view of,
                              const std::string& matrix) {
  io::record_file file(path, 0, "the header of an .npy file");
  if (file.type().kind != 'f' || (file.type().item_bytes != 8 && file.type().item_bytes != 4)) {
    io::fail(path, "descr is {}; a vector is f4 or f8", core::printable(file.type().descr));
  }
  const std::uint64_t numbers_there = file.unmapped_rows(file.type().item_bytes, axes_of(file)).count;
  if (numbers_there != count)
    io::fail(path, "{} numbers, but {} has {} {}", numbers_there, io::shown_input(matrix), count, of);
  return file;
}

}  // namespace

template <class Value>
std::vector<Value> read_vector(const std::string& path, std::uint64_t count, std::string_view of,
                               const std::string& matrix) {
  const io::record_file file = opened_vector(path, count, of, matrix);
  const bool is_wide = file.type().item_bytes == 8;
  const std::size_t axes = axes_of(file);
  const io::native_numbers native(file.rows(file.type().item_bytes, axes), file.type());
  const auto number_at = [&](std::uint64_t i, auto number) {
    std::memcpy(&number, native.data() + i * sizeof number, sizeof number);
    return narrowed<Value>(number, error_code::bad_input, [&] { return fmt::format("{}: [{}]", file.path(), i); });
  };
  std::vector<Value> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = is_wide ? number_at(i, double{}) : number_at(i, float{});
  return numbers;
}

template <class Value>
std::vector<Value> read_matrix_vector(const std::string& path, std::uint64_t count, std::string_view of,
                                      const std::string& matrix, int threads) {
  if (path.empty()) return std::vector<Value>(count, 1);
  if (!is_matrix_market(path)) return read_vector<Value>(path, count, of, matrix);
  const auto check_count = [&](std::uint64_t found) {
    if (found == count) return;
    io::fail(path, "{} numbers, but {} has {} {}", found, io::shown_input(matrix), count, of);
  };
  return io::read_matrix_market_vector<Value>(path, check_count, {.threads = threads});
}

void look_at_vector(const std::string& path, std::uint64_t count, std::string_view of, const std::string& matrix) {
  static_cast<void>(opened_vector(path, count, of, matrix));
}

template <class Value>
bool look_at_matrix_vector(const std::string& path, std::uint64_t count, std::string_view of, const std::string& matrix,
                           int threads) {
  if (path.empty()) return false;
  if (is_matrix_market(path)) return !read_matrix_vector<Value>(path, count, of, matrix, threads).empty();
  look_at_vector(path, count, of, matrix);
  return false;
}

template bool look_at_matrix_vector<float>(const std::string&, std::uint64_t, std::string_view, const std::string&,
                                           int);
template bool look_at_matrix_vector<double>(const std::string&, std::uint64_t, std::string_view, const std::string&,
                                            int);
template std::vector<float> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);
template std::vector<double> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);
template std::vector<float> read_matrix_vector(const std::string&, std::uint64_t, std::string_view, const std::string&,
                                               int);
template std::vector<double> read_matrix_vector(const std::string&, std::uint64_t, std::string_view, const std::string&,
                                                int);

}  // namespace sheaf::cli
