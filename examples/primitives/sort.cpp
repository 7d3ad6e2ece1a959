// Sort: whole records by fields that lie in them. Here people by age, the oldest first, and by name where ages are
// equal.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

struct person {
  std::int32_t age;
  char name[4];
};

int main() try {
  const std::vector<person> people{{41, "max"}, {7, "bo"}, {41, "ann"}, {90, "eve"}};
  std::vector<person> in_order(people.size());

  const sheaf::sort_key key{
      {.offset = offsetof(person, age), .bytes = 4, .type = sheaf::key_type::signed_integer, .descending = true},
      {.offset = offsetof(person, name), .bytes = 4, .type = sheaf::key_type::bytes}};
  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::sort_records(ctx, people, key, in_order);
  ctx.wait();

  for (const person& p : in_order) std::printf("%d %s\n", p.age, p.name);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

// Prints:
// 90 eve
// 41 ann
// 41 max
// 7 bo
