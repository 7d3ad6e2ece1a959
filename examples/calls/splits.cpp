#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void split_by_category(const sheaf::context& ctx) {
  //! [split]
  const std::vector<int> in{10, 11, 12, 13};
  const std::vector<std::uint8_t> category{1, 0, 1, 0};
  std::vector<int> out(in.size());
  std::vector<std::uint64_t> offsets(3);
  sheaf::split(ctx, in, sheaf::split_key::category(category, 2), out, offsets);
  ctx.wait();  // out is 11, 13, 10, 12 and offsets is 0, 2, 4
  //! [split]
  expect(out == std::vector<int>{11, 13, 10, 12} && offsets == std::vector<std::uint64_t>{0, 2, 4});
}

void split_by_bits(const sheaf::context& ctx) {
  //! [split_key]
  const std::vector<std::uint32_t> codes{0x0100, 0x0001, 0x0101, 0x0000};
  // By the bits 8 to 15 of the records themselves, of keys in an array of their own, or by categories.
  const sheaf::split_key of_record = sheaf::split_key::of_record({.first = 8, .count = 8});
  const sheaf::split_key of_keys = sheaf::split_key::of(codes, {.first = 8, .count = 8});
  const sheaf::split_key by_category = sheaf::split_key::category(codes, 0x0102);
  //! [split_key]
  std::vector<std::uint32_t> out(4);
  sheaf::split(ctx, codes, of_record, out);
  ctx.wait();
  expect(out == std::vector<std::uint32_t>{0x0001, 0x0000, 0x0100, 0x0101});
  expect(of_keys.categories == 256 && by_category.categories == 258);
  //! [split_unstable]
  sheaf::split_unstable(ctx, codes, of_record, out);  // records of a category in any order
  //! [split_unstable]
  //! [explain_split]
  const sheaf::explanation plan = sheaf::explain_split(ctx, codes, of_record);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_split]
  ctx.wait();
}

void index_splits(const sheaf::context& ctx) {
  //! [split_gather_index]
  const std::vector<std::uint8_t> category{1, 0, 1, 0};
  const sheaf::split_key key = sheaf::split_key::category(category, 2);
  std::vector<std::uint32_t> from(category.size());
  sheaf::split_gather_index(ctx, key, from);  // from is 1, 3, 0, 2: where each record comes from
  //! [split_gather_index]
  //! [split_scatter_index]
  std::vector<std::uint32_t> to(category.size());
  sheaf::split_scatter_index(ctx, key, to);  // to is 2, 0, 3, 1: where each record goes
  //! [split_scatter_index]
  ctx.wait();
  expect(from == std::vector<std::uint32_t>{1, 3, 0, 2} && to == std::vector<std::uint32_t>{2, 0, 3, 1});
  //! [explain_split_gather_index]
  const auto by_gather = sheaf::explain_split_gather_index(ctx, key, sheaf::index_type::u32);
  //! [explain_split_gather_index]
  //! [explain_split_scatter_index]
  const auto by_scatter = sheaf::explain_split_scatter_index(ctx, key, sheaf::index_type::u32);
  //! [explain_split_scatter_index]
  expect(by_gather.choice() != nullptr && by_scatter.choice() != nullptr);
}

void split_to_several(const sheaf::context& ctx) {
  //! [multi_split]
  const std::vector<int> in{10, 20};
  const std::vector<std::uint64_t> first{0, 2, 3};  // record 0 has two categories, record 1 has one
  const std::vector<std::uint8_t> category{0, 1, 1};
  std::vector<int> out(category.size());
  std::vector<std::uint32_t> sources(category.size());
  sheaf::multi_split(ctx, in, {.first = first, .category = category, .categories = 2}, out, sources);
  ctx.wait();  // out is 10, 10, 20 and sources is 0, 0, 1
  //! [multi_split]
  expect(out == std::vector<int>{10, 10, 20} && sources == std::vector<std::uint32_t>{0, 0, 1});
  //! [multi_split_index]
  const sheaf::membership of{.first = first, .category = category, .categories = 2};
  std::vector<std::uint32_t> members(category.size());
  sheaf::multi_split_index(ctx, of, members);  // members is 0, 0, 1: the records of each category
  //! [multi_split_index]
  ctx.wait();
  expect(members == sources);
}

}  // namespace

void show_splits(const sheaf::context& ctx) {
  split_by_category(ctx);
  split_by_bits(ctx);
  index_splits(ctx);
  split_to_several(ctx);
}

}  // namespace calls
