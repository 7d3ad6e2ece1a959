#pragma once

#include <string_view>

#include <sheaf/plan.hpp>

// What generated inputs look like, in words: the order of an index list and the distribution of keys. The functions of
// position that make such inputs are in lab/inputs and lab/description.
namespace sheaf::primitives {

enum class pattern_kind : std::uint8_t {
  identity,     ///< entry i is i
  reverse,      ///< entry i is n - 1 - i
  permutation,  ///< a random permutation
  same,         ///< all entries name one record
  uniform,      ///< records at random, with repeats
  zipf,         ///< few records often, many rarely; the frequent ones are spread over the table
  strided,      ///< every parameter-th record from record 0 on, then from record 1 on, and so on
  partitioned,  ///< parameter streams, all visited once, in random order, before any comes again; each ascending
  drawn,        ///< parameter streams, each ascending, one drawn at random for every entry: of every 16 * parameter
                ///< entries each stream has 16
  clustered,    ///< a random permutation inside windows of parameter records
};

/// The order in which an index list names the records of a table.
struct input_pattern {
  pattern_kind kind = pattern_kind::identity;
  std::uint64_t parameter = 0;
  std::uint64_t seed = 1;
};

/// Reads "permutation", "strided:16", "partitioned:256". @throws error(bad_argument)
input_pattern parse_pattern(std::string_view text);
/// The text that parse_pattern reads.
std::string name(const input_pattern& pattern);
/// Whether lists of at most as many entries as there are records name each record at most once.
bool is_distinct(const input_pattern& pattern) noexcept;
/// What a caller who knows this pattern tells the planner.
access_pattern hint(const input_pattern& pattern) noexcept;
/// One pattern of every kind.
std::vector<input_pattern> all_patterns();

enum class key_distribution : std::uint8_t {
  uniform,
  equal,          ///< one category for all
  two,            ///< the first or the last category, at random
  sorted,         ///< ascending
  zipf,           ///< few categories often, many rarely
  reverse,        ///< descending
  few,            ///< 1000 different keys
  nested,         ///< the number of leading zero bits is uniform: one bucket stays large in every MSD pass
  narrowed,       ///< the bitwise and of three uniform keys: a few digits have most of every bucket in every MSD pass
  distinct100,    ///< 100 different keys
  distinct10007,  ///< 10,007 different keys
  normal,
  lognormal,
  exponential,
  pareto,      ///< over t with probability t^-1.25
  timestamps,  ///< ascending, but for events that are up to 64 places late
  unit,        ///< uniform from 0 to 1, where floats that are `uniform` are any with equal probability
  // Keys made of parts, whose digits nest unevenly at many levels (lab/inputs/structured.hpp).
  sphere,    ///< Morton codes of points on a sphere
  cities,    ///< Morton codes of points near cities in the plane
  geohash,   ///< geohashes, as text, of such points
  quadtree,  ///< paths of clustered points in a quadtree
  octree,    ///< paths of clustered points in an octree
  urls,      ///< the first characters of hosts' names
  versions,  ///< four numbers, such as 3.17.0.204
  counters,  ///< interleaved bits of a counter and of the counter's number; nearly ascending
};

/// How many different keys a distribution of few draws from; 0 for the others.
constexpr std::uint64_t distinct_keys(key_distribution distribution) noexcept {
  switch (distribution) {
    case key_distribution::distinct100: return 100;
    case key_distribution::few: return 1000;
    case key_distribution::distinct10007: return 10007;
    default: return 0;
  }
}

/// Where the entries of a generated sparse matrix lie.
enum class nonzero_pattern : std::uint8_t {
  banded,   ///< side by side around the diagonal
  grid,     ///< a point of a grid and its neighbours, whose sides are joined
  uniform,  ///< columns at random, with repeats
  zipf,     ///< few columns often, many rarely
};

/// "banded", "grid", ...
std::string_view name(nonzero_pattern pattern) noexcept;
/// @throws error(bad_argument)
nonzero_pattern parse_nonzero_pattern(std::string_view text);

/// "uniform", "zipf", ...
std::string_view name(key_distribution distribution) noexcept;
/// @throws error(bad_argument)
key_distribution parse_key_distribution(std::string_view text);
std::vector<key_distribution> all_key_distributions();

}  // namespace sheaf::primitives
