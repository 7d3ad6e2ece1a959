#pragma once

#include <sheaf/error.hpp>

#include "lab/description/problem_spec.hpp"

// The one grammar of problems' names: PRIMITIVE/PATTERN/rBYTES/TYPE/n=COUNT. An entry writes and reads PATTERN and
// TYPE.
//   gather/permutation/r8/u32/n=268435456            a table of as many records as the index has entries
//   gather/zipf:s1024/r8/u32/n=65536                 a table of 1024 records
//   scatter/uniform/r16/u32+last/n=65536             the last writer wins
//   scatter_reduce/uniform:s1024/r4/u32+f32/n=65536  "u32+f32+unordered" where the order of additions is free
//   scatter_reduce_rows/uniform:s1024/r256/u32+f32/n=65536  rows of 64 f32; "u32+f16_to_f32+max+unordered+identity"
//   gather_reduce/uniform:s1024:x16/r256/u32+f32/n=65536  segments of 16 entries; "u32+f32+weights"
//   split/uniform:b8/r8/own/n=65536                  keys in the records; "k32" and "k64" in an array of their own
//   multi_split/uniform:b8:s1024/r8/k32/n=65536      65536 memberships of 1024 records in 2^8 categories
//   sort_pairs/uniform/r16/u64/n=65536               values of 16 bytes, keys of 64 bits
//   sort_keys/few:b8-15/r4/u32/n=65536               bits 8 to 15 decide
//   list_rank/permutation/r4/u32/n=65536             ranks of 4 bytes; "u32+many" for many lists
//   list_scan/reverse/r4/u32+f32+max+packed/n=65536  "+exclusive" for a scan of the values before a node
//   build_hash_index/x16/r4/k64/n=65536              keys of 64 bits, of which 16 records each have the same
//   hash_search/uniform:s1024:x16:h50/r4/k64/n=65536 65536 probes of such a table, half of which find something;
//                                                    "xzipf" where keys repeat by a power law, "k64+load99"
//   spmv/banded:x16/r8/u32+f64/n=65536               rows of 16 entries around the diagonal, columns and offsets u32;
//                                                    "uniform:xzipf" columns at random in rows of uneven length,
//                                                    "grid:x7", "zipf:s1000:c900" 1000 rows and 900 columns;
//                                                    "u32+u64+f32" offsets u64, "+transposed+f64_sums+row_ends"
//   spmm/banded:x16/r256/u32+f32/n=65536             rows of 64 f32 by such a matrix, "+transposed+row_ends"
//   conjugate_gradient/grid:x7:i16/r8/u32+f64/n=65536 16 iterations by the matrix of a grid; "+jacobi"
//   edge_sum/permutation/r12/u32+f32/n=7340032       3 components f32, a box of tetrahedra whose nodes lie at random;
//                                                    uniform, zipf and same are graphs; "+inverse_square+weights+pairs"
namespace sheaf::primitives {

std::string name(const problem_spec& problem);
/// The second part of the name, and the fourth.
std::string pattern_name(const problem_spec& problem);
std::string type_name(const problem_spec& problem);

/// The problem of this name. @throws error(bad_argument) naming the text and the place where it is wrong, also for a
/// text that is not how name() writes the problem.
problem_spec parse_problem(std::string_view text);

/// A piece of a problem's name that knows where it stands.
class name_part {
 public:
  explicit name_part(std::string_view whole) : name_part(whole, 0, whole.size()) {}

  std::string_view text() const { return whole_.substr(first_, length_); }
  /// Throws bad_argument: problem 'split/x', character 7: 'x' is not EXPECTED.
  [[noreturn]] void refuse(std::string_view expected) const;

  /// What stands before the first separator and what stands behind it; nothing behind where there is no separator.
  std::pair<name_part, std::optional<name_part>> cut_at(std::string_view separator) const;
  /// The same by the last separator.
  std::pair<name_part, std::optional<name_part>> cut_at_last(std::string_view separator) const;
  /// What stands behind the prefix. Refuses a part without it.
  name_part behind(std::string_view prefix, std::string_view expected) const;
  /// Refuses what is not a whole number from `least` to `most`.
  std::uint64_t number(std::uint64_t least, std::uint64_t most, std::string_view expected) const;
  /// What parse(text) returns; refuses a text for which parse throws.
  template <class Parse>
  auto read(Parse parse) const {
    try {
      return parse(text());
    } catch (const error& e) {
      refuse_because(e.what());
    }
  }

 private:
  name_part(std::string_view whole, std::size_t first, std::size_t length)
      : whole_(whole), first_(first), length_(length) {}
  [[noreturn]] void refuse_because(std::string_view why) const;
  std::pair<name_part, std::optional<name_part>> cut(std::size_t place, std::size_t separator_length) const;

  std::string_view whole_;
  std::size_t first_;
  std::size_t length_;
};

/// Calls body with each part of what there is.
template <class Body>
void for_each_part(std::optional<name_part> rest, std::string_view separator, Body body) {
  while (rest) {
    const auto [part, more] = rest->cut_at(separator);
    body(part);
    rest = more;
  }
}

}  // namespace sheaf::primitives
