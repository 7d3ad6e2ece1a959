// Rows in pieces, as they travel to GPUs and back; here the memory where they go is the host's.
#include "apps/sheaf/ranks/row_pieces.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_ranks_row_pieces_test {
namespace {

using distributed::group;

void on_one_rank(int threads, const std::function<void(const group&)>& work) {
  distributed::run_in_one_process(1, threads, {}, work);
}

std::byte byte_at(std::uint64_t i) { return static_cast<std::byte>(i * 2'654'435'761U >> 13); }

// Around the 4 MB of a piece, and rows that are longer than one.
TEST(RowPieces, AllRowsAreReadOnceAndWrittenInOrder) {
  const std::uint64_t of_piece = std::uint64_t{4} << 20;
  for (const int threads : {1, 3}) {
    on_one_rank(threads, [&](const group& ranks) {
      for (const std::uint64_t width : {std::uint64_t{1}, std::uint64_t{24}, of_piece + 3}) {
        for (const std::uint64_t bytes : {std::uint64_t{1}, of_piece - 1, of_piece, of_piece + 1, 3 * of_piece + 77}) {
          const std::uint64_t count = std::max<std::uint64_t>(1, bytes / width);
          SCOPED_TRACE(std::to_string(count) + " rows of " + std::to_string(width) + " bytes");
          std::vector<std::byte> memory(count * width);
          std::atomic<std::uint64_t> read = 0;
          cli::load_in_pieces(ranks, {memory.data(), count, width},
                              [&](std::uint64_t first, std::uint64_t number, std::byte* to) {
                                read += number;
                                for (std::uint64_t i = 0; i < number * width; ++i) to[i] = byte_at(first * width + i);
                              });
          EXPECT_EQ(read, count);
          for (std::uint64_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], byte_at(i)) << i;
          std::vector<std::byte> written;
          cli::store_in_pieces(ranks, {memory.data(), count, width},
                               [&](std::uint64_t first, std::uint64_t number, std::byte* from) {
                                 ASSERT_EQ(first * width, written.size());
                                 written.insert(written.end(), from, from + number * width);
                                 from[0] = std::byte{77};  // it is memory of their own
                               });
          EXPECT_EQ(written, memory);
        }
      }
    });
  }
}

TEST(RowPieces, WhatAThreadThrowsIsThrown) {
  on_one_rank(3, [](const group& ranks) {
    std::vector<std::byte> memory(std::size_t{9} << 20);
    EXPECT_THROW(cli::load_in_pieces(ranks, {memory.data(), memory.size(), 1},
                                     [](std::uint64_t first, std::uint64_t, std::byte*) {
                                       if (first > std::uint64_t{5} << 20) throw std::runtime_error("no more");
                                     }),
                 std::runtime_error);
  });
}

TEST(RowPieces, OnTheCpuRowsLieWhereTheyAreReadAndBytesOfTheHostStay) {
  on_one_rank(1, [](const group& ranks) {
    std::vector<std::byte> memory(100);
    std::uint64_t calls = 0;
    cli::load_rows(ranks, {memory.data(), 10, 10}, [&](std::uint64_t first, std::uint64_t number, std::byte* to) {
      ++calls;
      EXPECT_EQ(first, 0U);
      EXPECT_EQ(number, 10U);
      EXPECT_EQ(to, memory.data());
    });
    cli::store_rows(ranks, {memory.data(), 10, 10}, [&](std::uint64_t, std::uint64_t number, std::byte* from) {
      ++calls;
      EXPECT_EQ(number, 10U);
      EXPECT_EQ(from, memory.data());
    });
    EXPECT_EQ(calls, 2U);
    EXPECT_EQ(cli::sent_bytes(ranks, memory.data(), 100).data(), memory.data());
  });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_ranks_row_pieces_test
