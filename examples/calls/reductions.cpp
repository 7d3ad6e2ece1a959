#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void reduce_by_index(const sheaf::context& ctx) {
  //! [scatter_reduce]
  const std::vector<double> weights{1.5, 2.0, 0.5};
  const std::vector<std::uint32_t> bin{0, 2, 0};
  std::vector<double> sums(3, 0.0);
  sheaf::scatter_reduce(ctx, weights, bin, sums, sheaf::reduction::add);  // sums is 2, 0, 2

  // Whole rows, here of two values; the result begins with the identity, and rows are counted.
  const std::vector<float> rows{1, 10, 2, 20, 3, 30};
  std::vector<float> means(6);
  std::vector<std::int64_t> counts(3);
  sheaf::scatter_reduce(ctx, sheaf::const_value_rows(rows.data(), 3, 2, sheaf::value_type::f32), bin,
                        sheaf::value_rows(means.data(), 3, 2, sheaf::value_type::f32), sheaf::reduction::mean,
                        {.start = sheaf::reduction_start::identity, .counts = counts});
  ctx.wait();  // means is 2, 20, 0, 0, 2, 20 and counts is 2, 0, 1
  //! [scatter_reduce]
  expect(sums == std::vector<double>{2.0, 0.0, 2.0} && means == std::vector<float>{2, 20, 0, 0, 2, 20});
  expect(counts == std::vector<std::int64_t>{2, 0, 1});
  //! [explain_scatter_reduce]
  const auto plan = sheaf::explain_scatter_reduce(ctx, weights, bin, sums, sheaf::reduction::add);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_scatter_reduce]
}

void reduce_by_prepared_list(const sheaf::context& ctx) {
  //! [prepare_scatter_reduce]
  const std::vector<std::uint32_t> target{2, 0, 2};
  const sheaf::prepared_scatter_reduce combine = sheaf::prepare_scatter_reduce(ctx, target, 3, 100);
  //! [prepare_scatter_reduce]
  //! [prepared_scatter_reduce]
  const std::vector<int> messages{1, 5, 2, 6, 3, 4};
  std::vector<int> most(6);
  combine.run(sheaf::const_value_rows(messages.data(), 3, 2, sheaf::value_type::i32),
              sheaf::value_rows(most.data(), 3, 2, sheaf::value_type::i32), sheaf::reduction::max,
              {.start = sheaf::reduction_start::identity});
  std::printf("one run takes %.2g s\n", combine.report().run_seconds);
  //! [prepared_scatter_reduce]
  ctx.wait();
  expect(most[0] == 2 && most[1] == 6 && most[4] == 3 && most[5] == 5);
  //! [explain_prepare_scatter_reduce]
  const auto plan = sheaf::explain_prepare_scatter_reduce(ctx, target, 3, 100);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_prepare_scatter_reduce]
}

void reduce_by_segments(const sheaf::context& ctx) {
  //! [gather_reduce]
  const std::vector<double> features{1, 2, 10, 20, 100, 200};  // three rows of two
  const std::vector<std::uint32_t> neighbour{0, 2, 1};
  const std::vector<std::uint64_t> offsets{0, 2, 3};  // node 0 has neighbours 0 and 2, node 1 has neighbour 1
  std::vector<double> sums(4);
  const sheaf::const_value_rows table(features.data(), 3, 2, sheaf::value_type::f64);
  const sheaf::value_rows out(sums.data(), 2, 2, sheaf::value_type::f64);
  sheaf::gather_reduce(ctx, table, neighbour, offsets, out, sheaf::reduction::add);
  ctx.wait();  // sums is 101, 202, 10, 20
  //! [gather_reduce]
  expect(sums == std::vector<double>{101, 202, 10, 20});
  //! [explain_gather_reduce]
  const auto plan = sheaf::explain_gather_reduce(ctx, table, neighbour, offsets, out, sheaf::reduction::add);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_gather_reduce]
}

void convert_numbers() {
  //! [value_type_of]
  static_assert(sheaf::value_type_of<float>() == sheaf::value_type::f32);
  static_assert(sheaf::value_type_of<std::int64_t>() == sheaf::value_type::i64);
  //! [value_type_of]
  //! [float16]
  const sheaf::float16 half(0.1F);                               // the nearest float of 16 bits
  const auto back = static_cast<float>(half);                    // 0.0999756
  const sheaf::float16 one = sheaf::float16::from_bits(0x3c00);  // 1.0
  //! [float16]
  //! [bfloat16]
  const sheaf::bfloat16 brain(0.1F);
  const auto wide = static_cast<float>(brain);                      // 0.100098
  const sheaf::bfloat16 unit = sheaf::bfloat16::from_bits(0x3f80);  // 1.0
  //! [bfloat16]
  expect(back > 0.0999F && back < 0.1F && static_cast<float>(one) == 1.0F);
  expect(wide > 0.1F && wide < 0.1002F && static_cast<float>(unit) == 1.0F);
}

}  // namespace

void show_reductions(const sheaf::context& ctx) {
  reduce_by_index(ctx);
  reduce_by_prepared_list(ctx);
  reduce_by_segments(ctx);
  convert_numbers();
}

}  // namespace calls
