#include "primitives/backends.hpp"

namespace sheaf::primitives {
namespace {

std::vector<const variant_tables*>& lists() {
  static std::vector<const variant_tables*> all(variants_of_backends().begin(), variants_of_backends().end());
  return all;
}

std::atomic<bool> lists_were_asked_for{false};  // by any thread

}  // namespace

std::span<const variant_tables* const> all_backends() {
  lists_were_asked_for.store(true, std::memory_order_relaxed);
  return lists();
}

void add_variants(const variant_tables& more) {
  if (lists_were_asked_for.load(std::memory_order_relaxed)) {
    throw std::logic_error("add_variants: a list of variants was already read");
  }
  lists().push_back(&more);
}

}  // namespace sheaf::primitives
