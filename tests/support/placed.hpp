#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/records.hpp>

#include "lab/inputs/pattern.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::tests {

/// Records on the host with everything around them: guard bytes and `misalignment` more bytes in front, padding between
/// records, guard bytes behind. A comparison of whole images finds every stray write.
struct image {
  static constexpr std::uint64_t guard_bytes = 64;

  std::vector<std::byte> bytes;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 1;
  std::uint64_t stride_bytes = 1;

  records view(std::byte* base) const {
    return {base == nullptr ? nullptr : base + first, count, record_bytes, stride_bytes};
  }
  records view() { return view(bytes.data()); }
  const_records view() const { return view(const_cast<std::byte*>(bytes.data())); }
  const std::byte* record(std::uint64_t i) const { return bytes.data() + first + i * stride_bytes; }
  std::byte* record(std::uint64_t i) { return bytes.data() + first + i * stride_bytes; }
};

/// An image of bytes that depend on their place, so that poison moved elsewhere is found. Without guarded_end the
/// memory ends with the last record, so that AddressSanitizer finds a read past it.
inline image poisoned(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t stride_bytes,
                      std::uint64_t misalignment = 0, bool guarded_end = true) {
  image made;
  made.first = image::guard_bytes + misalignment;
  made.count = count;
  made.record_bytes = record_bytes;
  made.stride_bytes = stride_bytes;
  const std::uint64_t extent = count == 0 ? 0 : (count - 1) * stride_bytes + record_bytes;
  made.bytes.resize(made.first + extent + (guarded_end ? image::guard_bytes : 0));
  for (std::uint64_t i = 0; i < made.bytes.size(); ++i) made.bytes[i] = static_cast<std::byte>(0xa5 ^ i ^ (i >> 8));
  return made;
}

/// Records to read, filled from the seed.
inline image filled(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t stride_bytes,
                    std::uint64_t misalignment, std::uint64_t seed) {
  image made = poisoned(count, record_bytes, stride_bytes, misalignment, false);
  inputs::fill_records(context::cpu(1), made.view(), seed);
  return made;
}

/// An index list made by a pattern.
inline image index_list(const inputs::pattern& p, std::uint64_t indexed_count, std::uint64_t count, index_type type) {
  image made = poisoned(count, bytes(type), bytes(type), 0, false);
  inputs::fill_index(context::cpu(1), p, indexed_count, {made.record(0), count, type});
  return made;
}

/// Entry i of an index list becomes these bits, cut to the type's width.
inline void set_entry(image& index, std::uint64_t i, std::uint64_t bits) {
  std::memcpy(index.record(i), &bits, index.record_bytes);
}

inline index_span index_view(const image& index, index_type type) { return {index.record(0), index.count, type}; }

/// An image in the memory of a context.
class placed {
 public:
  placed(const context& ctx, image&& of) = delete;  // the view is the image's
  placed(const context& ctx, const image& of) : ctx_(ctx), image_(&of), memory_(ctx, of.bytes.size()) {
    copy_bytes(ctx, memory_.data(), of.bytes.data(), of.bytes.size());
  }

  records view() const { return image_->view(memory_.data()); }
  index_span index(index_type type) const { return {view().data, image_->count, type}; }
  std::vector<std::byte> download() const {
    std::vector<std::byte> bytes(image_->bytes.size());
    copy_bytes(ctx_, bytes.data(), memory_.data(), bytes.size());
    return bytes;
  }

 private:
  context ctx_;
  const image* image_;
  buffer memory_;
};

/// Expects equal bytes. A failure names the first byte that differs and its record.
inline void expect_bytes(const std::vector<std::byte>& got, const image& expected, std::string_view what) {
  ASSERT_EQ(got.size(), expected.bytes.size());
  if (got.empty() || std::memcmp(got.data(), expected.bytes.data(), got.size()) == 0) return;
  const auto [place, other] = std::mismatch(got.begin(), got.end(), expected.bytes.begin());
  const auto at = static_cast<std::int64_t>(place - got.begin()) - static_cast<std::int64_t>(expected.first);
  const auto stride = static_cast<std::int64_t>(expected.stride_bytes);
  ADD_FAILURE() << what << ": byte " << at << " from its first record (record " << at / stride << ", byte "
                << at % stride << " of " << stride << ") is " << std::to_integer<int>(*place) << ", not "
                << std::to_integer<int>(*other);
}

}  // namespace sheaf::tests
