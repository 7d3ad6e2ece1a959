// The variants cuda.atomic and cuda.fixed_point of products with vectors. Sums of whole numbers are exact in any order,
// so however rows are shared among lanes, warps and blocks, and wherever sums are kept, y has the same numbers.
#include <sheaf/spmv.hpp>

#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "lab/description/arrays.hpp"
#include "lab/description/entry.hpp"
#include "support/captured_graph.hpp"
#include "support/expect_error.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cuda_spmv_atomic_test {
namespace {

double whole(std::uint64_t i) { return static_cast<double>(inputs::mix(i) % 9) - 4; }

template <class ColumnsOf>
sparse_rows whole_rows(std::string name, std::uint64_t rows, std::uint64_t columns, ColumnsOf columns_of) {
  sparse_rows m = made_rows(std::move(name), rows, columns, columns_of);
  std::uint64_t place = 0;
  for (auto& row : m.rows) {
    for (csr_entry& e : row) e.value = whole(++place);
  }
  return m;
}

constexpr double alpha = 0.5;
constexpr double y_before = 3;

std::vector<double> expected_of(const sparse_rows& m, double beta) {
  std::vector<double> y(m.columns, beta * y_before);
  for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
    for (const csr_entry& e : m.rows[r]) y[e.column] += alpha * e.value * whole(r);
  }
  return y;
}

void expect_numbers(const image& found, const std::vector<double>& expected, value_type type) {
  ASSERT_EQ(found.count, expected.size());
  for (std::uint64_t c = 0; c < expected.size(); ++c) ASSERT_EQ(number_at(found, c, type), expected[c]) << c;
}

class SpmvAtomic : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  std::optional<context> ctx;
};

/// By every variant that goes through the entries row by row.
class TransposedSpmv : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  static spmv_options options(double beta, access_pattern pattern = access_pattern::unknown()) {
    return {.alpha = alpha,
            .beta = beta,
            .transposed = true,
            .order = reduction_order::unordered,
            .pattern = pattern,
            .variant = GetParam()};
  }

  /// y of a product. Without beta, y has NaN before it.
  image product(const csr_images& images, const spmv_options& o, bool has_fault = false) const {
    const value_type type = images.layout.value;
    const placed_csr a(*ctx, images);
    const image x_image = numbers(images.rows, type, whole, false);
    const image y_image = numbers(
        images.columns, type,
        [&](std::uint64_t) { return o.beta == 0 ? std::numeric_limits<double>::quiet_NaN() : y_before; }, true);
    const placed x(*ctx, x_image);
    const placed y(*ctx, y_image);
    spmv(*ctx, a.view(), const_values_of(x.view(), type), values_of(y.view(), type), o);
    if (has_fault) {
      EXPECT_THROW(ctx->wait(), error);
    } else {
      ctx->wait();
    }
    image found = y_image;
    found.bytes = y.download();
    return found;
  }

  void expect_exact(const sparse_rows& m, access_pattern pattern = access_pattern::unknown()) const {
    constexpr csr_layout layouts[] = {
        {value_type::f64, index_type::u64, index_type::u32, false},
        {value_type::f32, index_type::u32, index_type::u32, false},
        {value_type::f32, index_type::i64, index_type::i64, false},
        {value_type::f64, index_type::i32, index_type::u64, false},
        {value_type::f64, index_type::u32, index_type::u32, true},
        {value_type::f32, index_type::u64, index_type::u64, true},
    };
    for (const csr_layout& layout : layouts) {
      const csr_images images(m, layout);
      for (const double beta : {0.0, 1.0, 2.0}) {
        SCOPED_TRACE(fmt::format("{}, {}, beta {}", m.name, layout.description(), beta));
        expect_numbers(product(images, options(beta, pattern)), expected_of(m, beta), layout.value);
        if (HasFatalFailure()) return;
      }
    }
  }

  std::optional<context> ctx;
};

TEST_P(TransposedSpmv, RowsHaveAnyLength) {
  for (const std::uint64_t length : {1,  2,  3,   4,   5,   7,   8,   9,   15,   16,   17,   31,   32,  33,
                                     64, 65, 127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025, 2500}) {
    expect_exact(whole_rows(fmt::format("rows of {}", length), 67, 5000,
                            [&](std::uint64_t r) { return drawn_columns(r, length, 5000); }));
    expect_exact(whole_rows(fmt::format("rows of {} in the mean", length), 67, 5000, [&](std::uint64_t r) {
      return drawn_columns(r, inputs::mix(r) % (2 * length + 1), 5000);
    }));
    if (HasFailure()) return;
  }
}

TEST_P(TransposedSpmv, ColumnsLieSideBySide) {
  for (const std::uint64_t n : {1, 31, 33, 257, 3000}) {
    for (const std::uint64_t half : {0, 1, 3, 8}) {
      expect_exact(whole_rows(fmt::format("{} rows, band {}", n, half), n, n, [&](std::uint64_t r) {
        column_list c;
        for (std::uint64_t i = r < half ? 0 : r - half; i <= std::min(n - 1, r + half); ++i) c.push_back(i);
        return c;
      }));
    }
  }
}

// Pieces of long rows are cut where places are multiples of 256: a row may begin before such a place, at it or behind.
TEST_P(TransposedSpmv, LongRowsBeginAnywhere) {
  for (const std::uint64_t length : {254, 255, 256, 257, 511, 512, 513, 1024, 5000}) {
    for (const std::uint64_t before : {0, 1, 2, 100, 254, 255, 256, 257}) {
      expect_exact(whole_rows(fmt::format("{} entries, two rows of {}", before, length), 9, 3000, [&](std::uint64_t r) {
        return drawn_columns(r, r == 1 ? before : r == 4 || r == 5 ? length : r == 7 ? 3 : 0, 3000);
      }));
      if (HasFailure()) return;
    }
  }
  expect_exact(
      whole_rows("one row of 300,000", 1, 90'000, [](std::uint64_t r) { return drawn_columns(r, 300'000, 90'000); }));
  expect_exact(whole_rows("one row of 300,000 among 3000", 3000, 90'000,
                          [](std::uint64_t r) { return drawn_columns(r, r == 2222 ? 300'000 : r % 5, 90'000); }));
}

// A warp looks for the rows of 8 to 32 pieces, as the matrix is large.
TEST_P(TransposedSpmv, PiecesOfAWarpGrowWithTheMatrix) {
  constexpr std::uint64_t lengths[] = {255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 5000, 1, 3, 0};
  for (const int log2_entries : {22, 23, 24, 25}) {
    const sparse_rows m =
        whole_rows(fmt::format("more than 2^{} entries", log2_entries), 201, 90'000, [&](std::uint64_t r) {
          const std::uint64_t drawn = lengths[inputs::mix(r) % std::size(lengths)];
          return drawn_columns(r, r == 100 ? std::uint64_t{1} << log2_entries : drawn, 90'000);
        });
    const csr_images images(m, {});
    SCOPED_TRACE(m.name);
    expect_numbers(product(images, options(2)), expected_of(m, 2), images.layout.value);
  }
}

TEST_P(TransposedSpmv, RowsAreManyAndMostAreEmpty) {
  for (const std::uint64_t rows : {255, 256, 257, 100'000}) {
    expect_exact(whole_rows(fmt::format("{} rows", rows), rows, 40'000, [&](std::uint64_t r) {
      return r % 97 == 5 ? drawn_columns(r, r % 3, 40'000) : column_list{};
    }));
  }
}

TEST_P(TransposedSpmv, ColumnsAreFew) {
  // From 512 entries a column on, blocks have copies of y: 32 of up to 96 columns of f64, and 4 of 400.
  for (const std::uint64_t columns : {1, 2, 3, 31, 96, 97, 192, 193, 400}) {
    expect_exact(whole_rows(fmt::format("{} columns", columns), 40'000, columns,
                            [&](std::uint64_t r) { return drawn_columns(r, 6, columns); }));
    if (HasFailure()) return;
  }
  expect_exact(whole_rows("two long rows, 3 columns", 70, 3,
                          [](std::uint64_t r) { return drawn_columns(r, r % 50 == 7 ? 70'000 : r % 4, 3); }));
}

// Half of the entries in one column, and columns of which some come far more often than others: sampled, or as the
// pattern says, rightly or not.
TEST_P(TransposedSpmv, ColumnsAreHot) {
  const sparse_rows half = whole_rows("half in one column", 20'000, 50'000, [](std::uint64_t r) {
    column_list c = drawn_columns(r, 16, 50'000);
    for (std::uint64_t i = 0; i < c.size(); i += 2) c[i] = 777;
    return c;
  });
  const sparse_rows uneven = whole_rows("columns by a power law", 20'000, 50'000, [](std::uint64_t r) {
    column_list c = drawn_columns(r, 13, 1 << 16);
    for (std::uint64_t& column : c) column = 50'000 / (column + 1) % 50'000;
    return c;
  });
  const sparse_rows none =
      whole_rows("no hot columns", 20'000, 50'000, [](std::uint64_t r) { return drawn_columns(r, 9, 50'000); });
  for (const sparse_rows* const m : {&half, &uneven, &none}) {
    for (const access_pattern& pattern :
         {access_pattern::unknown(), access_pattern::skewed(), access_pattern::random()}) {
      expect_exact(*m, pattern);
      if (HasFailure()) return;
    }
  }
}

/// What the plan of a row of sheaf-bench decides.
std::uint64_t copies_of_y(const context& ctx, const std::string& row) {
  const primitives::problem_spec problem = primitives::parse_problem(row);
  const explanation why = primitives::entry_of(problem).explain(ctx, problem, "cuda.atomic");
  for (const decided_value& decided : why.choice()->decided) {
    if (std::string_view(decided.what) == "copies_of_y") return std::get<std::uint64_t>(decided.value);
  }
  return ~std::uint64_t{0};
}

TEST_F(SpmvAtomic, CopiesOfYFitIntoABlockOrThereAreNone) {
  struct sized {
    const char* row;
    std::uint64_t copies;
  };
  jobs::problem_arrays arrays(*ctx);
  for (const sized& c : {sized{"spmv/uniform:s300000:c6144/r8/u32+f64+transposed+unordered/n=3200000", 1},
                         sized{"spmv/uniform:s300000:c6145/r8/u32+f64+transposed+unordered/n=3200000", 0},
                         sized{"spmv/uniform:s300000:c6144/r8/u32+f64+transposed+unordered/n=3000000", 0},
                         sized{"spmv/uniform:s900000:c12288/r4/u32+f32+transposed+unordered/n=6300000", 1},
                         sized{"spmv/uniform:s900000:c12289/r4/u32+f32+transposed+unordered/n=6300000", 0},
                         sized{"spmv/zipf:s300000:c96/r8/u64+f64+transposed+unordered+row_ends/n=3200000", 32},
                         sized{"spmv/zipf:s300000:c97/r8/u64+f64+transposed+unordered+row_ends/n=3200000", 16},
                         sized{"spmv/zipf:s9:c500/r8/u32+f64+transposed+unordered/n=3200000", 4},
                         sized{"spmv/uniform:xzipf/r8/u32+f64+transposed+unordered/n=3200000", 0},
                         sized{"spmv/zipf:x16/r8/u32+u64+f64+transposed+unordered/n=3200000", 0}}) {
    SCOPED_TRACE(c.row);
    EXPECT_EQ(copies_of_y(*ctx, c.row), c.copies);
    const primitives::problem_spec problem = primitives::parse_problem(c.row);
    ASSERT_EQ(jobs::job_of(problem).unchecked(problem), "");
    arrays.fill(problem, 1);
    for (int run = 0; run < 2; ++run) {
      arrays.reset_outputs();
      jobs::job_of(problem).run(*ctx, problem, arrays.of_copy(0), {"cuda.atomic", false});
      ctx->wait();
      EXPECT_EQ(arrays.count_mistakes(false), 0U);
    }
  }
}

/// The entries of one row, as those of so many rows whose begins and ends are yet to be set.
csr_images with_row_ends(const sparse_rows& one, std::uint64_t rows) {
  csr_images images(one, {value_type::f64, index_type::u32, index_type::u32, true});
  images.rows = rows;
  images.begins = poisoned(rows, 4, 4, 0, false);
  images.ends = poisoned(rows, 4, 4, 0, false);
  return images;
}

// Few rows, whose pieces all blocks share, and so many that each block has rows of its own; most share their entries.
TEST_P(TransposedSpmv, RowsMayShareEntries) {
  constexpr std::uint64_t places = 20'000;
  const sparse_rows one = whole_rows("one row", 1, 700, [](std::uint64_t r) { return drawn_columns(r, places, 700); });
  for (const std::uint64_t rows : {3, 60, 300, 20'000}) {
    sparse_rows shared{fmt::format("{} rows that share entries", rows), 700, {}};
    csr_images images = with_row_ends(one, rows);
    for (std::uint64_t r = 0; r < rows; ++r) {
      const std::uint64_t begin = inputs::mix(r) % places;
      const bool is_long = rows < 100 || r % 301 == 7;
      const std::uint64_t end = is_long ? places : std::min(places, begin + r % 9);
      set_entry(images.begins, r, begin);
      set_entry(images.ends, r, end);
      shared.rows.emplace_back(one.rows[0].begin() + static_cast<std::ptrdiff_t>(begin),
                               one.rows[0].begin() + static_cast<std::ptrdiff_t>(end));
    }
    SCOPED_TRACE(shared.name);
    expect_numbers(product(images, options(2)), expected_of(shared, 2), value_type::f64);
  }
}

// Where an offset descends, searches for the rows of places miss rows, or find others.
TEST_P(TransposedSpmv, LongRowsAreAddedOnceWhateverOffsetsAreWrong) {
  const sparse_rows good = whole_rows(
      "long rows", 40, 2000, [](std::uint64_t r) { return drawn_columns(r, r % 3 == 0 ? 3000 : 5 * r, 2000); });
  std::vector<csr_entry> all;
  for (const auto& row : good.rows) all.insert(all.end(), row.begin(), row.end());
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    csr_images images(good, {});
    std::vector<std::uint64_t> offsets{0};
    for (const auto& row : good.rows) offsets.push_back(offsets.back() + row.size());
    for (std::uint64_t i = 0; i < 1 + seed % 7; ++i) {
      const std::uint64_t draw = inputs::mix(100 * seed + i);
      const std::uint64_t wrong = draw % 5 == 0 ? ~std::uint64_t{0} - draw % 9 : draw / 64 % (all.size() + 50);
      offsets[draw % offsets.size()] = wrong;
      set_entry(images.begins, draw % offsets.size(), wrong);
    }
    sparse_rows left{"what is left", 2000, {}};
    bool has_fault = false;
    for (std::uint64_t r = 0; r < good.rows.size(); ++r) {
      const bool is_row = offsets[r] <= offsets[r + 1] && offsets[r + 1] <= all.size();
      has_fault |= !is_row;
      left.rows.emplace_back();
      if (is_row) {
        left.rows.back().assign(all.begin() + static_cast<std::ptrdiff_t>(offsets[r]),
                                all.begin() + static_cast<std::ptrdiff_t>(offsets[r + 1]));
      }
    }
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_numbers(product(images, options(2), has_fault), expected_of(left, 2), value_type::f64);
    if (HasFailure()) return;
  }
}

// In a short row, in one that is almost long, in pieces of long ones, and in rows with ends of their own.
TEST_P(TransposedSpmv, EntriesWithBadColumnsAreAbsentAndTheFirstIsNamed) {
  const sparse_rows m = whole_rows("rows of every kind", 50, 3000, [](std::uint64_t r) {
    return drawn_columns(r, r == 20 ? 250 : r == 30 ? 9000 : 10, 3000);
  });
  for (const bool columns_in_copies : {false, true}) {
    for (const bool has_row_ends : {false, true}) {
      for (const std::uint64_t bad_row : {3, 20, 30, 49}) {
        sparse_rows changed = m;
        if (columns_in_copies) {
          changed.columns = 2;
          for (auto& row : changed.rows) {
            for (csr_entry& e : row) e.column %= 2;
          }
        }
        csr_images images(changed, {.has_row_ends = has_row_ends});
        const auto first_place = [&](std::uint64_t row) {
          std::uint64_t place = 0;
          if (has_row_ends) {
            for (std::uint64_t r = 49; r > row; --r) place += changed.rows[r].size() + 3;
          } else {
            for (std::uint64_t r = 0; r < row; ++r) place += changed.rows[r].size();
          }
          return place;
        };
        auto& row = changed.rows[bad_row];
        const std::uint64_t place = first_place(bad_row) + row.size() - 2;
        set_entry(images.column_indices, place, changed.columns);
        set_entry(images.column_indices, place + 1, changed.columns + 7);
        set_number(images.values, place, value_type::f64, std::numeric_limits<double>::quiet_NaN());
        row.resize(row.size() - 2);
        SCOPED_TRACE(fmt::format("row {}, {} columns, row ends {}", bad_row, changed.columns, has_row_ends));
        const placed_csr a(*ctx, images);
        expect_error(error_code::bad_index,
                     fmt::format("spmv: column_indices[{}], of row {}, is {}, past the matrix's {} columns", place,
                                 bad_row, changed.columns, changed.columns),
                     [&] { product_of(*ctx, a.view(), options(0)); });
        expect_numbers(product(images, options(2), true), expected_of(changed, 2), value_type::f64);
      }
    }
  }
}

// A graph multiplies by what the arrays hold when it runs; whether columns are hot, it samples anew.
TEST_P(TransposedSpmv, IsCapturedIntoAGraph) {
  constexpr std::uint64_t rows = 10'000;
  constexpr std::uint64_t columns = 30'000;
  constexpr std::uint64_t each = 12;
  for (const bool has_row_ends : {false, true}) {
    for (const std::uint64_t y_columns : {columns, std::uint64_t{50}}) {
      const auto made = [&](bool is_hot) {
        return whole_rows("a matrix", rows, y_columns, [&](std::uint64_t r) {
          column_list c = drawn_columns(r + (is_hot ? rows : 0), each, y_columns);
          for (std::uint64_t i = 0; is_hot && i < each / 2; ++i) c[i] = 7;
          return c;
        });
      };
      const sparse_rows matrices[] = {made(false), made(true)};
      const csr_layout layout{.has_row_ends = has_row_ends};
      const csr_images images[] = {csr_images(matrices[0], layout), csr_images(matrices[1], layout)};
      const placed_csr a(*ctx, images[0]);
      const image x_image = numbers(rows, value_type::f64, whole, false);
      const image y_image = numbers(
          y_columns, value_type::f64, [](std::uint64_t) { return y_before; }, true);
      const placed x(*ctx, x_image);
      const placed y(*ctx, y_image);
      const captured_graph graph(*ctx, [&] {
        spmv(*ctx, a.view(), const_values_of(x.view(), value_type::f64), values_of(y.view(), value_type::f64),
             options(2));
      });
      for (const int of : {0, 1, 0}) {
        SCOPED_TRACE(fmt::format("{} columns, row ends {}, matrix {}", y_columns, has_row_ends, of));
        const csr_view view = a.view();
        // The other matrix has the same rows, whose entries have other columns and the same values.
        copy_bytes(*ctx, const_cast<void*>(view.column_indices.data), images[of].column_indices.record(0),
                   images[of].column_indices.count * 4);
        copy_bytes(*ctx, y.view().data, y_image.record(0), y_columns * 8);
        graph.launch();
        ctx->wait();
        image found = y_image;
        found.bytes = y.download();
        expect_numbers(found, expected_of(matrices[of], 2), value_type::f64);
      }
    }
  }
}

TEST_F(SpmvAtomic, IsTheChoiceWhereOrderIsFree) {
  const auto chosen = [&](const std::string& row) {
    const primitives::problem_spec problem = primitives::parse_problem(row);
    return primitives::entry_of(problem).explain(*ctx, problem, {}).choice()->variant;
  };
  for (const char* const n : {"1000", "1000000", "67108864"}) {
    for (const char* const matrix : {"banded:x16", "grid:x7", "uniform:x16", "uniform:xzipf", "zipf:x16"}) {
      for (const char* const type : {"r4/u32+f32", "r8/u32+f64"}) {
        const std::string row = fmt::format("spmv/{}/{}+transposed", matrix, type);
        EXPECT_EQ(chosen(fmt::format("{}+unordered/n={}", row, n)), "cuda.atomic") << row;
        EXPECT_EQ(chosen(fmt::format("{}/n={}", row, n)), "cuda.fixed_point") << row;
      }
    }
  }
  EXPECT_EQ(chosen("spmv/banded:x16/r4/u32+f32+transposed+unordered+f64_sums/n=1000000"), "cuda.fixed_point");
}

TEST_F(SpmvAtomic, RunsOfAMatrixThatIsKeptMayBeInAnyOrder) {
  const sparse_rows m =
      whole_rows("a matrix", 3000, 2000, [](std::uint64_t r) { return drawn_columns(r, r % 9, 2000); });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const image x_image = numbers(images.rows, value_type::f64, whole, false);
  const image y_image = numbers(
      images.columns, value_type::f64, [](std::uint64_t) { return y_before; }, true);
  const placed x(*ctx, x_image);
  for (const reduction_order order : {reduction_order::deterministic, reduction_order::unordered}) {
    const placed y(*ctx, y_image);
    const prepared_spmv prepared =
        prepare_spmv(*ctx, a.view(), 1, {.transposed = true, .order = order, .variant = "kept"});
    EXPECT_EQ(prepared.report().product == "cuda.atomic", order == reduction_order::unordered)
        << prepared.report().product;
    prepared.run(const_values_of(x.view(), value_type::f64), values_of(y.view(), value_type::f64), alpha, 2);
    ctx->wait();
    image found = y_image;
    found.bytes = y.download();
    expect_numbers(found, expected_of(m, 2), value_type::f64);
  }
}

TEST_F(SpmvAtomic, SaysWhyItCannotRun) {
  const auto reason = [&](const char* row) -> std::string {
    const primitives::problem_spec problem = primitives::parse_problem(row);
    for (const variant_estimate& v : primitives::entry_of(problem).explain(*ctx, problem, {}).variants) {
      if (v.variant == "cuda.atomic") return v.reason;
    }
    return "it is none";
  };
  EXPECT_EQ(reason("spmv/banded:x16/r4/u32+f32+unordered/n=1000"), "multiplies by the transposed matrix");
  EXPECT_EQ(reason("spmv/banded:x16/r4/u32+f32+transposed/n=1000"), "adds in the order in which workers arrive");
  EXPECT_EQ(reason("spmv/banded:x16/r4/u32+f32+transposed+unordered+f64_sums/n=1000"),
            "results are narrower than their sums");
}

INSTANTIATE_TEST_SUITE_P(Cuda, TransposedSpmv, testing::Values("cuda.atomic", "cuda.fixed_point"), test_name_of);

}  // namespace
}  // namespace sheaf::tests::cuda_spmv_atomic_test
