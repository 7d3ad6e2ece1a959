#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"
#include "support/trials/sort.hpp"
#include "support/trials/split.hpp"

// Records that stay on the host: one context makes an index from keys in its own memory, and another, of the CPU, moves
// the records by it (Patidar and Narayanan 2009, section 3.4).
namespace sheaf::tests::primitives_mixed_contexts_test {
namespace {

std::vector<named_context> movers() {
  return {{"moved by one thread", context::cpu(1)}, {"moved by three threads", context::cpu(3)}};
}

/// What make(keys, index) makes of keys and an index in the memory of the context, as an image on the host.
template <class Make>
image index_made_on(const context& ctx, const image& keys, const image& index_before, index_type type, Make make) {
  const placed keys_there(ctx, keys);
  const placed index_there(ctx, index_before);
  make(const_records(keys_there.view()), index_output(index_there.view().data, index_before.count, type));
  ctx.wait();
  image made = index_before;
  made.bytes = index_there.download();
  return made;
}

/// Records in the order that an index has; or, for a scatter index, records that go where it says.
void expect_moved(const image& in, const image& index, index_type type, bool gathers, const image& before,
                  const image& after) {
  for (const named_context& mover : movers()) {
    SCOPED_TRACE(mover.name);
    image out = before;
    if (gathers) {
      gather(mover.ctx, in.view(), index_view(index, type), out.view());
    } else {
      scatter(mover.ctx, in.view(), index_view(index, type), out.view());
    }
    mover.ctx.wait();
    expect_bytes(out.bytes, after, gathers ? "gathered records" : "scattered records");
  }
}

/// Keys of every width and kind, index entries of every type, and records of many widths and strides. No list is in
/// order before.
std::vector<split_case> mixed_split_cases() {
  rotation<spread> spreads({spread::uniform, spread::zipf, spread::reversed, spread::two});
  rotation<std::uint64_t> widths({256, 1, 8, 3, 100, 4, 12, 1000, 16, 2});
  rotation<std::uint64_t> key_widths({4, 1, 2});
  rotation<std::uint64_t> categories({256, 3, 200});
  rotation<std::uint32_t> bits({8, 5, 32, 11, 17});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  std::vector<split_case> cases;
  for (const std::uint64_t count : {0, 1, 2, 33, 257, 4097, 20011}) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      split_case c;
      c.categories_are = spreads.next();
      c.count = count;
      c.record_bytes = widths.next();
      c.layout = {1, 3, 1, 1, 2, 0};
      c.index = types.next();
      c.wants_offsets = false;
      c.from = repeat % 2 == 0 ? split_key::kind::category : split_key::kind::key_bits;
      c.key_bytes = repeat % 2 == 0 ? key_widths.next() : 8;
      c.categories = categories.next();
      if (repeat % 2 != 0) c.bits = {13, bits.next(), bit_order::little_endian};
      cases.push_back(c);
    }
  }
  split_case wide;
  wide.count = 100;
  wide.record_bytes = 65536;
  wide.from = split_key::kind::category;
  wide.wants_offsets = false;
  cases.push_back(wide);
  return cases;
}

TEST(MixedContexts, TheHostMovesRecordsByTheSplitIndexOfAnyContext) {
  for (const split_case& c : mixed_split_cases()) {
    SCOPED_TRACE(c.description());
    const split_trial t(c);
    EXPECT_TRUE(c.count <= 2 || !std::is_sorted(t.order.begin(), t.order.end())) << "nothing would have to move";
    for (const named_context& maker : every_context()) {
      SCOPED_TRACE("index made on " + maker.name);
      const image from = index_made_on(
          maker.ctx, t.keys, t.gather_before, c.index,
          [&](const_records keys, index_output index) { split_gather_index(maker.ctx, t.key(keys), index); });
      expect_bytes(from.bytes, t.gather_after, "gather index");
      expect_moved(t.in, from, c.index, true, t.out_before, t.out_after);
      const image to = index_made_on(
          maker.ctx, t.keys, t.scatter_before, c.index,
          [&](const_records keys, index_output index) { split_scatter_index(maker.ctx, t.key(keys), index); });
      expect_bytes(to.bytes, t.scatter_after, "scatter index");
      expect_moved(t.in, to, c.index, false, t.out_before, t.out_after);
    }
    if (HasFailure()) break;
  }
}

std::vector<sort_case> mixed_sort_cases() {
  using enum key_type;
  const std::vector<key_field> fields{field(0, 4, unsigned_integer), field(0, 8, unsigned_integer, true),
                                      field(0, 4, signed_integer),   field(0, 8, signed_integer, true),
                                      field(0, 4, floating),         field(0, 8, floating),
                                      field(0, 10, key_type::bytes), field(0, 2, unsigned_integer)};
  rotation<key_spread> spreads(
      {key_spread::uniform, key_spread::few, key_spread::reversed, key_spread::zipf, key_spread::special});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  rotation<std::uint64_t> counts({4097, 33, 20011, 257});
  std::vector<sort_case> cases;
  const auto add = [&](const key_field& by, std::uint64_t count, key_spread keys) {
    sort_case c;
    c.call = sort_call::gather_index;
    c.keys_are = keys;
    c.count = count;
    c.row_bytes = by.bytes;
    c.fields = {by};
    c.index = types.next();
    cases.push_back(c);
  };
  for (const key_field& by : fields) {
    for (int repeat = 0; repeat < 3; ++repeat) add(by, counts.next(), spreads.next());
  }
  for (const std::uint64_t count : {0, 1, 2}) add(fields[0], count, key_spread::uniform);
  return cases;
}

TEST(MixedContexts, TheHostMovesRecordsByTheSortIndexOfAnyContext) {
  rotation<std::uint64_t> widths({256, 1, 100, 8, 3, 12, 1000});
  for (const sort_case& c : mixed_sort_cases()) {
    const std::uint64_t width = widths.next();
    SCOPED_TRACE(fmt::format("{}, records of {} bytes", c.description(), width));
    const sort_trial t(c);
    const image records = filled(c.count, width, width + 1, 2, 7);
    const image before = poisoned(c.count, width, width + 3, 1);
    image after = before;
    bool stays = true;
    for (std::uint64_t i = 0; i < c.count; ++i) {
      std::uint64_t number = 0;
      std::memcpy(&number, t.index_after.record(i), bytes(c.index));
      stays = stays && number == i;
      std::memcpy(after.record(i), records.record(number), width);
    }
    for (const named_context& maker : every_context()) {
      SCOPED_TRACE("index made on " + maker.name);
      const image from = index_made_on(
          maker.ctx, t.in, t.index_before, c.index,
          [&](const_records keys, index_output index) { sort_gather_index(maker.ctx, keys, c.key(), index); });
      expect_bytes(from.bytes, t.index_after, "sort index");
      expect_moved(records, from, c.index, true, before, after);
    }
    if (HasFailure()) break;
  }
}

// An index or keys that were left in the other context's memory are refused before anything is written.
TEST(MixedContexts, MemoryOfTheOtherContextIsRefused) {
  const auto cuda = cuda_context();
  if (!cuda) GTEST_SKIP() << "no CUDA device here";
  const context host = context::cpu(2);
  const buffer there(*cuda, 4096);
  std::vector<std::uint32_t> here(64, 7);
  std::vector<std::uint32_t> records(64, 1);
  const const_records keys_there(there.data(), 64, 4);
  const index_output index_there(there.data() + 1024, 64, index_type::u32);
  const auto refused = [](const char* message, auto call) { expect_error(error_code::bad_argument, message, call); };

  refused("gather: index is in the memory of CUDA device 0, but the context works on the CPU",
          [&] { gather(host, records, index_there, here); });
  refused("scatter: index is in the memory of CUDA device 0, but the context works on the CPU",
          [&] { scatter(host, records, index_there, here); });
  refused("split_gather_index: keys is in host memory, but the context works on CUDA device 0",
          [&] { split_gather_index(*cuda, split_key::category(records, 2), index_there); });
  refused("split_scatter_index: keys is in the memory of CUDA device 0, but the context works on the CPU",
          [&] { split_scatter_index(host, split_key::category(keys_there, 2), here); });
  refused("sort_gather_index: in is in host memory, but the context works on CUDA device 0",
          [&] { sort_gather_index(*cuda, records, field(0, 4, key_type::unsigned_integer), index_there); });
  refused("split_gather_index: the index is in host memory, but the context works on CUDA device 0",
          [&] { split_gather_index(*cuda, split_key::category(keys_there, 2), here); });
  refused("sort_gather_index: the index is in host memory, but the context works on CUDA device 0",
          [&] { sort_gather_index(*cuda, keys_there, field(0, 4, key_type::unsigned_integer), here); });
  EXPECT_NO_THROW(host.wait());
  EXPECT_NO_THROW(cuda->wait());
  EXPECT_EQ(here, std::vector<std::uint32_t>(64, 7));
}

}  // namespace
}  // namespace sheaf::tests::primitives_mixed_contexts_test
