// Reductions of rows on CUDA: lists that are cut into tiles, pieces and results of pieces, compared with the CPU's to
// the bit where values are integers; any order; graphs; bad entries of long lists.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather_reduce.hpp>
#include <sheaf/machine_profile.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/spmm.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/reduce/rows.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::cuda_rows_test {
namespace {

/// Numbers in the memory of a context.
template <class T>
class on_device {
 public:
  on_device(const context& ctx, const std::vector<T>& from)
      : ctx_(ctx), memory_(ctx, std::max<std::size_t>(1, from.size() * sizeof(T))), count_(from.size()) {
    set(from);
  }

  void set(const std::vector<T>& from) const {
    if (!from.empty()) copy_bytes(ctx_, memory_.data(), from.data(), from.size() * sizeof(T));
  }
  std::vector<T> get() const {
    std::vector<T> all(count_);
    if (count_ > 0) copy_bytes(ctx_, all.data(), memory_.data(), count_ * sizeof(T));
    return all;
  }
  void* data() const { return memory_.data(); }
  value_rows rows(std::uint64_t width) const { return {data(), count_ / width, width, value_type_of<T>()}; }
  index_span index() const { return {data(), count_, sizeof(T) == 8 ? index_type::u64 : index_type::u32}; }
  values numbers() const { return {data(), count_, value_type_of<T>()}; }

 private:
  context ctx_;
  buffer memory_;
  std::uint64_t count_;
};

template <class T>
std::vector<T> random_numbers(std::uint64_t count, std::uint64_t seed) {
  std::vector<T> all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = inputs::mix(i + seed * 1'000'003);
    if constexpr (std::is_floating_point_v<T>) {
      all[i] = static_cast<T>(bits % 2001) / 1000 - 1;
    } else {
      all[i] = static_cast<T>(bits);
    }
  }
  return all;
}

std::vector<std::uint32_t> random_list(std::uint64_t count, std::uint64_t slots, std::string_view kind) {
  std::vector<std::uint32_t> list(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = inputs::mix(i + 5);
    std::uint64_t slot = bits % slots;
    if (kind == "same") slot = slots / 2;
    if (kind == "half in one" && bits % 2 == 0) slot = slots / 3;
    if (kind == "few") slot = bits % 5 * (slots / 5);
    if (kind == "sorted") slot = i * slots / count;
    list[i] = static_cast<std::uint32_t>(slot);
  }
  return list;
}

class CudaRows : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  std::optional<context> ctx;
};

struct list_shape {
  std::uint64_t count;
  std::uint64_t slots;
  std::uint64_t width;
};

TEST_F(CudaRows, LongListsHaveTheBitsOfTheCpu) {
  const context cpu = context::cpu(2);
  for (const list_shape& s : {list_shape{200'000, 20'000, 4}, list_shape{100'000, 300, 33}, list_shape{30'000, 7, 256},
                              list_shape{60'000, 3'000'000, 2}, list_shape{5000, 1, 1000}, list_shape{4096, 500'000, 5},
                              list_shape{4000, 300, 64}, list_shape{1, 9, 300}}) {
    const auto in = random_numbers<std::int32_t>(s.count * s.width, 1);
    const auto held = random_numbers<std::int32_t>(s.slots * s.width, 2);
    const on_device<std::int32_t> from(*ctx, in);
    for (const char* kind : {"uniform", "same", "half in one", "few", "sorted"}) {
      const auto list = random_list(s.count, s.slots, kind);
      const on_device<std::uint32_t> index(*ctx, list);
      for (const reduction op : {reduction::add, reduction::min, reduction::multiply, reduction::mean}) {
        for (const reduction_start start : {reduction_start::out, reduction_start::identity}) {
          auto expected = held;
          std::vector<std::uint64_t> came(s.slots);
          scatter_reduce(cpu, const_value_rows(in.data(), s.count, s.width, value_type::i32), list,
                         value_rows(expected.data(), s.slots, s.width, value_type::i32), op,
                         {.start = start, .counts = came});
          for (const auto& variant : primitives::scatter_reduce_rows_variants()) {
            if (!variant.works_on(backend_kind::cuda)) continue;
            SCOPED_TRACE(fmt::format("{} {}x{} to {} {} op={} start={}", variant.name, s.count, s.width, s.slots, kind,
                                     static_cast<int>(op), static_cast<int>(start)));
            const on_device<std::int32_t> out(*ctx, held);
            const on_device<std::uint64_t> counts(*ctx, std::vector<std::uint64_t>(s.slots, 99));
            try {
              scatter_reduce(*ctx, from.rows(s.width), index.index(), out.rows(s.width), op,
                             {.start = start, .counts = counts.numbers(), .variant = variant.name});
            } catch (const error& e) {
              ASSERT_EQ(e.code(), error_code::no_variant) << e.what();
              continue;
            }
            ctx->wait();
            ASSERT_EQ(out.get(), expected);
            ASSERT_EQ(counts.get(), came);
          }
          const on_device<std::int32_t> out(*ctx, held);
          const auto prepared = prepare_scatter_reduce(*ctx, index.index(), s.slots, 3, {.variant = "cuda.by_slot"});
          prepared.run(from.rows(s.width), out.rows(s.width), op, {.start = start});
          ctx->wait();
          ASSERT_EQ(out.get(), expected) << "prepared, " << kind;
        }
      }
    }
  }
}

TEST_F(CudaRows, AnyOrderAddsTheSame) {
  constexpr std::uint64_t count = 100'000;
  constexpr std::uint64_t slots = 900;
  for (const std::uint64_t width : {1, 4, 6, 64, 130}) {
    // Sums of so few bits are exact in every order.
    std::vector<float> in(count * width);
    for (std::uint64_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(inputs::mix(i) % 17) - 8;
    const auto list = random_list(count, slots, "half in one");
    const on_device<float> from(*ctx, in);
    const on_device<std::uint32_t> index(*ctx, list);
    std::vector<float> expected(slots * width, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < width; ++k) expected[list[i] * width + k] -= in[i * width + k];
    }
    const on_device<float> out(*ctx, std::vector<float>(slots * width, 77));
    scatter_reduce(*ctx, from.rows(width), index.index(), out.rows(width), reduction::subtract,
                   {.order = reduction_order::unordered, .start = reduction_start::identity, .variant = "cuda.atomic"});
    ctx->wait();
    EXPECT_EQ(out.get(), expected) << width;
  }
}

TEST_F(CudaRows, BadEntriesOfLongListsAreNamedAndTheContextLives) {
  constexpr std::uint64_t count = 50'000;
  for (const std::uint64_t slots : {100, 256, 70'000}) {
    auto list = random_list(count, slots, "half in one");
    const auto in = random_numbers<std::int32_t>(count * 8, 3);
    const auto good = list;
    list[40'000] = static_cast<std::uint32_t>(slots);
    list[20'001] = ~std::uint32_t{0};
    list[20'002] = static_cast<std::uint32_t>(slots + 3);
    std::vector<std::int32_t> expected(slots * 8, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; list[i] < slots && k < 8; ++k) {
        auto& sum = reinterpret_cast<std::uint32_t&>(expected[list[i] * 8 + k]);
        sum += static_cast<std::uint32_t>(in[i * 8 + k]);
      }
    }
    const on_device<std::int32_t> from(*ctx, in);
    const on_device<std::uint32_t> index(*ctx, list);
    for (const char* variant : {"cuda.sorted", "cuda.atomic"}) {
      const on_device<std::int32_t> out(*ctx, std::vector<std::int32_t>(slots * 8, 5));
      const scatter_reduce_rows_options o{.start = reduction_start::identity, .variant = variant};
      scatter_reduce(*ctx, from.rows(8), index.index(), out.rows(8), reduction::add, o);
      expect_error(error_code::bad_index,
                   fmt::format("scatter_reduce: index[20001] is 4294967295, past the output's {} rows", slots),
                   [&] { ctx->wait(); });
      EXPECT_EQ(out.get(), expected) << variant;
      index.set(good);
      scatter_reduce(*ctx, from.rows(8), index.index(), out.rows(8), reduction::add, o);
      EXPECT_NO_THROW(ctx->wait());
      EXPECT_NE(out.get(), expected);
      index.set(list);
    }
  }
}

TEST_F(CudaRows, BadEntriesOfShortListsAreNamedAndTheOthersCombined) {
  constexpr std::uint64_t slots = 700;
  for (const std::uint64_t count : {1, 3, 300, 4096}) {
    auto list = random_list(count, slots, "half in one");
    const std::uint64_t bad = count / 2;
    list[bad] = static_cast<std::uint32_t>(slots);
    list[count - 1] = static_cast<std::uint32_t>(slots + 3);
    const auto in = random_numbers<std::uint32_t>(count * 8, 3);
    std::vector<std::uint32_t> expected(slots * 8, 5);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; list[i] < slots && k < 8; ++k) expected[list[i] * 8 + k] += in[i * 8 + k];
    }
    const on_device<std::uint32_t> from(*ctx, in);
    const on_device<std::uint32_t> index(*ctx, list);
    for (const char* variant : {"cuda.short", "cuda.leaders"}) {
      const on_device<std::uint32_t> out(*ctx, std::vector<std::uint32_t>(slots * 8, 5));
      scatter_reduce(*ctx, from.rows(8), index.index(), out.rows(8), reduction::add, {.variant = variant});
      expect_error(error_code::bad_index,
                   fmt::format("scatter_reduce: index[{}] is {}, past the output's {} rows", bad, list[bad], slots),
                   [&] { ctx->wait(); });
      EXPECT_EQ(out.get(), expected) << variant << " of " << count;
    }
  }
}

/// A matrix of 16 entries a row, but for an empty row and one of 3000; columns at random or beside the diagonal.
struct matrix_of_rows {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<float> values;

  matrix_of_rows(std::uint64_t rows, std::uint64_t column_count, bool is_banded) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      const std::uint64_t entries = r == 11 ? 0 : r == 12 ? 3000 : 16;
      for (std::uint64_t k = 0; k < entries; ++k) {
        const std::uint64_t at = is_banded ? r * column_count / rows + k : inputs::mix(r * 5000 + k);
        columns.push_back(static_cast<std::uint32_t>(at % column_count));
        values.push_back(static_cast<float>(inputs::mix(r + k) % 19) - 9);
      }
      offsets.push_back(static_cast<std::uint32_t>(columns.size()));
    }
  }
};

TEST_F(CudaRows, ProductsInSlicesHaveTheBitsOfThoseInRows) {
  constexpr std::uint64_t rows = 5000;
  constexpr std::uint64_t columns = 4000;
  for (const bool is_banded : {false, true}) {
    matrix_of_rows matrix(rows, columns, is_banded);
    for (const std::uint64_t width : {64, 96, 256, 1024}) {
      const auto x = random_numbers<float>(columns * width, 7);
      const auto held = random_numbers<float>(rows * width, 8);
      const on_device<std::uint32_t> offsets(*ctx, matrix.offsets);
      const on_device<std::uint32_t> named(*ctx, matrix.columns);
      const on_device<float> values(*ctx, matrix.values);
      const on_device<float> from(*ctx, x);
      const csr_view a(rows, columns, offsets.index(), named.index(), values.numbers());
      const auto product = [&](std::uint64_t cache_bytes, double beta) {
        const context at = context::cuda(ctx->device());
        machine m = at.profile();
        m.cache_bytes = cache_bytes;
        context(at).use(m);
        const on_device<float> y(at, held);
        spmm(at, a, from.rows(width), y.rows(width), {.alpha = 0.5, .beta = beta, .variant = "cuda.rows"});
        at.wait();
        return y.get();
      };
      for (const double beta : {0.0, 2.0}) {
        const auto whole = product(std::uint64_t{1} << 40, beta);
        const auto sliced = product(columns * width * sizeof(float) / 2, beta);
        EXPECT_EQ(whole, sliced) << width;
        // Row 3 by itself.
        for (std::uint64_t k = 0; k < width; ++k) {
          float sum = 0;
          for (std::uint32_t j = matrix.offsets[3]; j < matrix.offsets[4]; ++j) {
            sum = std::fma(x[matrix.columns[j] * width + k], matrix.values[j], sum);
          }
          const float expected = 0.5F * sum + static_cast<float>(beta) * held[3 * width + k];
          ASSERT_NEAR(sliced[3 * width + k], expected, 1e-4F) << k;
        }
      }
    }
  }
}

TEST_F(CudaRows, GraphsCombineWhatTheArraysHoldWhenTheyRun) {
  constexpr std::uint64_t count = 30'000;
  constexpr std::uint64_t slots = 2000;
  constexpr std::uint64_t width = 6;
  const on_device<std::int32_t> from(*ctx, random_numbers<std::int32_t>(count * width, 1));
  const on_device<std::uint32_t> index(*ctx, random_list(count, slots, "uniform"));
  const on_device<std::int32_t> out(*ctx, std::vector<std::int32_t>(slots * width));
  const scatter_reduce_rows_options o{.start = reduction_start::identity, .variant = "cuda.sorted"};
  const captured_graph graph(
      *ctx, [&] { scatter_reduce(*ctx, from.rows(width), index.index(), out.rows(width), reduction::add, o); });
  for (const char* kind : {"same", "uniform", "few"}) {
    const auto in = random_numbers<std::int32_t>(count * width, 9);
    const auto list = random_list(count, slots, kind);
    from.set(in);
    index.set(list);
    graph.launch();
    ctx->wait();
    std::vector<std::uint32_t> expected(slots * width, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < width; ++k) {
        expected[list[i] * width + k] += static_cast<std::uint32_t>(in[i * width + k]);
      }
    }
    const auto got = out.get();
    EXPECT_EQ(std::vector<std::uint32_t>(got.begin(), got.end()), expected) << kind;
  }
}

// Segments that overlap because an offset is wrong may have more pieces than there is room for.
TEST_F(CudaRows, LongSegmentsThatOverlapAreCombinedAll) {
  constexpr std::uint64_t entries = 9000;
  constexpr std::uint64_t segments = 60;
  constexpr std::uint64_t width = 5;
  const auto table = random_numbers<std::int64_t>(200 * width, 4);
  const auto list = random_list(entries, 200, "uniform");
  std::vector<std::uint64_t> bounds(segments + 1);
  for (std::uint64_t s = 0; s <= segments; ++s) bounds[s] = s % 2 == 0 ? s : entries - s;
  std::vector<std::uint64_t> expected(segments * width, 0);
  for (std::uint64_t s = 0; s < segments; ++s) {
    for (std::uint64_t j = bounds[s]; j < bounds[s + 1]; ++j) {
      for (std::uint64_t k = 0; k < width; ++k) {
        expected[s * width + k] += static_cast<std::uint64_t>(table[list[j] * width + k]);
      }
    }
  }
  const on_device<std::int64_t> rows(*ctx, table);
  const on_device<std::uint32_t> index(*ctx, list);
  const on_device<std::uint64_t> offsets(*ctx, bounds);
  const on_device<std::int64_t> out(*ctx, std::vector<std::int64_t>(segments * width, 3));
  gather_reduce(*ctx, rows.rows(width), index.index(), offsets.index(), out.rows(width), reduction::add);
  expect_error(error_code::bad_index,
               fmt::format("gather_reduce: segment 1 begins at {} and ends at 2, before it begins", entries - 1),
               [&] { ctx->wait(); });
  const auto got = out.get();
  EXPECT_EQ(std::vector<std::uint64_t>(got.begin(), got.end()), expected);
}

TEST_F(CudaRows, TransposedProductsInAnyOrderAddTheSame) {
  constexpr std::uint64_t rows = 3000;
  constexpr std::uint64_t columns = 400;
  constexpr std::uint64_t each = 7;
  for (const std::uint64_t width : {1, 4, 10, 64}) {
    std::vector<std::uint64_t> offsets(rows + 1);
    for (std::uint64_t r = 0; r <= rows; ++r) offsets[r] = r * each;
    const auto columns_of = random_list(rows * each, columns, "half in one");
    std::vector<float> weights(rows * each);
    for (std::uint64_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(inputs::mix(i) % 5) - 2;
    std::vector<float> x(rows * width);
    for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(inputs::mix(i + 99) % 9) - 4;
    std::vector<float> expected(columns * width, 2);  // alpha = 0.5, beta = 2, of 1
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t p = offsets[r]; p < offsets[r + 1]; ++p) {
        for (std::uint64_t k = 0; k < width; ++k) {
          expected[columns_of[p] * width + k] += 0.5F * weights[p] * x[r * width + k];
        }
      }
    }
    const on_device<std::uint64_t> begins(*ctx, offsets);
    const on_device<std::uint32_t> column_list(*ctx, columns_of);
    const on_device<float> entries(*ctx, weights);
    const on_device<float> dense(*ctx, x);
    const csr_view a(rows, columns, begins.index(), column_list.index(), entries.numbers());
    for (const char* variant : {"cuda.atomic", "cuda.transposed"}) {
      const on_device<float> y(*ctx, std::vector<float>(columns * width, 1));
      spmm(*ctx, a, dense.rows(width), y.rows(width),
           {.alpha = 0.5, .beta = 2, .transposed = true, .order = reduction_order::unordered, .variant = variant});
      ctx->wait();
      EXPECT_EQ(y.get(), expected) << variant << " " << width;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_rows_test
