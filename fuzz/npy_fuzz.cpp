// .npy files are untrusted: whatever the bytes, the parser returns an array whose data are there, or throws
// sheaf::error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include <sheaf/error.hpp>

#include "io/npy.hpp"

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

// Elements times their bytes are the data, and the data end where the file ends.
void look_at(const sheaf::io::npy_array& array, std::span<const std::byte> file) {
  std::uint64_t bytes = array.type.item_bytes;
  for (const std::uint64_t extent : array.shape) bytes *= extent;
  require(bytes == array.data_bytes && bytes <= file.size());
  require(array.data == file.data() + (file.size() - bytes));
}

// What is written for an array that was read is read as the same.
void write_and_read(const sheaf::io::npy_array& array) {
  std::string copy = sheaf::io::format_npy_header(array.type, array.shape);
  require(copy.size() % 64 == 0);
  copy.append(reinterpret_cast<const char*>(array.data), array.data_bytes);
  const auto again = sheaf::io::parse_npy(std::as_bytes(std::span(copy.data(), copy.size())), "copy");
  require(again.type.descr == array.type.descr && again.type.item_bytes == array.type.item_bytes);
  require(again.type.kind == array.type.kind && again.type.order == array.type.order && again.shape == array.shape);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto array = sheaf::io::parse_npy(file, "input");
    look_at(array, file);
    write_and_read(array);
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_input);
  }
  return 0;
}
