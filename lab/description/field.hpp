#pragma once

#include <span>

#include "lab/description/problem_spec.hpp"

// What options say of a problem. An entry lists the fields that it takes, and a command line makes an option of each.
namespace sheaf::primitives {

/// What an option was given, one text for each time.
using option_texts = std::span<const std::string>;

struct problem_field {
  std::string_view option;     ///< "--table"
  std::string_view help;       ///< one line
  std::string_view type_name;  ///< what follows the option: "N", "any|last"; empty for a flag
  /// Reads the texts that were given. @throws error(bad_argument) naming option and text
  void (*read)(problem_spec& problem, option_texts texts);
  bool repeats = false;  ///< the option may be given several times

  /// The field where it means something else.
  constexpr problem_field with_help(std::string_view text) const {
    problem_field f = *this;
    f.help = text;
    return f;
  }
};

/// A field as one entry takes it.
struct field_use {
  const problem_field* field;
  bool is_required = false;
  /// Sets what a problem has where the field is not given; null if that is what a problem_spec begins with.
  void (*without)(problem_spec& problem) = nullptr;
  const problem_field* excludes = nullptr;  ///< a field that cannot be given along with this one
};

constexpr field_use required(const problem_field& field) { return {&field, true}; }
constexpr field_use optional(const problem_field& field, void (*without)(problem_spec& problem) = nullptr) {
  return {&field, false, without};
}

namespace fields {

extern const problem_field count;
extern const problem_field table;
extern const problem_field bytes;
extern const problem_field index_type;
extern const problem_field written_index;  ///< an index type that says how wide the output's entries are
extern const problem_field pattern;
extern const problem_field bounds;
extern const problem_field key_bytes;
extern const problem_field value_type;  ///< of values that are as wide as the output's

void value_width(problem_spec& problem);  ///< where no value type is given
/// The index type for record numbers that are written, where none is given: u32, or u64 where that is too narrow.
void number_all_records(problem_spec& problem);
void write_all_numbers(problem_spec& problem);  ///< number_all_records() for a written_index

}  // namespace fields

/// Reads the one text of a field. @throws error(bad_argument): --count: '-1' is not a whole number from 0 to 9
std::uint64_t number_of(std::string_view option, option_texts texts, std::uint64_t least,
                        std::uint64_t most = ~std::uint64_t{0});

}  // namespace sheaf::primitives
