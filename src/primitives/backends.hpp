#pragma once

#include "primitives/edges/prepare.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/reduce/gather.hpp"
#include "primitives/reduce/prepare.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/prepare_spmm.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/split/contract.hpp"

// What a backend brings to the primitives: a table of variants for each. A primitive's list is the tables of all
// backends of this build, one behind the other.
namespace sheaf {

namespace primitives {

/// A backend's variants of one primitive, whichever it is.
class variant_table {
 public:
  template <class Variant, std::size_t Count>
  constexpr explicit variant_table(const Variant* const (&variants)[Count]) noexcept
      : primitive_(&tag<Variant>), first_(variants), count_(Count), name_of_(name_in<Variant>) {}

  /// The same, of a primitive that these calls of the public interface ask for variants: names with a space between
  /// them. The table of the reference says so.
  constexpr variant_table called(std::string_view calls) const noexcept {
    variant_table table = *this;
    table.calls_ = calls;
    return table;
  }
  constexpr std::string_view calls() const noexcept { return calls_; }

  bool is_of_primitive_of(const variant_table& other) const noexcept { return primitive_ == other.primitive_; }
  std::size_t size() const noexcept { return count_; }
  std::string_view name(std::size_t variant) const { return name_of_(first_, variant); }

  /// The variants, if they are of this primitive; empty if not.
  template <class Variant>
  std::span<const Variant* const> of() const noexcept {
    if (primitive_ != &tag<Variant>) return {};
    return {static_cast<const Variant* const*>(first_), count_};
  }

 private:
  template <class Variant>
  static constexpr char tag = 0;
  template <class Variant>
  static std::string_view name_in(const void* first, std::size_t variant) {
    return static_cast<const Variant* const*>(first)[variant]->name;
  }

  const void* primitive_;
  const void* first_;
  std::size_t count_;
  std::string_view (*name_of_)(const void* first, std::size_t variant);
  std::string_view calls_;
};

/// What a backend brings. A primitive that it does not have has no table.
using variant_tables = std::span<const variant_table>;

template <const auto& First, const auto&... Others>
constexpr std::remove_reference_t<decltype(First)>* variants_in_table[] = {&First, &Others...};

/// The table of these variants, which are objects with external linkage.
template <const auto&... Variants>
constexpr variant_table table{variants_in_table<Variants...>};

/// The backends of this build, the reference first. src/composition defines it.
std::span<const variant_tables* const> variants_of_backends() noexcept;

/// Those, and behind them what add_variants() added.
std::span<const variant_tables* const> all_backends();

/// Adds variants to the lists of all primitives, for a program that compares them with the library's own. They must
/// live as long as the program. To be called before there is a context or another thread. @throws std::logic_error once
/// a list has been asked for, because lists are made once.
void add_variants(const variant_tables& more);

/// A primitive's list: its variants, backend by backend. Made once.
template <class Variant>
std::span<const Variant> list_of() {
  static const std::vector<Variant> list = [] {
    std::vector<Variant> all;
    for (const variant_tables* const backend : all_backends()) {
      for (const variant_table& t : *backend) {
        for (const Variant* const v : t.of<Variant>()) all.push_back(*v);
      }
    }
    return all;
  }();
  return list;
}

/// Checks what SHEAF_VARIANT forces. @throws error(bad_argument) listing the names that there are, for a primitive or a
/// variant that is none of them
void require_known_variant(std::string_view primitive, std::string_view variant);

}  // namespace primitives

// Defined by the backends, in their variants.cpp.
namespace reference {
extern const primitives::variant_tables variants;
}
namespace cpu {
extern const primitives::variant_tables variants;
}
namespace cuda {
extern const primitives::variant_tables variants;
}
namespace opengl {
extern const primitives::variant_tables variants;
}

}  // namespace sheaf
