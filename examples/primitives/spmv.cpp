// Sparse matrix-vector product: y = A x of a matrix in compressed rows. Here it is prepared once for many products, by
// which a walker on three pages that link to each other finds how often each is visited.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  // Row: to this page; column: from that page. Page 0 links to 1 and 2, page 1 to 2, page 2 to 0.
  const std::vector<std::uint32_t> offsets{0, 1, 2, 4}, columns{2, 0, 0, 1};
  const std::vector<double> share{1.0, 0.5, 0.5, 1.0};
  const sheaf::csr_view links(3, 3, offsets, columns, share);
  std::vector<double> visits(3, 1.0 / 3), after(3);

  const sheaf::context ctx = sheaf::context::cpu();
  const sheaf::prepared_spmv walk = sheaf::prepare_spmv(ctx, links, 100);
  for (int step = 0; step < 50; ++step) {
    walk.run(visits, after);
    walk.run(after, visits);
  }
  ctx.wait();

  for (const double share_of_page : visits) std::printf("%.2f\n", share_of_page);
}

// Prints:
// 0.40
// 0.20
// 0.40
