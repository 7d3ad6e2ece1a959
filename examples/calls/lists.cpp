#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

void show_lists(const sheaf::context& ctx) {
  {
    //! [list_rank]
    const std::vector<int> successor{2, -1, 1};  // the list 0, 2, 1
    std::vector<int> rank(successor.size());
    sheaf::list_rank(ctx, successor, rank);
    ctx.wait();  // rank is 0, 2, 1
    //! [list_rank]
    expect(rank == std::vector<int>{0, 2, 1});
    //! [explain_list_rank]
    const sheaf::explanation plan = sheaf::explain_list_rank(ctx, successor, rank);
    std::printf("%s\n", plan.choice()->variant.c_str());
    //! [explain_list_rank]
  }
  {
    //! [list_scan]
    const std::vector<int> successor{2, -1, 1};  // the list 0, 2, 1
    const std::vector<double> values{5, 6, 7};
    std::vector<double> sums(3), before(3), largest(3);
    sheaf::list_scan(ctx, successor, values, sums, sheaf::scan_operator::add);                             // 5, 18, 12
    sheaf::list_scan(ctx, successor, values, before, sheaf::scan_operator::add, {.exclusive_from = 0.0});  // 0, 12, 5

    // By an associative function of one's own, on the CPU.
    const auto larger = [](double earlier, double later) { return earlier > later ? earlier : later; };
    sheaf::list_scan(ctx, successor, values, largest, larger);  // 5, 7, 7

    // Value and successor side by side in 64 bits.
    const std::vector<sheaf::list_node<float>> nodes{{5.0F, 2}, {6.0F, -1}, {7.0F, 1}};
    std::vector<float> packed(3);
    sheaf::list_scan(ctx, nodes, packed, sheaf::scan_operator::add);
    std::vector<float> largest_packed(3);
    sheaf::list_scan(ctx, nodes, largest_packed, [](float a, float b) { return a > b ? a : b; });  // 5, 7, 7
    ctx.wait();
    //! [list_scan]
    expect(largest_packed == std::vector<float>{5, 7, 7});
    expect(sums == std::vector<double>{5, 18, 12} && before == std::vector<double>{0, 12, 5});
    expect(largest == std::vector<double>{5, 7, 7} && packed == std::vector<float>{5, 18, 12});
    //! [explain_list_scan]
    const auto plan = sheaf::explain_list_scan(ctx, successor, values, sums, sheaf::scan_operator::add);
    std::printf("%s\n", plan.choice()->variant.c_str());
    //! [explain_list_scan]
  }
}

}  // namespace calls
