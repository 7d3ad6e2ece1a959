// Products of more than 2^32 nonzeros on the CPU. Columns and values are pages of zeros that nobody writes, but for
// those where something is checked, so that a few megabytes hold them.
#include <sheaf/spmv.hpp>

#include <sys/mman.h>

#include <vector>

#include <gtest/gtest.h>

#include "support/large.hpp"

namespace sheaf::tests::primitives_sparse_spmv_large_test {
namespace {

/// An array of zeros; what is written takes memory by the page.
template <class Item>
class zero_array {
 public:
  explicit zero_array(std::uint64_t count) : bytes_(count * sizeof(Item)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~zero_array() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  zero_array(const zero_array&) = delete;
  zero_array& operator=(const zero_array&) = delete;

  bool is_there() const { return memory_ != MAP_FAILED; }
  Item* data() const { return static_cast<Item*>(memory_); }

 private:
  std::uint64_t bytes_;
  void* memory_;
};

constexpr std::uint64_t per_row = 1000;
constexpr std::uint64_t rows = 4'300'000;
constexpr std::uint64_t entries = rows * per_row;
static_assert(entries > std::uint64_t{1} << 32);

class SpmvLarge : public testing::Test {
 protected:
  void SetUp() override {
    if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1";
  }

  /// The entry of a place has this column and value; all others have column 0 and value 0.
  struct written {
    std::uint64_t place;
    std::uint32_t column;
    float value;
  };
  static constexpr written all_written[] = {
      {0, 2, 3}, {(std::uint64_t{1} << 32) - 1, 1, 5}, {std::uint64_t{1} << 32, 2, 7}, {entries - 1, 6, -11}};
  static constexpr float x_of[] = {1, 2, 4, 8, 16, 32, 64};
};

TEST_F(SpmvLarge, HasPlacesPastThirtyTwoBits) {
  const zero_array<std::uint32_t> columns(entries);
  const zero_array<float> numbers(entries);
  if (!columns.is_there() || !numbers.is_there()) GTEST_SKIP() << "no addresses for 2^32 entries";
  if (available_host_bytes() < std::uint64_t{2} << 30) GTEST_SKIP() << "no memory for vectors and tables of pages";
  std::vector<std::uint64_t> offsets(rows + 1);
  for (std::uint64_t r = 0; r <= rows; ++r) offsets[r] = r * per_row;
  std::vector<float> expected(rows);
  std::vector<float> expected_transposed(7);
  for (const written& w : all_written) {
    columns.data()[w.place] = w.column;
    numbers.data()[w.place] = w.value;
    expected[w.place / per_row] += w.value * x_of[w.column];
    expected_transposed[w.column] += w.value;
  }
  const csr_view a(rows, 7, index_span(offsets), index_span(columns.data(), entries, index_type::u32),
                   const_values(numbers.data(), entries, value_type::f32));
  const std::vector<float> x(std::begin(x_of), std::end(x_of));
  const context ctx = context::cpu();
  std::vector<float> y(rows, -1);
  spmv(ctx, a, x, y);
  ctx.wait();
  EXPECT_EQ(y, expected);
  std::fill(y.begin(), y.end(), -1.0F);
  const prepared_spmv kept = prepare_spmv(ctx, a, 2, {.variant = "kept"});
  kept.run(x, y);
  ctx.wait();
  EXPECT_EQ(y, expected);
  const std::vector<float> ones(rows, 1);
  std::vector<float> of_columns(7, -1);
  spmv(ctx, a, ones, of_columns, {.transposed = true});
  ctx.wait();
  EXPECT_EQ(of_columns, expected_transposed);
  // A wrong column past 2^32 is named.
  columns.data()[entries - 2] = 7;
  std::string words;
  try {
    spmv(ctx, a, x, y);
    ctx.wait();
  } catch (const error& e) {
    words = e.what();
  }
  EXPECT_EQ(words, "spmv: column_indices[4299999998], of row 4299999, is 7, past the matrix's 7 columns");
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_spmv_large_test
