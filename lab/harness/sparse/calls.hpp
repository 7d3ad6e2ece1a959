#pragma once

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "lab/harness/timed_call.hpp"

namespace sheaf::bench {

/// A product y = A x by each variant of the place's backend that can run it, and by each that can be prepared.
/// Value is float or double.
template <class Value>
void add_product_calls(const call_place& place, std::shared_ptr<const io::csr_matrix<Value>> matrix,
                       std::vector<timed_call>& all);

/// The loop over rows and their entries that one would write, on one thread.
template <class Value>
void add_plain_product(const std::string& where, std::shared_ptr<const io::csr_matrix<Value>> matrix,
                       std::vector<timed_call>& all);

/// Value i of the vector that is multiplied.
template <class Value>
std::vector<Value> vector_for(std::uint64_t count);

}  // namespace sheaf::bench
