#pragma once

#include <any>
#include <map>
#include <optional>
#include <utility>

#include <sheaf/values.hpp>

#include "lab/inputs/input_pattern.hpp"

namespace sheaf::primitives {

/// What families know of a problem, at most one struct of each type. A struct is declared by the family that it is of,
/// and one that nothing has been said of is as its type begins. Calls that are timed read parts, so they are found by
/// the addresses of their types' tags. References stay good while further parts are added.
class family_parts {
 public:
  template <class Part>
  const Part& of() const {
    static const Part as_begun{};
    const auto found = parts_.find(&tag_of<Part>);
    return found == parts_.end() ? as_begun : *std::any_cast<Part>(&found->second);
  }
  template <class Part>
  Part& of() {
    return *std::any_cast<Part>(&parts_.try_emplace(&tag_of<Part>, Part{}).first->second);
  }

 private:
  template <class Part>
  static constexpr char tag_of = 0;

  std::map<const char*, std::any> parts_;
};

/// A call of any primitive, in words: sizes, widths, types, and what generated inputs look like. A primitive ignores
/// the members that its entry does not take. What one family alone knows is a part, such as hash_part, in
/// lab/description/<family>/problem.hpp; key_part is in lab/description/keys.hpp.
struct problem_spec {
  std::string_view primitive = {};     ///< name of an entry, which lives as long as the program
  input_pattern pattern = {};          ///< order of a generated index list, or of a list's nodes
  std::uint64_t record_bytes = 0;      ///< bytes of an output record, index entry or value
  index_type index = index_type::u32;  ///< type of the index list, or of the record numbers that are written
  std::uint64_t count = 0;             ///< records, keys, values or index entries that the call goes through
  std::uint64_t key_bytes = 0;         ///< bytes of a key; 0 for a split by bits of the record itself
  value_type value = value_type::f32;
  std::optional<std::uint64_t> table = {};  ///< records that an index may name; as many as `count` unless given

  // What a caller can say beyond a generated problem
  sheaf::bounds bounds = sheaf::bounds::check;
  access_pattern access = {};  ///< what the planner is told of the index list

  family_parts parts = {};

  /// What the family that declares Part knows.
  template <class Part>
  const Part& part() const {
    return parts.of<Part>();
  }
  template <class Part>
  Part& part() {
    return parts.of<Part>();
  }
  /// A copy of which a family knows this.
  template <class Part>
  problem_spec with(Part known) const {
    problem_spec p = *this;
    p.part<Part>() = std::move(known);
    return p;
  }

  /// Records that an index may name.
  std::uint64_t indexed_count() const noexcept { return table.value_or(count); }
};

}  // namespace sheaf::primitives
