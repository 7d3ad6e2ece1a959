#pragma once

#include <optional>

#include "lab/inputs/input_pattern.hpp"

// What tables of results call a row.
namespace sheaf::primitives {

/// A piece of a line about rows that are alike: a text that all of them have, or what each has of its own, of which the
/// line lists those that differ in ascending order.
struct label_part {
  std::string text;
  bool varies = false;
  std::optional<std::uint64_t> number = {};  ///< that the list is in the order of; of its texts unless given
  std::string_view unit = {};                ///< behind the list: "bit" behind 1, else "bits"
};

struct row_labels {
  std::string headline;          ///< the row alone: "gather 2^28 records of 8 bytes"
  std::vector<label_part> line;  ///< rows of a call are alike where the texts that do not vary are
};

label_part varying(std::string text);
label_part varying(std::uint64_t number, std::string_view unit = {});
label_part varying_count(std::uint64_t number);

/// "2^28", "85.9 million", "1,000"
std::string count_text(std::uint64_t count);
/// With a comma behind thousands: "1,000,000".
std::string grouped_digits(std::uint64_t number);
/// An order of an index list, or a distribution of keys, by its name and as a word: "Zipf", "1000 values", "strided".
std::string order_text(std::string_view name);
/// An order of an index list as a text of its own: "random permutation", "stride of 16 records".
std::string list_text(const input_pattern& pattern);

}  // namespace sheaf::primitives
