#pragma once

#include <optional>

#include <sheaf/scatter.hpp>

// Checks answers in host memory against the serial reference.
namespace sheaf::jobs {

/// What first_gather_difference takes, unless a record is larger.
constexpr std::uint64_t most_bytes_to_check_a_gather = std::uint64_t{16} << 20;

/// The first record of `out` that differs from the gather. Bad indices expect zero bytes.
std::optional<std::uint64_t> first_gather_difference(const_records table, index_span index, const_records out);

/// What a scatter may write where several entries name one record.
enum class repeated_records : std::uint8_t {
  last,   ///< the last of them
  whole,  ///< any of them
  mixed,  ///< in each byte of the record, that byte of any of them
};
/// What the contract of scatter allows to a call with these views: with duplicates::any, records that are one aligned
/// word are whole.
repeated_records allowed_by(duplicates repeats, const_records in, const_records out) noexcept;

/// The first record of `out` that differs from every allowed result of the scatter into records that were `before`; a
/// null `before` means zero bytes. Every stride is the width of the records.
std::optional<std::uint64_t> first_scatter_difference(const_records in, index_span index, const_records out,
                                                      const std::byte* before, repeated_records allowed);

}  // namespace sheaf::jobs
