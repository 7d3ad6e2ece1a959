// List scan: prefix sums along linked lists that lie in an array. Here stops of two bus lines are linked to the next
// stop, and each gets its number on the line and the minutes from the line's first stop to it.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<std::int32_t> next{2, -1, 4, 1, -1};   // the lines 0, 2, 4 and 3, 1
  const std::vector<std::int32_t> minutes{3, 5, 4, 2, 6};  // from the stop to the one after it
  std::vector<std::int32_t> number(next.size()), from_first(next.size());

  const sheaf::context ctx = sheaf::context::cpu();
  const auto many = sheaf::list_count::many;
  sheaf::list_rank(ctx, next, number, {.lists = many});
  sheaf::list_scan(ctx, next, minutes, from_first, sheaf::scan_operator::add, {.lists = many, .exclusive_from = 0});
  ctx.wait();

  for (std::size_t stop = 0; stop < next.size(); ++stop) std::printf("%d %d\n", number[stop], from_first[stop]);
}

// Prints:
// 0 0
// 1 2
// 1 3
// 0 0
// 2 7
