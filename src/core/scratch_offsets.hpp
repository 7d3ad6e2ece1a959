#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::core {

/// Scratch of a call, and every array in it, begins at a multiple of these bytes.
constexpr std::uint64_t scratch_alignment = 256;

/// Bytes that an array takes in scratch, up to where the next may begin.
constexpr std::uint64_t scratch_aligned(std::uint64_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

/// Lays arrays one behind the other in scratch.
class scratch_offsets {
 public:
  /// Where an array of so many bytes begins.
  constexpr std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t begin = bytes_;
    bytes_ += scratch_aligned(bytes);
    return begin;
  }
  /// Bytes of all arrays, and where the next would begin.
  constexpr std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Lays arrays one behind the other in scratch, by type. Without scratch it only counts bytes(), and arrays are null.
/// So one function says what arrays there are, both to a plan, which needs their size, and to the run that uses them.
class scratch_arrays {
 public:
  explicit scratch_arrays(std::byte* scratch) : scratch_(scratch) {}

  template <class T>
  T* take(std::uint64_t count) {
    const std::uint64_t begin = offsets_.take(count * sizeof(T));
    return scratch_ == nullptr ? nullptr : reinterpret_cast<T*>(scratch_ + begin);
  }
  std::uint64_t bytes() const { return offsets_.bytes(); }
  /// The scratch behind the arrays taken so far.
  std::byte* rest() const { return scratch_ == nullptr ? nullptr : scratch_ + bytes(); }

 private:
  std::byte* scratch_;
  scratch_offsets offsets_;
};

/// The arrays of a call, which Arrays(arguments..., scratch_arrays&) takes one after the other; and their bytes.
template <class Arrays, class... Arguments>
Arrays arrays_in(std::byte* scratch, const Arguments&... arguments) {
  scratch_arrays arrays(scratch);
  return Arrays(arguments..., arrays);
}
template <class Arrays, class... Arguments>
std::uint64_t bytes_of(const Arguments&... arguments) {
  scratch_arrays counted(nullptr);
  static_cast<void>(Arrays(arguments..., counted));
  return counted.bytes();
}

}  // namespace sheaf::core
