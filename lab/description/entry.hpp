#pragma once

#include <variant>

#include "lab/description/field.hpp"
#include "lab/description/labels.hpp"
#include "lab/description/problem_spec.hpp"
#include "lab/description/row_name.hpp"
#include "plan/correction.hpp"

// The waist of primitives: all that the layers above need of one, so that they name none. What runs a problem and
// checks its answer is the entry's job (lab/description).
namespace sheaf::jobs {
struct job;
}

namespace sheaf::primitives {

/// The parts of a problem's name that the entry writes.
struct row_parts {
  std::string pattern;
  std::string type;
};

/// One member of a JSON document about a problem.
struct fact {
  std::string_view name;
  std::variant<std::uint64_t, std::string, std::vector<std::uint64_t>, std::vector<std::string>> value;
};

/// A primitive, or one product of it that is a call of its own.
struct entry {
  std::string_view name;    ///< "split_gather_index"
  std::string_view family;  ///< folder of its variants in a backend: "split"
  std::span<const field_use> fields;
  std::string_view example;   ///< options of a problem: "--count 1000 --table 1000 --record-bytes 16"
  bool writes_index = false;  ///< the output is a list of record numbers

  row_parts (*write)(const problem_spec& problem);
  /// Reads what write() wrote; primitive, record_bytes and count are set already.
  void (*read)(const name_part& pattern, const name_part& type, problem_spec& problem);
  /// The problem for people: "1000 records of 4 bytes, ..."
  std::string (*text)(const problem_spec& problem);
  std::vector<fact> (*facts)(const problem_spec& problem);
  /// What tables of results call a row.
  row_labels (*labels)(const problem_spec& problem);

  /// What the call would do. @throws error(bad_argument) as the call does
  explanation (*explain)(const context& ctx, const problem_spec& problem, std::string_view variant);
  /// What each variant of a backend costs on a machine that need not be this one, in the order of the primitive's list.
  std::vector<variant_estimate> (*estimates)(const problem_spec& problem, backend_kind backend, const machine& profile);
  /// Whether a backend has variants of it; null: all backends have.
  bool (*has_variants)(backend_kind backend) = nullptr;
  /// Where the problem lies among those that calibration runs; null for a call that is several of other primitives'.
  plan::measured_place (*place)(const problem_spec& problem, backend_kind backend) = nullptr;
  /// What a caller who knows the generated inputs tells the planner of the index list; null where `pattern` says it.
  access_pattern (*hint)(const problem_spec& problem) = nullptr;
  /// The order that a call on a backend finds in the generated index list, where its caller tells none; null for calls
  /// that do not look.
  access_pattern (*found)(const problem_spec& problem, backend_kind backend) = nullptr;
  /// Seconds by the model of He et al. 2007, in one pass; null for what the model does not cover.
  double (*he2007_seconds)(const problem_spec& problem, const machine& profile) = nullptr;
  const jobs::job* job;  ///< runs the problem on generated inputs and checks the answer

  bool takes(const problem_field& field) const noexcept;
  bool runs_on(backend_kind backend) const { return has_variants == nullptr || has_variants(backend); }
};

/// All entries, family by family.
std::span<const entry* const> entries();
/// @throws error(bad_argument) listing the names that there are
const entry& entry_named(std::string_view name);
const entry& entry_of(const problem_spec& problem);
/// What a caller who knows the problem's generated inputs tells the planner of its index list.
access_pattern hint(const problem_spec& problem);
/// The families of all entries, each once, in the order of the entries.
std::vector<std::string_view> families();

/// The cheapest of the variants that may be chosen, or null where none can run.
const variant_estimate* cheapest(std::span<const variant_estimate> estimates) noexcept;

/// An option on a command line, and the text of each time that it was given.
struct given_option {
  std::string_view option;
  std::vector<std::string> texts;
};
/// The problem that options describe. @throws error(bad_argument) naming an option that the entry lacks or requires, or
/// a text that an option cannot have
problem_spec problem_of_options(const entry& of, std::span<const given_option> given);

}  // namespace sheaf::primitives
