#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/files/text/lines.hpp"
#include "core/host.hpp"

namespace sheaf::io {

/// Whether the bytes start as a gzip file does.
bool starts_as_gzip(std::span<const std::byte> file) noexcept;

/// What a gzip file holds, inflated.
class inflated_text {
 public:
  std::string_view text() const noexcept { return {bytes_.get(), size_}; }

 private:
  friend inflated_text inflate_gzip(std::span<const std::byte>, const std::string&, std::uint64_t,
                                    const std::function<void(std::string_view)>&);

  struct release {
    void operator()(char* bytes) const noexcept { std::free(bytes); }
  };
  std::unique_ptr<char, release> bytes_;  // of malloc, because realloc moves pages instead of bytes
  std::uint64_t size_ = 0;
};

/// Inflates a gzip file of one member or several, piece by piece: what its header or trailer says of the size is not
/// believed. Memory grows with what has been inflated.
/// @param check_front  called once, with the beginning of the text (64 KiB, or all), before the rest is inflated; it
///                     throws where that cannot be what the caller reads.
/// @throws error(bad_input) naming origin and the compressed byte: data that are cut short or damaged, a wrong checksum
/// or size, bytes behind the last member, more than most_bytes of text; error(out_of_memory).
inflated_text inflate_gzip(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes,
                           const std::function<void(std::string_view)>& check_front);

/// Calls read(text) for the text of a file, plain or gzip, which its first bytes tell.
/// @param most_bytes   what a gzip file may inflate to; 0: half of the memory that is available
/// @param check_front  called with the beginning of what a gzip file holds, as inflate_gzip() says
/// @param what         that is read, for the message where a few bytes are missing
/// @throws what inflate_gzip(), check_front and read throw
template <class CheckFront, class Read>
auto with_text(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes,
               std::string_view what, CheckFront check_front, Read read) {
  try {
    if (!starts_as_gzip(file)) {
      return read(named_text{{reinterpret_cast<const char*>(file.data()), file.size()}, origin});
    }
    if (most_bytes == 0) most_bytes = core::host_available_bytes() / 2;
    const inflated_text inflated = inflate_gzip(file, origin, most_bytes, [&](std::string_view front) {
      check_front(named_text{front, origin});
    });
    const held_memory held(origin + " inflated", inflated.text().size());
    return read(named_text{inflated.text(), origin});
  } catch (const std::bad_alloc&) {
    throw_error(error_code::out_of_memory, "{}: no memory for the {}", origin, what);
  }
}

}  // namespace sheaf::io
