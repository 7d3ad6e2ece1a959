// Scatter with a reduction: combine the rows that an index list names alike. Here rows are measurements of two values,
// and each station gets their mean and how many there were.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<std::uint32_t> station{0, 2, 0, 2, 2};
  const std::vector<float> measured{10, 1, 20, 2, 12, 3, 22, 4, 24, 6};  // temperature and wind, row by row
  std::vector<float> mean(3 * 2);
  std::vector<std::int64_t> counts(3);

  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::scatter_reduce(ctx, sheaf::const_value_rows(measured.data(), 5, 2, sheaf::value_type::f32), station,
                        sheaf::value_rows(mean.data(), 3, 2, sheaf::value_type::f32), sheaf::reduction::mean,
                        {.start = sheaf::reduction_start::identity, .counts = counts});
  ctx.wait();

  for (std::size_t s = 0; s < 3; ++s) {
    std::printf("%d measurements, %.1f %.1f\n", static_cast<int>(counts[s]), mean[2 * s], mean[2 * s + 1]);
  }
}

// Prints:
// 2 measurements, 11.0 2.0
// 0 measurements, 0.0 0.0
// 3 measurements, 22.0 4.0
