// Gather: fetch the records that an index list names. Here each order fetches the record of its customer.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

struct customer {
  char name[8];
  float discount;
};

int main() {
  const std::vector<customer> customers{{"ann", 0.0F}, {"bo", 0.1F}, {"cy", 0.2F}};
  const std::vector<std::uint32_t> customer_of_order{2, 0, 2, 1};
  std::vector<customer> of_order(customer_of_order.size());

  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::gather(ctx, customers, customer_of_order, of_order);
  ctx.wait();  // throws sheaf::error if an index names no record

  for (const customer& c : of_order) std::printf("%s %.1f\n", c.name, c.discount);
}

// Prints:
// cy 0.2
// ann 0.0
// cy 0.2
// bo 0.1
