#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "apps/sheaf/files/sparse/header.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/text/gzip.hpp"

namespace sheaf::io {

/// The text of a MatrixMarket file, inflated if that is gzip. Keeps what is inflated; file and origin must outlive it.
class market_text {
 public:
  /// @param most_bytes  what a gzip file may inflate to; 0: half of the memory that is available
  /// @throws what inflate_gzip() and require_banner() throw
  market_text(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes);

  named_text named() const noexcept;

 private:
  std::span<const std::byte> file_;
  const std::string& origin_;
  std::optional<inflated_text> inflated_;
};

int threads_of(const matrix_market_options& options);

/// Bytes of text that a thread reads at once.
std::uint64_t part_bytes_of(const market_header& header, const matrix_market_options& options);

/// Announced numbers of rows and columns go up to 2^63, so their bytes take more than 64 bits.
__extension__ using wide_count = unsigned __int128;

/// For entries of one place whose sum the type of values does not hold. @param row, column  from 0
template <class Value>
[[noreturn]] void fail_sum(const std::string& origin, std::uint64_t row, std::uint64_t column);

/// @param what  words for what takes the bytes, with the verb
/// @throws error(out_of_memory) naming the size line if fewer are available
void require_memory(const named_text& file, const market_header& header, wide_count bytes,
                    const std::function<std::string()>& what);

}  // namespace sheaf::io
