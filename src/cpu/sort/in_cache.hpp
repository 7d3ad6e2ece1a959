#pragma once

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/words.hpp"

// Sorts words that fit a core's caches, by one thread: LSD radix sort by the highest digits that differ, then recursion
// into the runs that these digits left equal; insertion sort for few words.
namespace sheaf::cpu {

/// Most words for which insertion sort beats radix sort.
constexpr std::uint64_t most_insertion_words = 24;
/// Most bits of a digit in cache: its counters and the lines that it writes to must fit the first two caches.
constexpr std::uint32_t cached_digit_bits = 9;
constexpr std::uint32_t most_cached_digits = 3;

template <class Word>
void insertion_sort(Word* words, std::uint64_t count, Word mask) noexcept {
  for (std::uint64_t i = 1; i < count; ++i) {
    const Word word = words[i];
    const auto key = static_cast<Word>(word & mask);
    std::uint64_t to = i;
    for (; to > 0 && static_cast<Word>(words[to - 1] & mask) > key; --to) words[to] = words[to - 1];
    words[to] = word;
  }
}

/// What is known of an array of words under a mask.
template <class Word>
struct word_properties {
  Word differing = 0;   ///< bits that are not the same in all words
  bool ascends = true;  ///< no word is below the one before it
};

/// Whether no word under the mask is below the one before it. The loop does not stop early: it is for words that are
/// likely to ascend.
template <class Word>
bool ascends_throughout(const Word* words, std::uint64_t count, Word mask) noexcept {
  unsigned falls = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    falls |= static_cast<Word>(words[i] & mask) < static_cast<Word>(words[i - 1] & mask) ? 1U : 0U;
  }
  return falls == 0;
}

template <class Word>
word_properties<Word> properties_of(const Word* words, std::uint64_t count, Word mask) noexcept {
  Word differing = 0;
  std::uint64_t i = 1;
  while (i < count && static_cast<Word>(words[i - 1] & mask) <= static_cast<Word>(words[i] & mask)) ++i;
  const bool ascends = i >= count;
  for (i = 1; i < count; ++i) differing = static_cast<Word>(differing | (words[i] ^ words[0]));
  return {static_cast<Word>(differing & mask), ascends};
}

/// Whether each word under the mask is below the one before it.
template <class Word>
bool descends_strictly(const Word* words, std::uint64_t count, Word mask) noexcept {
  std::uint64_t i = 1;
  while (i<count&& static_cast<Word>(words[i - 1] & mask)> static_cast<Word>(words[i] & mask)) ++i;
  return i >= count;
}

/// Reads bits [shift, shift + bits) of words in memory, at most 31 of them.
template <class Word>
class digit_reader {
 public:
  digit_reader() = default;
  digit_reader(std::uint32_t shift, std::uint32_t bits) noexcept
      : byte_(std::min(shift / 8, 8U)), shift_(shift), mask_((1U << bits) - 1) {
    if (reads_halves) shift_ -= 8 * byte_;
  }

  std::uint32_t of(const Word& word) const noexcept {
    if constexpr (reads_halves) {
      std::uint64_t half;  // shifting two words of 64 bits as one takes three instructions more
      std::memcpy(&half, reinterpret_cast<const std::byte*>(&word) + byte_, sizeof half);
      return static_cast<std::uint32_t>(half >> shift_) & mask_;
    } else {
      return static_cast<std::uint32_t>(word >> shift_) & mask_;
    }
  }
  std::uint32_t buckets() const noexcept { return mask_ + 1; }

 private:
  static constexpr bool reads_halves = sizeof(Word) == 16 && std::endian::native == std::endian::little;

  std::uint32_t byte_ = 0;
  std::uint32_t shift_ = 0;
  std::uint32_t mask_ = 0;
};

/// The digits that sort_in_cache sorts by: of the bits that differ the highest, as many as tell most words apart.
struct cached_digits {
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 0;        ///< bits of all digits together
  std::uint32_t passes = 1;      ///< number of digits
  std::uint32_t digit_bits = 1;  ///< bits of a digit; the highest may have fewer

  template <class Word>
  static cached_digits of(Word differing, std::uint64_t count) noexcept {
    cached_digits digits;
    const std::uint32_t end = width_of(differing);
    const std::uint32_t span = end - lowest_bit(differing);
    const std::uint32_t enough = static_cast<std::uint32_t>(std::bit_width(count)) + 2;
    digits.bits = std::min({span, enough, most_cached_digits * cached_digit_bits});
    digits.first_bit = end - digits.bits;
    digits.passes = (digits.bits + cached_digit_bits - 1) / cached_digit_bits;
    digits.digit_bits = (digits.bits + digits.passes - 1) / digits.passes;
    return digits;
  }
  template <class Word>
  digit_reader<Word> reader(std::uint32_t pass) const noexcept {
    return {first_bit + pass * digit_bits, std::min(digit_bits, bits - pass * digit_bits)};
  }
};

template <std::uint32_t Passes, class Word>
void count_digits(const Word* words, std::uint64_t count, const cached_digits& digits,
                  std::uint32_t (*counts)[1U << cached_digit_bits]) noexcept {
  digit_reader<Word> digit[Passes];
  for (std::uint32_t pass = 0; pass < Passes; ++pass) digit[pass] = digits.reader<Word>(pass);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::uint32_t pass = 0; pass < Passes; ++pass) ++counts[pass][digit[pass].of(words[i])];
  }
}

/// LSD radix sort by the digits. The result is in `words`: every pass moves words to `spare` and swaps the two
/// pointers. All histograms are counted in one read. A pass whose digit is the same in all words is left out.
template <class Word>
void radix_sort_in_cache(Word*& words, Word*& spare, std::uint64_t count, const cached_digits& digits) noexcept {
  std::uint32_t counts[most_cached_digits][1U << cached_digit_bits];
  for (std::uint32_t pass = 0; pass < digits.passes; ++pass) {
    std::fill_n(counts[pass], digits.reader<Word>(pass).buckets(), 0U);
  }
  switch (digits.passes) {
    case 1: count_digits<1>(words, count, digits, counts); break;
    case 2: count_digits<2>(words, count, digits, counts); break;
    default: count_digits<3>(words, count, digits, counts);
  }
  for (std::uint32_t pass = 0; pass < digits.passes; ++pass) {
    const digit_reader<Word> digit = digits.reader<Word>(pass);
    std::uint32_t* const next = counts[pass];
    if (next[digit.of(words[0])] == count) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t b = 0; b < digit.buckets(); ++b) sum += std::exchange(next[b], sum);
    const Word* const from = words;
    Word* const to = spare;
    for (std::uint64_t i = 0; i < count; ++i) to[next[digit.of(from[i])]++] = from[i];
    std::swap(words, spare);
  }
}

/// Calls run(first, count) for every run of several words that are equal in the bits under the mask.
template <class Word, class Run>
void for_each_equal_run(const Word* words, std::uint64_t count, Word mask, Run run) {
  for (std::uint64_t first = 0; first + 1 < count;) {
    std::uint64_t end = first + 1;
    while (end < count && static_cast<Word>((words[end] ^ words[first]) & mask) == 0) ++end;
    if (end - first > 1) run(first, end - first);
    first = end;
  }
}

/// Sorts `words` stably by the bits under the mask; `spare` holds as many words. Returns which of the two has the
/// result.
template <class Word>
Word* sort_in_cache(Word* words, Word* spare, std::uint64_t count, Word mask) noexcept {
  if (count <= most_insertion_words) {
    insertion_sort(words, count, mask);
    return words;
  }
  const word_properties<Word> order = properties_of(words, count, mask);
  if (order.ascends) return words;
  const cached_digits digits = cached_digits::of(order.differing, count);
  radix_sort_in_cache(words, spare, count, digits);
  const Word below = low_bits<Word>(digits.first_bit);
  if ((order.differing & below) == 0) return words;
  // Runs that the digits left equal are sorted by the bits below, so that each recursion has fewer bits to look at.
  for_each_equal_run(words, count, static_cast<Word>(mask & ~below), [&](std::uint64_t first, std::uint64_t run) {
    Word* const sorted = sort_in_cache(words + first, spare + first, run, static_cast<Word>(mask & below));
    if (sorted != words + first) std::memcpy(words + first, sorted, run * sizeof(Word));
  });
  return words;
}

/// Sorts like sort_in_cache, and then runs of equal words by the key bits of the rounds that follow `round`.
template <class Word>
Word* sort_rounds_in_cache(Word* words, Word* spare, std::uint64_t count, Word mask, const word_encoder<Word>& encoder,
                           std::uint32_t round, std::uint32_t rounds) noexcept {
  Word* const sorted = sort_in_cache(words, spare, count, mask);
  if (round + 1 == rounds) return sorted;
  Word* const other = sorted == words ? spare : words;
  for_each_equal_run(sorted, count, mask, [&](std::uint64_t first, std::uint64_t run) {
    encoder.encode_round(sorted + first, run, round + 1);
    const Word* const again =
        sort_rounds_in_cache(sorted + first, other + first, run, mask, encoder, round + 1, rounds);
    if (again != sorted + first) std::memcpy(sorted + first, again, run * sizeof(Word));
  });
  return sorted;
}

}  // namespace sheaf::cpu
