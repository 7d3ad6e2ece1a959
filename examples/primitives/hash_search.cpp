// Hash search: the records that have a key, for many keys at once. Here it joins orders to customers: each pair of an
// order and a customer of the same number, of which there may be none or several.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<std::uint64_t> customer_number{1007, 1001, 1003, 1007};
  const std::vector<std::uint64_t> number_in_order{1003, 1007, 9999};

  const sheaf::context ctx = sheaf::context::cpu();
  const sheaf::hash_index index = sheaf::build_hash_index(ctx, customer_number);
  const sheaf::hash_matches found = sheaf::hash_search(ctx, index, number_in_order);
  std::vector<std::uint64_t> first(found.probes + 1);
  std::vector<std::uint32_t> customer(found.total);
  sheaf::copy_bytes(ctx, first.data(), found.offsets().data, first.size() * sizeof(first[0]));
  sheaf::copy_bytes(ctx, customer.data(), found.ids().data, customer.size() * sizeof(customer[0]));

  for (std::size_t order = 0; order < number_in_order.size(); ++order) {
    for (std::uint64_t i = first[order]; i < first[order + 1]; ++i) {
      std::printf("order %d is of customer %d\n", static_cast<int>(order), static_cast<int>(customer[i]));
    }
  }
}

// Prints:
// order 0 is of customer 2
// order 1 is of customer 0
// order 1 is of customer 3
