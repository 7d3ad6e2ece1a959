// Rows in pieces, as they travel to GPUs and back; here the memory where they go is the host's.
#include "apps/sheaf/ranks/row_pieces.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/error.hpp>

#include "core/host_state.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_ranks_row_pieces_test {
namespace {

using distributed::group;

constexpr std::uint64_t of_piece = std::uint64_t{4} << 20;
constexpr auto poison = std::byte{0xee};

void on_one_rank(int threads, const std::function<void(const group&)>& work) {
  distributed::run_in_one_process(1, threads, {}, work);
}

std::byte byte_at(std::uint64_t i) { return static_cast<std::byte>(i * 2'654'435'761U >> 13); }

/// A context whose copies are done as late as they may be: by finish_copies(), of what the memory holds then. Staging
/// memory is poison before something is copied there, and once it was copied away.
class late_state final : public core::host_state {
 public:
  late_state() : host_state(backend_kind::cpu, "copies late") {}

  std::shared_ptr<std::byte> staging_memory(std::uint64_t bytes) override {
    staged_.assign(bytes, poison);
    ++blocks;
    return {staged_.data(), [this](std::byte*) {
              EXPECT_TRUE(queued_.empty()) << "memory is given back that copies may use";
              --blocks;
            }};
  }
  void queue_copy(void* to, const void* from, std::uint64_t bytes) override {
    if (is_staged(to)) std::memset(to, static_cast<int>(poison), bytes);
    queued_.push_back({static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes});
    most_queued = std::max(most_queued, queued_.size());
  }
  void finish_copies() override {
    for (const queued_copy& copy : queued_) {
      std::memcpy(copy.to, copy.from, copy.bytes);
      if (is_staged(copy.from))
        std::memset(staged_.data() + (copy.from - staged_.data()), static_cast<int>(poison), copy.bytes);
    }
    copies_done += queued_.size();
    queued_.clear();
    if (copies_done >= fails_after) throw error(error_code::device_failure, "a copy has failed");
  }

  int blocks = 0;  ///< of staging memory that are there
  std::uint64_t copies_done = 0;
  std::uint64_t fails_after = ~std::uint64_t{0};  ///< copies; the one behind which finish_copies() throws
  std::size_t most_queued = 0;

 protected:
  std::string_view lost_in_a_fork() const noexcept override { return ""; }
  std::string_view works_on() const noexcept override { return "late copies"; }

 private:
  struct queued_copy {
    std::byte* to;
    const std::byte* from;
    std::uint64_t bytes;
  };
  bool is_staged(const void* at) const noexcept {
    const std::less_equal<const void*> lies;
    return lies(staged_.data(), at) && !lies(staged_.data() + staged_.size(), at);
  }

  std::vector<std::byte> staged_;
  std::vector<queued_copy> queued_;
};

/// Reads rows whose bytes are byte_at() of their places.
cli::piece_work reads_bytes(std::uint64_t width, std::atomic<std::uint64_t>& rows) {
  return [width, &rows](std::uint64_t first, std::uint64_t number, std::byte* to) {
    rows += number;
    for (std::uint64_t i = 0; i < number * width; ++i) to[i] = byte_at(first * width + i);
  };
}

// Around the 4 MB of a piece, and rows that are longer than one. Were a piece read before the copy of what it held is
// over, or written before its own is, bytes would be poison or those of another piece.
TEST(RowPieces, AllRowsAreReadOnceAndWrittenInOrder) {
  for (const int threads : {1, 3}) {
    for (const std::uint64_t width : {std::uint64_t{1}, std::uint64_t{24}, of_piece + 3}) {
      for (const std::uint64_t bytes : {std::uint64_t{1}, of_piece - 1, of_piece, of_piece + 1, 3 * of_piece + 77}) {
        const std::uint64_t count = std::max<std::uint64_t>(1, bytes / width);
        SCOPED_TRACE(std::to_string(count) + " rows of " + std::to_string(width) + " bytes");
        std::vector<std::byte> memory(count * width);
        std::atomic<std::uint64_t> read = 0;
        late_state state;
        cli::load_in_pieces(state, threads, {memory.data(), count, width}, reads_bytes(width, read));
        EXPECT_EQ(read, count);
        EXPECT_EQ(state.most_queued, 1U);
        EXPECT_EQ(state.blocks, 0);
        for (std::uint64_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], byte_at(i)) << i;
        std::vector<std::byte> written;
        cli::store_in_pieces(state, {memory.data(), count, width},
                             [&](std::uint64_t first, std::uint64_t number, std::byte* from) {
                               ASSERT_EQ(first * width, written.size());
                               written.insert(written.end(), from, from + number * width);
                               from[0] = std::byte{77};  // it is memory of their own
                             });
        EXPECT_EQ(written, memory);
        EXPECT_EQ(state.blocks, 0);
      }
    }
  }
}

TEST(RowPieces, ThereMayBeNoRows) {
  late_state state;
  const auto never = [](std::uint64_t, std::uint64_t, std::byte*) { ADD_FAILURE() << "there is nothing to do"; };
  cli::load_in_pieces(state, 2, {nullptr, 0, 8}, never);
  cli::store_in_pieces(state, {nullptr, 0, 8}, never);
  EXPECT_EQ(state.copies_done, 0U);
}

TEST(RowPieces, WhatAThreadThrowsIsThrownOnceCopiesAreOver) {
  std::vector<std::byte> memory(std::size_t{9} << 20);
  late_state state;
  EXPECT_THROW(cli::load_in_pieces(state, 3, {memory.data(), memory.size(), 1},
                                   [](std::uint64_t first, std::uint64_t, std::byte*) {
                                     if (first > std::uint64_t{5} << 20) throw std::runtime_error("no more");
                                   }),
               std::runtime_error);
  EXPECT_THROW(cli::store_in_pieces(state, {memory.data(), memory.size(), 1},
                                    [](std::uint64_t, std::uint64_t, std::byte*) { throw std::runtime_error("full"); }),
               std::runtime_error);
  EXPECT_EQ(state.blocks, 0);
}

TEST(RowPieces, FailuresOfEveryCopyAreThrown) {
  std::vector<std::byte> memory(2 * of_piece + 5);
  std::atomic<std::uint64_t> read = 0;
  for (const std::uint64_t copy : {1, 2, 3}) {
    SCOPED_TRACE("copy " + std::to_string(copy) + " of 3");
    late_state loading;
    loading.fails_after = copy;
    expect_error(error_code::device_failure, "a copy has failed", [&] {
      cli::load_in_pieces(loading, 1, {memory.data(), memory.size(), 1}, reads_bytes(1, read));
    });
    late_state storing;
    storing.fails_after = copy;
    expect_error(error_code::device_failure, "a copy has failed", [&] {
      cli::store_in_pieces(storing, {memory.data(), memory.size(), 1}, [](std::uint64_t, std::uint64_t, std::byte*) {});
    });
  }
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
