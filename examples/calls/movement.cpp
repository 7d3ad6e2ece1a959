#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void gather_by_index(const sheaf::context& ctx) {
  //! [gather]
  const std::vector<double> table{0.0, 0.1, 0.2, 0.3, 0.4};
  const std::vector<std::uint32_t> index{4, 0, 2, 2};
  std::vector<double> out(index.size());
  sheaf::gather(ctx, table, index, out);
  ctx.wait();  // out is 0.4, 0.0, 0.2, 0.2
  //! [gather]
  expect(out == std::vector<double>{0.4, 0.0, 0.2, 0.2});
  //! [explain_gather]
  const sheaf::explanation plan = sheaf::explain_gather(ctx, table, index, out);
  for (const sheaf::variant_estimate& variant : plan.variants) {
    std::printf("%s: %.2g s %s\n", variant.variant.c_str(), variant.seconds, variant.reason.c_str());
  }
  //! [explain_gather]
  //! [explanation]
  if (const sheaf::variant_estimate* taken = plan.choice()) {
    std::printf("%s takes %.2g s on %s\n", taken->variant.c_str(), taken->seconds, plan.machine.c_str());
  }
  //! [explanation]
  expect(plan.choice() != nullptr);
  sheaf::context learning = sheaf::context::cpu();
  learning.learn(true);
  for (int step = 0; step < 20; ++step) sheaf::gather(learning, table, index, out);
  std::printf("%s\n", sheaf::explain_gather(learning, table, index, out).learned.c_str());
}

void scatter_by_index(const sheaf::context& ctx) {
  //! [scatter]
  const std::vector<int> in{7, 8, 9};
  const std::vector<int> index{3, 1, 3};
  std::vector<int> out(5, 0);
  sheaf::scatter(ctx, in, index, out, {.duplicates = sheaf::duplicates::last});
  ctx.wait();  // out is 0, 8, 0, 9, 0
  //! [scatter]
  expect(out == std::vector<int>{0, 8, 0, 9, 0});
  //! [explain_scatter]
  const sheaf::explanation plan = sheaf::explain_scatter(ctx, in, index, out);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_scatter]
}

void prepare_one_gather(const sheaf::context& ctx) {
  //! [prepare_gather]
  const std::vector<std::uint32_t> index{4, 0, 2, 2};
  const sheaf::prepared_gather take = sheaf::prepare_gather(ctx, index, 5, sizeof(float), 100);
  //! [prepare_gather]
  //! [prepared_gather]
  std::vector<float> table{0.0F, 0.1F, 0.2F, 0.3F, 0.4F}, out(index.size());
  for (int step = 0; step < 100; ++step) take.run(table, out);
  ctx.wait();
  std::printf("%s pays after %llu runs\n", take.report().variant.c_str(),
              static_cast<unsigned long long>(take.report().pays_after_runs));
  //! [prepared_gather]
  expect(out == std::vector<float>{0.4F, 0.0F, 0.2F, 0.2F});
}

void prepare_one_scatter(const sheaf::context& ctx) {
  //! [prepare_scatter]
  const std::vector<std::uint32_t> index{2, 0};
  const sheaf::prepared_scatter put = sheaf::prepare_scatter(ctx, index, 3, sizeof(double), 100);
  //! [prepare_scatter]
  //! [prepared_scatter]
  const std::vector<double> in{5.0, 6.0};
  std::vector<double> out(3, 0.0);
  put.run(in, out);  // out is 6, 0, 5
  const std::uint64_t kept_bytes = put.report().kept_bytes;
  //! [prepared_scatter]
  ctx.wait();
  expect(out == std::vector<double>{6.0, 0.0, 5.0} && kept_bytes < 1 << 20);
}

void name_patterns(const sheaf::context& ctx) {
  //! [access_pattern]
  using sheaf::access_pattern;
  const access_pattern known[] = {
      access_pattern::unknown(),           // nothing is known
      access_pattern::sequential(),        // 0, 1, 2, 4, 5, ...
      access_pattern::random(),            // 7, 1, 9, 3, ...
      access_pattern::partitioned(8),      // 8 ascending streams
      access_pattern::clustered(1 << 12),  // anywhere in a window of 4096 records that moves on
      access_pattern::strided(16),         // 0, 16, 32, ..., then 1, 17, ...
      access_pattern::skewed(),            // few records often
      access_pattern::repeated(100)};      // the same 100 records again and again
  const std::vector<double> table(1000, 1.0);
  const std::vector<std::uint32_t> index(500, 3);
  std::vector<double> out(index.size());
  for (const access_pattern& pattern : known) sheaf::gather(ctx, table, index, out, {.pattern = pattern});
  //! [access_pattern]
  ctx.wait();
  expect(out[0] == 1.0);
}

void view_records(const sheaf::context& ctx) {
  //! [bytes]
  static_assert(sheaf::bytes(sheaf::index_type::u32) == 4 && sheaf::bytes(sheaf::index_type::i64) == 8);
  static_assert(sheaf::bytes(sheaf::value_type::f64) == 8 && sheaf::bytes(sheaf::value_type::bf16) == 2);
  //! [bytes]
  //! [const_records]
  struct particle {
    float x, y, z, mass;
  };
  const std::vector<particle> particles{{0, 0, 0, 1.5F}, {1, 0, 0, 2.5F}};
  // The masses alone: records of 4 bytes, 16 bytes apart.
  const sheaf::const_records masses(&particles[0].mass, particles.size(), sizeof(float), sizeof(particle));
  std::vector<float> out(2);
  sheaf::gather(ctx, masses, std::vector<int>{1, 0}, out);
  //! [const_records]
  ctx.wait();
  expect(out == std::vector<float>{2.5F, 1.5F});
}

}  // namespace

void show_movement(const sheaf::context& ctx) {
  gather_by_index(ctx);
  scatter_by_index(ctx);
  prepare_one_gather(ctx);
  prepare_one_scatter(ctx);
  name_patterns(ctx);
  view_records(ctx);
}

}  // namespace calls
