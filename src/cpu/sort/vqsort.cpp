#include "cpu/sort/vqsort.hpp"

#include "cpu/sort/call.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/variants.hpp"

// Vectors of four numbers or more are worth it.
#if SHEAF_HAS_HIGHWAY && defined(__x86_64__)
#include <hwy/contrib/sort/vqsort.h>
#define SHEAF_MAY_SORT_IN_VECTORS 1
#else
#define SHEAF_MAY_SORT_IN_VECTORS 0
#endif

// The variant cpu.vqsort: Highway's vectorized quicksort (Blacher, Giesen, Sanders, Wassenberg 2022) of words of 8
// bytes, by one thread. It is not stable and needs not be: words are rows that are their own key, of which equal ones
// are the same, or hold the row's number below the key, so that no two are equal.
namespace sheaf::cpu {

bool sorts_in_vectors() noexcept {
#if SHEAF_MAY_SORT_IN_VECTORS
  static const bool sorts = __builtin_cpu_supports("avx2") != 0;
  return sorts;
#else
  return false;
#endif
}

namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

void sort_numbers([[maybe_unused]] std::uint64_t* numbers, [[maybe_unused]] std::uint64_t count) {
#if SHEAF_MAY_SORT_IN_VECTORS
  hwy::Sorter()(numbers, count, hwy::SortAscending());
#endif
}

void sort_words(const word_encoder<std::uint64_t>& encoder, std::uint64_t count, std::uint64_t* words) {
  encoder.encode(0, count, 0, words);
  if (!ascends_throughout(words, count, ~std::uint64_t{0})) sort_numbers(words, count);
  encoder.write_rows(0, count, words);
}

void run_vqsort(const context&, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                std::byte* scratch) {
  const auto decided = plan.decided.get<sort_decision>();
  ask_for_huge_pages(scratch, decided.layout.bytes);
  auto* const words = reinterpret_cast<std::uint64_t*>(scratch);
  if (decided.encoding.content == word_content::row) {
    sort_words(row_encoder<std::uint64_t>(p, b), p.count, words);
  } else {
    sort_words(index_encoder<std::uint64_t>(p, b, decided.encoding), p.count, words);
  }
}

}  // namespace

constinit const primitives::sort_variant sort_vqsort{"cpu.vqsort", backend_kind::cpu, plan_vqsort, run_vqsort};

}  // namespace sheaf::cpu
