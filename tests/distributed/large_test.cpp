#include <sys/mman.h>
#include <cstring>
#include <map>

#include <sheaf/distributed/scatter.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/spmv.hpp>

#include "distributed/ranks.hpp"

// Rows and bytes past 2^32, in memory of which few pages are there.
namespace sheaf::tests::distributed_large_test {
namespace {

using namespace distributed;

/// Zeros, of which only pages that are written take memory.
class sparse_memory {
 public:
  explicit sparse_memory(std::uint64_t bytes) : bytes_(std::max<std::uint64_t>(bytes, 1)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  sparse_memory(const sparse_memory&) = delete;
  sparse_memory& operator=(const sparse_memory&) = delete;
  ~sparse_memory() { munmap(data_, bytes_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::uint64_t bytes_;
  void* data_;
};

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;

/// Most rows are on the last rank, and more than 2^32 of them; or each of two ranks has 3/4 of as many.
layout past_32_bits(int ranks, bool on_one) {
  std::vector<std::uint64_t> begins(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t r = 1; r < begins.size(); ++r) begins[r] = begins[r - 1] + 1000;
  if (!on_one && ranks > 1) {
    for (std::size_t r = 1; r < begins.size(); ++r) begins[r] += two_to_32 / 4 * 3 * std::min<std::uint64_t>(r, 2);
  } else {
    begins.back() += two_to_32 + two_to_32 / 2;
  }
  return layout::at(begins);
}

/// Rows on both sides of 2^32 and at the ends of parts.
std::vector<std::uint64_t> telling_rows(const layout& rows) {
  std::vector<std::uint64_t> list{0, 1, two_to_32 - 1, two_to_32, two_to_32 + 1, rows.count() - 1};
  for (int r = 0; r < rows.ranks(); ++r) {
    if (rows.count(r) == 0) continue;
    list.push_back(rows.begin(r));
    list.push_back(rows.end(r) - 1);
  }
  for (std::uint64_t i = 0; i < 200; ++i) list.push_back(i * 0x9e3779b97f4a7c15U % rows.count());
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

TEST(DistributedLarge, GatherAndScatterReachRowsPast32Bits) {
  for (const bool on_one : {true, false}) {
    on_ranks_both_ways([&](const group& ranks) {
      const layout rows = past_32_bits(ranks.size(), on_one);
      const std::vector<std::uint64_t> named = telling_rows(rows);
      const std::uint64_t count = rows.count(ranks.rank());
      const std::uint64_t first = rows.begin(ranks.rank());
      const sparse_memory memory(count * 2);
      auto* const table = memory.as<std::uint16_t>();
      const auto number = [](std::uint64_t row) { return static_cast<std::uint16_t>(row * 7 + (row >> 32) + 1); };
      // Each rank scatters every size-th of the rows.
      std::vector<std::uint64_t> list;
      std::vector<std::uint16_t> in;
      for (std::size_t i = static_cast<std::size_t>(ranks.rank()); i < named.size();
           i += static_cast<std::size_t>(ranks.size())) {
        list.push_back(named[i]);
        in.push_back(number(named[i]));
      }
      distributed::scatter(ranks, in, list, records(table, count, 2), rows);
      for (const std::uint64_t row : named) {
        if (row < first || row >= first + count) continue;
        ASSERT_EQ(table[row - first], number(row)) << row;
        if (row + 1 < first + count && !std::binary_search(named.begin(), named.end(), row + 1)) {
          ASSERT_EQ(table[row + 1 - first], 0) << row;
        }
      }
      std::vector<std::uint16_t> out(named.size(), 9);
      distributed::gather(ranks, const_records(table, count, 2), rows, named, out);
      for (std::size_t i = 0; i < named.size(); ++i) ASSERT_EQ(out[i], number(named[i])) << named[i];
      const auto prepared = prepare_gather(ranks, named, rows);
      std::fill(out.begin(), out.end(), std::uint16_t{9});
      prepared.run(const_records(table, count, 2), out);
      for (std::size_t i = 0; i < named.size(); ++i) ASSERT_EQ(out[i], number(named[i])) << named[i];
      ranks.wait();
      // A bad index is named by its value.
      std::vector<std::uint64_t> bad{3, rows.count()};
      out.resize(2);
      distributed::gather(ranks, const_records(table, count, 2), rows, bad, out);
      const std::string said = message_of(error_code::bad_index, [&] { ranks.wait(); });
      EXPECT_EQ(said, "gather: index[1] is " + std::to_string(rows.count()) + ", past the table's " +
                          std::to_string(rows.count()) + " records");
    });
  }
}

TEST(DistributedLarge, ReductionsReachBytesPast32Bits) {
  on_ranks_both_ways([](const group& ranks) {
    // Rows of 64 KiB: few of them, and more than 4 GiB on the last rank.
    constexpr std::uint64_t width = 8192;
    const layout rows = layout::at([&] {
      std::vector<std::uint64_t> begins(static_cast<std::size_t>(ranks.size()) + 1);
      for (std::size_t r = 0; r < begins.size(); ++r) begins[r] = r * 10;
      begins.back() += two_to_32 / (width * 8) + 1000;
      return begins;
    }());
    const std::uint64_t count = rows.count(ranks.rank());
    const sparse_memory memory(count * width * 8);
    auto* const out = memory.as<double>();
    const std::vector<std::uint64_t> list{0, rows.count() - 1, rows.count() - 1, 5};
    std::vector<double> in(list.size() * width);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t row = i / width;
      in[i] = static_cast<double>(i % width + row);
    }
    distributed::scatter_reduce(ranks, const_value_rows(in.data(), list.size(), width, value_type::f64), list,
                                value_rows(out, count, width, value_type::f64), rows, reduction::add);
    const double times = ranks.size();
    if (ranks.rank() == ranks.size() - 1) {
      for (std::uint64_t k = 0; k < width; ++k)
        ASSERT_EQ(out[(count - 1) * width + k], times * static_cast<double>(2 * k + 3)) << k;
      EXPECT_EQ(out[(count - 2) * width], 0);
    }
    if (ranks.rank() == 0) {
      for (std::uint64_t k = 0; k < width; ++k) ASSERT_EQ(out[5 * width + k], times * static_cast<double>(k + 3)) << k;
    }
  });
}

TEST(DistributedLarge, SortsReadRowsPast32BitsOfBytes) {
  on_ranks([](const group& ranks) {
    constexpr std::uint64_t stride = 1 << 20;
    constexpr std::uint64_t count = 5000;
    const sparse_memory memory(count * stride);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < count; ++i) {
      // Few keys are written: others are 0, and take no memory.
      const std::uint64_t key = i % 50 == 0 ? (i * 0x9e3779b97f4a7c15U >> 5) + 1 : 0;
      if (key != 0) std::memcpy(memory.as<std::byte>() + i * stride, &key, 8);
      for (int r = 0; r < ranks.size(); ++r) expected.push_back(key);
    }
    std::sort(expected.begin(), expected.end());
    const sorted_records got = distributed::sort_records(ranks, const_records(memory.as<std::byte>(), count, 8, stride),
                                                         sort_key::of<std::uint64_t>());
    const auto mine = got.rows.as<std::uint64_t>();
    const auto right = part_of(expected, got.where, ranks.rank());
    ASSERT_EQ(mine.size(), right.size());
    EXPECT_TRUE(std::equal(mine.begin(), mine.end(), right.begin()));
  });
}

TEST(DistributedLarge, ProductsReachColumnsPast32Bits) {
  for (const bool on_one : {true, false}) {
    on_ranks([&](const group& ranks) {
      const layout columns = past_32_bits(ranks.size(), on_one);
      const std::vector<std::uint64_t> named = telling_rows(columns);
      const std::uint64_t first = columns.begin(ranks.rank());
      const std::uint64_t count = columns.count(ranks.rank());
      const sparse_memory memory(count * 4);
      auto* const x = memory.as<float>();
      std::map<std::uint64_t, float> value_of;
      for (std::size_t i = 0; i < named.size(); ++i) {
        value_of[named[i]] = static_cast<float>(i + 1);
        if (named[i] >= first && named[i] < first + count) x[named[i] - first] = static_cast<float>(i + 1);
      }
      // One row for each column, in another order on each rank.
      const std::uint64_t rows = named.size();
      std::vector<std::uint64_t> offsets(rows + 1);
      std::vector<std::uint64_t> column(rows);
      for (std::uint64_t r = 0; r < rows; ++r) {
        offsets[r + 1] = r + 1;
        column[r] = named[(r * 3 + static_cast<std::uint64_t>(ranks.rank())) % rows];
      }
      const std::vector<float> ones(rows, 2);
      std::vector<float> y(rows, -1);
      const layout row_parts = layout::of(ranks, rows);
      distributed::spmv(ranks, csr_view(rows, columns.count(), offsets, column, ones), row_parts, columns,
                        const_values(x, count, value_type::f32), y);
      for (std::uint64_t r = 0; r < rows; ++r) ASSERT_EQ(y[r], 2 * value_of[column[r]]) << column[r];
    });
  }
}

}  // namespace
}  // namespace sheaf::tests::distributed_large_test
