#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

// Index lists and records that demo, benchmarks and tests generate. Every value is a function of its position, so an
// answer is checked without a second copy of the data, on the host or on the device.
namespace sheaf::inputs {

enum class pattern_kind : std::uint8_t {
  identity,     ///< entry i is i
  reverse,      ///< entry i is n - 1 - i
  permutation,  ///< a random permutation
  same,         ///< all entries name one record
  uniform,      ///< records at random, with repeats
  zipf,         ///< few records often, many rarely; the frequent ones are spread over the table
  strided,      ///< every parameter-th record from record 0 on, then from record 1 on, and so on
  partitioned,  ///< parameter streams, visited in random order, each ascending
  clustered,    ///< a random permutation inside windows of parameter records
};

/// An index list of `count` entries into a table of `indexed_count` records.
struct pattern {
  pattern_kind kind = pattern_kind::identity;
  std::uint64_t parameter = 0;
  std::uint64_t seed = 1;
};

/// Reads "permutation", "strided:16", "partitioned:256". @throws error(bad_argument)
pattern parse_pattern(std::string_view text);
/// The text that parse_pattern reads.
std::string name(const pattern& p);
/// Whether lists of at most indexed_count entries name each record at most once.
bool is_distinct(const pattern& p) noexcept;
/// What a caller who knows this pattern tells the planner.
access_pattern hint(const pattern& p) noexcept;
/// One pattern of every kind.
std::vector<pattern> all_patterns();

/// The functions below fill and check memory of ctx: host memory, or that of a CUDA context.

/// index[i] = the pattern's i-th entry, i counted from `first`. Distinct patterns need first + index count <=
/// indexed_count.
void fill_index(const context& ctx, const pattern& p, std::uint64_t indexed_count, index_span index,
                std::uint64_t first = 0);
/// Byte b of record r = record_byte(seed, r, b).
void fill_records(const context& ctx, records out, std::uint64_t seed);
/// Counts the records of out that differ from a gather of fill_records(seed) by the pattern. Waits for the result.
std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& p,
                                      std::uint64_t indexed_count, std::uint64_t seed);
/// Counts the input records that a scatter should have written to out and that are not there, for a distinct pattern
/// and an input of fill_records(seed). Waits for the result.
std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& p, std::uint64_t count,
                                       std::uint64_t seed);

}  // namespace sheaf::inputs
