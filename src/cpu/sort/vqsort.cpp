#include "cpu/sort/vqsort.hpp"

#include "cpu/sort/call.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/in_order.hpp"
#include "cpu/sort/packed_encoder.hpp"

// Vectors of four numbers or more are worth it.
#if SHEAF_HAS_HIGHWAY && defined(__x86_64__)
#include <cpuid.h>
#include <hwy/contrib/sort/vqsort.h>
#define SHEAF_MAY_SORT_IN_VECTORS 1
#else
#define SHEAF_MAY_SORT_IN_VECTORS 0
#endif

// The variant cpu.vqsort: Highway's vectorized quicksort (Blacher, Giesen, Sanders, Wassenberg 2022) of words of 4, 8
// and 16 bytes, by one thread. It is not stable and needs not be: words are rows that are their own key, of which equal
// ones are the same, or have 8 or 16 bytes and hold the row's number below the key, so that no two are equal.
namespace sheaf::cpu {

bool sorts_in_vectors() noexcept {
#if SHEAF_MAY_SORT_IN_VECTORS
  static const bool sorts = __builtin_cpu_supports("avx2") != 0;
  return sorts;
#else
  return false;
#endif
}

bool stores_lanes_slowly() noexcept {
#if SHEAF_MAY_SORT_IN_VECTORS && !defined(HWY_AVX3_ZEN4)
  static const bool slowly = [] {
    constexpr unsigned family_of_zen3_and_4 = 0x19;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
    const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
    return family == family_of_zen3_and_4 && __builtin_cpu_supports("avx512f") != 0;
  }();
  return slowly;
#else
  return false;
#endif
}

namespace {

using namespace primitives;

template <class Number>
void sort_numbers([[maybe_unused]] Number* numbers, [[maybe_unused]] std::uint64_t count) {
#if SHEAF_MAY_SORT_IN_VECTORS
  if constexpr (std::is_same_v<Number, word128>) {  // two halves, the lower one first in both
    hwy::Sorter()(reinterpret_cast<hwy::uint128_t*>(numbers), count, hwy::SortAscending());
  } else {
    hwy::Sorter()(numbers, count, hwy::SortAscending());
  }
#endif
}

// Whether numbers ascend. Leaves at the first block that does not, which mostly is the first of all. Of equal numbers
// it says no: sorting these is as fast as looking at them.
template <class Number>
bool ascend(const Number* numbers, std::uint64_t count) noexcept {
  bool all = numbers[0] != numbers[std::min(block_words, count) - 1];
  for (std::uint64_t first = 0; all && first + 1 < count; first += block_words) {
    all = ascends_throughout(numbers + first, std::min(block_words + 1, count - first), ~Number{0});
  }
  return all;
}

template <class Number, class Word>
void sort_words(const word_encoder<Word>& encoder, std::uint64_t count, Word* words) {
  for_each_word_block(
      0, count, [&](std::uint64_t first, std::uint64_t block) { encoder.encode(first, block, 0, words + first); });
  auto* const numbers = reinterpret_cast<Number*>(words);
  if (!ascend(numbers, count)) sort_numbers(numbers, count);
  encoder.write_rows(0, count, words);
}

template <class Word>
void sort_rows(const sort_problem& problem, const sort_buffers& buffers, Word* words) {
  const key_field& key = problem.key.fields[0];
  if (key.type == key_type::signed_integer && !key.descending) {
    // Vectors compare signed numbers as they are, so these need not become unsigned ones and back.
    sort_problem as_they_are = problem;
    as_they_are.key.fields[0].type = key_type::unsigned_integer;
    return sort_words<std::make_signed_t<Word>>(row_encoder<Word>(as_they_are, buffers), problem.count, words);
  }
  sort_words<Word>(row_encoder<Word>(problem, buffers), problem.count, words);
}

void run_vqsort(const context&, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
                std::byte* scratch) {
  if (sort_what_is_in_order(problem, buffers)) return;
  const auto decided = plan.decided.get<sort_decision>();
  ask_for_huge_pages(scratch, decided.layout.bytes);
  std::byte* const words = decided.encoding.out_holds_words ? buffers.out.data : scratch;
  if (decided.encoding.content == word_content::key_and_index)
    return sort_row_numbers_in_vectors(problem, buffers, words);
  if (decided.encoding.word_bytes == 4) return sort_rows(problem, buffers, reinterpret_cast<std::uint32_t*>(words));
  sort_rows(problem, buffers, reinterpret_cast<std::uint64_t*>(words));
}

}  // namespace

void sort_row_numbers_in_vectors(const sort_problem& problem, const sort_buffers& buffers, std::byte* scratch) {
  const word_encoding encoding = index_encoding_of(problem);
  const auto sort = [&]<class Word>(Word* words) {
    using number = std::conditional_t<sizeof(Word) == 8, std::uint32_t, std::uint64_t>;
    if (problem.count <= most_packed_rows && packed_encoder<number>::takes(problem)) {
      return sort_words<Word>(packed_encoder<number>(problem, buffers), problem.count, words);
    }
    sort_words<Word>(index_encoder<Word>(problem, buffers, encoding), problem.count, words);
  };
  if (encoding.word_bytes == 8) return sort(reinterpret_cast<std::uint64_t*>(scratch));
  sort(reinterpret_cast<word128*>(scratch));
}

extern constinit const sort_variant sort_vqsort{"cpu.vqsort", backend_kind::cpu, plan_vqsort, run_vqsort};

}  // namespace sheaf::cpu
