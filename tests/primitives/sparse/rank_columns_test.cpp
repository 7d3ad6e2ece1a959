#include "primitives/sparse/rank_columns.hpp"

#include <random>
#include <set>

#include "support/contexts.hpp"

// What a backend does with the rows of one rank before there are products between ranks, against loops over sets.
namespace sheaf::tests::primitives_sparse_rank_columns_test {
namespace {

using namespace primitives;

template <class T>
buffer brought(const context& ctx, const std::vector<T>& host) {
  buffer to(ctx, host.size() * sizeof(T));
  copy_bytes(ctx, to.data(), host.data(), to.size());
  return to;
}
template <class T>
std::vector<T> fetched(const context& ctx, const void* from, std::uint64_t count) {
  std::vector<T> host(count);
  copy_bytes(ctx, host.data(), from, count * sizeof(T));
  return host;
}

/// A rank's rows. Places before the first row and behind the last hold columns that there are not.
struct host_rows_of_rank {
  std::uint64_t columns = 0;
  std::uint64_t first_column = 0;
  std::uint64_t own_columns = 0;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> column_of;

  std::uint64_t rows() const { return offsets.size() - 1; }
  std::set<std::uint64_t> columns_in(std::uint64_t block) const {
    const std::uint64_t end = std::min(rows(), (block + 1) * rank_row_block);
    return {column_of.begin() + static_cast<std::ptrdiff_t>(offsets[block * rank_row_block]),
            column_of.begin() + static_cast<std::ptrdiff_t>(offsets[end])};
  }
  bool is_own(std::uint64_t column) const { return column - first_column < own_columns; }
};

host_rows_of_rank rows_of(std::uint64_t rows, std::uint64_t columns, std::uint64_t longest, std::uint64_t reach) {
  std::mt19937_64 random(rows + columns);
  host_rows_of_rank made;
  made.columns = columns;
  made.first_column = columns / 3;
  made.own_columns = columns / 3;
  made.column_of = {columns, columns + 7};
  made.offsets = {2};
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t length = r == rows / 2 ? longest : random() % 5;
    // Some blocks have columns of this rank alone.
    const bool is_near = r / rank_row_block % 3 == 1;
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::uint64_t near = made.first_column + random() % std::max<std::uint64_t>(1, made.own_columns);
      made.column_of.push_back(is_near && made.own_columns > 0 ? near : (near + random() % reach) % columns);
    }
    made.offsets.push_back(made.column_of.size());
  }
  made.column_of.push_back(columns);
  return made;
}

/// The rows where a context works, with lists of these types.
template <class Offset, class Column>
struct placed_rows {
  placed_rows(const context& on, const host_rows_of_rank& of)
      : ctx(on),
        host(of),
        offsets(brought(on, std::vector<Offset>(of.offsets.begin(), of.offsets.end()))),
        column_of(brought(on, std::vector<Column>(of.column_of.begin(), of.column_of.end()))),
        remote(words(of.columns)),
        own(words(of.own_columns)) {
    index_span begins = index_span(std::vector<Offset>());
    begins.data = offsets.data();
    begins.count = of.offsets.size();
    index_span columns = index_span(std::vector<Column>());
    columns.data = column_of.data();
    columns.count = of.column_of.size();
    rows.a = csr_view(of.rows(), of.columns, begins, columns, const_values(nullptr, columns.count, value_type::f64));
    rows.first_column = of.first_column;
    rows.own_columns = of.own_columns;
  }

  buffer words(std::uint64_t columns) const {
    return brought(ctx, std::vector<column_word>(column_words::words_for(columns)));
  }
  static column_words words_in(const buffer& of) { return {of.as<column_word>(), of.size() / sizeof(column_word)}; }
  rows_found look(std::vector<unsigned char>& has_remote) const {
    const buffer found = brought(ctx, std::vector<rows_found>(1));
    const buffer flags = brought(ctx, std::vector<unsigned char>(row_blocks_of(host.rows()), 9));
    rank_column_steps_of(ctx.backend())
        .look(ctx, rows, found.as<rows_found>(), flags.as<unsigned char>(), words_in(remote));
    has_remote = fetched<unsigned char>(ctx, flags.data(), flags.size());
    return fetched<rows_found>(ctx, found.data(), 1)[0];
  }
  std::vector<std::uint64_t> listed(const buffer& of) const {
    const rank_column_steps& steps = rank_column_steps_of(ctx.backend());
    const column_words words = words_in(of);
    steps.count(ctx, words);
    const auto last = fetched<column_word>(ctx, words.words + words.count - 1, 1)[0];
    const buffer list(ctx, last.before * sizeof(std::uint64_t) + 1);
    steps.list(ctx, words, list.as<std::uint64_t>());
    return fetched<std::uint64_t>(ctx, list.data(), last.before);
  }

  context ctx;
  const host_rows_of_rank& host;
  buffer offsets, column_of, remote, own;
  rank_rows rows;
};

template <class Offset, class Column, class To>
void check(const context& ctx, const host_rows_of_rank& host) {
  const rank_column_steps& steps = rank_column_steps_of(ctx.backend());
  const placed_rows<Offset, Column> placed(ctx, host);
  const std::uint64_t blocks = row_blocks_of(host.rows());
  std::vector<unsigned char> has_remote;
  const rows_found found = placed.look(has_remote);
  EXPECT_EQ(found.faults, 0U);
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < host.rows(); ++r) longest = std::max(longest, host.offsets[r + 1] - host.offsets[r]);
  EXPECT_EQ(found.longest_row, longest);

  std::set<std::uint64_t> remote;
  std::vector<unsigned char> is_boundary(blocks);
  std::set<std::uint64_t> own;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    bool expected = false;
    for (const std::uint64_t c : host.columns_in(block)) {
      if (host.is_own(c)) continue;
      expected = true;
      remote.insert(c);
    }
    ASSERT_EQ(has_remote[block] != 0, expected) << "block " << block;
    is_boundary[block] = expected || block % 7 == 3 ? 1 : 0;
    if (is_boundary[block] == 0) continue;
    for (const std::uint64_t c : host.columns_in(block)) {
      if (host.is_own(c)) own.insert(c - host.first_column);
    }
  }
  const std::vector<std::uint64_t> remote_list(remote.begin(), remote.end());
  const std::vector<std::uint64_t> own_list(own.begin(), own.end());
  ASSERT_EQ(placed.listed(placed.remote), remote_list);
  const buffer flags = brought(ctx, is_boundary);
  steps.collect_own(ctx, placed.rows, flags.as<unsigned char>(), placed.words_in(placed.own));
  ASSERT_EQ(placed.listed(placed.own), own_list);

  const auto below = static_cast<std::uint64_t>(
      std::lower_bound(remote_list.begin(), remote_list.end(), host.first_column) - remote_list.begin());
  const buffer to = brought(ctx, std::vector<To>(host.column_of.size(), 77));
  steps.renumber(ctx, placed.rows,
                 {flags.as<unsigned char>(), placed.words_in(placed.remote), placed.words_in(placed.own), below,
                  own_list.size(), sizeof(To) == 4 ? index_type::u32 : index_type::u64, to.data()});
  // The values that boundary rows read, by what they are of.
  std::vector<std::uint64_t> gathered(remote_list.begin(), remote_list.begin() + static_cast<std::ptrdiff_t>(below));
  for (const std::uint64_t c : own_list) gathered.push_back(host.first_column + c);
  gathered.insert(gathered.end(), remote_list.begin() + static_cast<std::ptrdiff_t>(below), remote_list.end());
  const auto written = fetched<To>(ctx, to.data(), host.column_of.size());
  for (std::uint64_t r = 0; r < host.rows(); ++r) {
    const bool reads_gathered = is_boundary[r / rank_row_block] != 0;
    for (std::uint64_t place = host.offsets[r]; place < host.offsets[r + 1]; ++place) {
      const std::uint64_t meant = reads_gathered ? gathered.at(written[place]) : host.first_column + written[place];
      ASSERT_EQ(meant, host.column_of[place]) << "place " << place << " of row " << r;
    }
  }
  for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{1}, host.column_of.size() - 1})
    EXPECT_EQ(written[place], 77U) << "a place of no row";
}

TEST(RankColumns, AreFoundAndWrittenAnew) {
  for (const named_context& c : every_context()) {
    SCOPED_TRACE(c.name);
    for (const std::uint64_t rows : {1, 255, 256, 257, 3000, 20000}) {
      for (const std::uint64_t columns : {1, 63, 64, 65, 4097, 400'000}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
        const host_rows_of_rank host = rows_of(rows, columns, rows % 7 == 0 ? 9 : 2500, columns);
        check<std::uint64_t, std::uint32_t, std::uint32_t>(c.ctx, host);
        check<std::int32_t, std::uint64_t, std::uint64_t>(c.ctx, host);
        check<std::uint32_t, std::int32_t, std::uint32_t>(c.ctx, host);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// One bad row or column of each kind, and the same rows without it.
TEST(RankColumns, ALookFindsFaults) {
  for (const named_context& c : every_context()) {
    SCOPED_TRACE(c.name);
    const host_rows_of_rank good = rows_of(1000, 700, 20, 700);
    const auto faults_of = [&](const host_rows_of_rank& host) {
      std::vector<unsigned char> none;
      const bool wide = placed_rows<std::uint64_t, std::uint64_t>(c.ctx, host).look(none).faults != 0;
      const bool narrow = placed_rows<std::int32_t, std::int32_t>(c.ctx, host).look(none).faults != 0;
      EXPECT_EQ(wide, narrow);
      return wide;
    };
    EXPECT_FALSE(faults_of(good));
    const std::uint64_t negative = ~std::uint64_t{0};
    for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{500}, std::uint64_t{1000}}) {
      for (const std::uint64_t offset : {good.column_of.size() + 1, negative}) {
        host_rows_of_rank bad = good;
        bad.offsets[row] = offset;
        EXPECT_TRUE(faults_of(bad)) << "offset " << row << " is " << offset;
      }
    }
    host_rows_of_rank backwards = good;
    std::swap(backwards.offsets[500], backwards.offsets[510]);
    EXPECT_TRUE(faults_of(backwards));
    for (const std::uint64_t column : {good.columns, negative}) {
      host_rows_of_rank bad = good;
      bad.column_of[bad.offsets[700]] = column;
      EXPECT_TRUE(faults_of(bad)) << "a column " << column;
    }
  }
}

// Of a rank that has 2^32 columns, so that the bits of -1 and of -2^31 are those of columns of its own.
TEST(RankColumns, NegativeColumnsAreFaultsWhateverTheirBits) {
  for (const named_context& c : every_context()) {
    SCOPED_TRACE(c.name);
    for (const std::uint64_t column : {std::uint64_t{0xffffffff}, std::uint64_t{1} << 31, std::uint64_t{5}}) {
      host_rows_of_rank host = rows_of(1000, 700, 20, 700);
      host.column_of[host.offsets[700]] = column;
      placed_rows<std::uint64_t, std::int32_t> placed(c.ctx, host);
      placed.rows.a.columns = placed.rows.own_columns = std::uint64_t{1} << 32;
      placed.rows.first_column = 0;
      std::vector<unsigned char> has_remote;
      EXPECT_EQ(placed.look(has_remote).faults != 0, column != 5) << "a column " << column;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_rank_columns_test
