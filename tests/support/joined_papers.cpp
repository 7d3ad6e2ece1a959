#include "papers/variants.hpp"
#include "primitives/backends.hpp"

// Forms of the papers are tested as every variant is. They are added before main(), and lists are asked for after that.
namespace sheaf::tests {
namespace {

[[maybe_unused]] const bool papers_are_joined = (primitives::add_variants(papers::variants), true);

}  // namespace
}  // namespace sheaf::tests
