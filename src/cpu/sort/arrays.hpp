#pragma once

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/words.hpp"
#include "cpu/threads/write_combining.hpp"

// The two forms in which words lie in memory between passes. Both have a writer, which is what a pass scatters to.
namespace sheaf::cpu {

/// An array of words without gaps.
template <class Word>
class word_array final : public word_reader<Word> {
 public:
  using word = Word;
  static constexpr bool holds_words = true;
  static constexpr std::uint64_t stored_bytes = sizeof(Word);
  /// Bytes of write-combining buffers that a writer takes for each bucket.
  static constexpr std::uint64_t buffer_bytes_per_bucket = write_buffer_bytes;

  word_array() = default;
  explicit word_array(void* words) noexcept : words_(static_cast<Word*>(words)) {}
  static word_array in_scratch(std::byte* memory, std::uint64_t /*count*/) noexcept { return word_array(memory); }
  static word_array in_outputs(const primitives::sort_buffers& b) noexcept { return word_array(b.out.data); }

  Word* word_at(std::uint64_t first) const noexcept { return words_ + first; }
  word_array from_word(std::uint64_t first) const noexcept { return word_array(words_ + first); }
  const Word* read(std::uint64_t first, std::uint64_t, Word*) const noexcept override { return words_ + first; }

  /// Moves words to the buckets of an array, through write-combining buffers. Bucket b begins at starts[b]; `cursors`
  /// has space for a position per bucket.
  class writer {
   public:
    writer(const word_array& to, std::byte* memory, std::uint64_t* cursors, const std::uint64_t* starts,
           std::uint64_t buckets, bool streams) noexcept
        : buffers_(memory, cursors, starts, to.words_, streams) {
      const std::uint64_t misalignment = write_buffers<Word>::misalignment_of(to.words_);
      for (std::uint64_t b = 0; b < buckets; ++b) cursors[b] = starts[b] + misalignment;
    }
    void put(std::uint64_t bucket, Word word) const noexcept { buffers_.put(bucket, word); }
    void finish(std::uint64_t buckets) const noexcept { buffers_.finish(buckets); }

   private:
    write_buffers<Word> buffers_;
  };

 private:
  Word* words_ = nullptr;
};

/// Words as two arrays: one of their key bits, one of their payloads.
template <class Word, class Key, class Payload>
class pair_array final : public word_reader<Word> {
 public:
  using word = Word;
  static constexpr bool holds_words = false;
  static constexpr std::uint64_t stored_bytes = sizeof(Key) + sizeof(Payload);
  static constexpr std::uint64_t buffer_bytes_per_bucket = 2 * write_buffer_bytes;

  pair_array() = default;
  pair_array(Key* keys, Payload* payloads) noexcept : keys_(keys), payloads_(payloads) {}
  static pair_array in_scratch(std::byte* memory, std::uint64_t count) noexcept {
    auto* const payloads = reinterpret_cast<std::uint64_t*>(memory + whole_write_buffers(count * sizeof(Key)));
    return {reinterpret_cast<Key*>(memory), reinterpret_cast<Payload*>(payloads)};
  }
  static pair_array in_outputs(const primitives::sort_buffers& b) noexcept {
    return {reinterpret_cast<Key*>(b.out.data), reinterpret_cast<Payload*>(b.columns[0].out.data)};
  }

  pair_array from_word(std::uint64_t first) const noexcept { return {keys_ + first, payloads_ + first}; }
  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    for (std::uint64_t i = 0; i < count; ++i) {
      buffer[i] = static_cast<Word>(Word{keys_[first + i]} << bits_in<Payload>) | payloads_[first + i];
    }
    return buffer;
  }

  const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    for (std::uint64_t i = 0; i < count; ++i) {
      buffer[i] = static_cast<Word>(Word{keys_[first + i]} << bits_in<Payload>);
    }
    return buffer;
  }

  /// Moves words to the buckets of both arrays like the writer of word_array. The arrays share the cursors, which count
  /// from the buffer boundary before the keys.
  class writer {
   public:
    writer(const pair_array& to, std::byte* memory, std::uint64_t* cursors, const std::uint64_t* starts,
           std::uint64_t buckets, bool streams) noexcept
        : keys_(memory, cursors, starts, to.keys_, streams),
          payloads_(memory + buckets * write_buffer_bytes, cursors, starts, to.payloads_, streams),
          cursors_(cursors),
          misalignment_difference_(write_buffers<Payload>::misalignment_of(to.payloads_) -
                                   write_buffers<Key>::misalignment_of(to.keys_)) {
      const std::uint64_t misalignment = write_buffers<Key>::misalignment_of(to.keys_);
      for (std::uint64_t b = 0; b < buckets; ++b) cursors[b] = starts[b] + misalignment;
    }
    void put(std::uint64_t bucket, Word word) const noexcept {
      const std::uint64_t position = cursors_[bucket]++;
      keys_.put_at(bucket, position, static_cast<Key>(word >> bits_in<Payload>));
      payloads_.put_at(bucket, position + misalignment_difference_, static_cast<Payload>(word));
    }
    void finish(std::uint64_t buckets) const noexcept {
      keys_.finish(buckets);
      for (std::uint64_t b = 0; b < buckets; ++b) cursors_[b] += misalignment_difference_;
      payloads_.finish(buckets);
    }

   private:
    write_buffers<Key> keys_;
    write_buffers<Payload> payloads_;
    std::uint64_t* cursors_;
    std::uint64_t misalignment_difference_;  // misalignment of payloads less that of keys, modulo 2^64
  };

 private:
  Key* keys_ = nullptr;
  Payload* payloads_ = nullptr;
};

}  // namespace sheaf::cpu
