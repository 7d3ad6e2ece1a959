#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void sort_numbers(const sheaf::context& ctx) {
  //! [sort_keys]
  const std::vector<float> keys{0.3F, -1.0F, 2.0F};
  std::vector<float> sorted(keys.size());
  sheaf::sort_keys(ctx, keys, sorted, {.descending = true});
  ctx.wait();  // sorted is 2, 0.3, -1
  //! [sort_keys]
  expect(sorted == std::vector<float>{2.0F, 0.3F, -1.0F});
}

void sort_values_along(const sheaf::context& ctx) {
  //! [sort_pairs]
  const std::vector<std::uint64_t> keys{30, 10, 20};
  const std::vector<char> values{'c', 'a', 'b'};
  std::vector<std::uint64_t> sorted_keys(3);
  std::vector<char> sorted_values(3);
  sheaf::sort_pairs(ctx, keys, sorted_keys, values, sorted_values);  // 10 a, 20 b, 30 c

  // Several arrays of values, by keys that nobody wants back.
  const std::vector<double> more{3.0, 1.0, 2.0};
  std::vector<double> sorted_more(3);
  const sheaf::sort_column columns[] = {{values, sorted_values}, {more, sorted_more}};
  sheaf::sort_pairs(ctx, keys, sheaf::sort_key::of<std::uint64_t>(), sheaf::records(), columns);
  ctx.wait();
  //! [sort_pairs]
  expect(sorted_values == std::vector<char>{'a', 'b', 'c'} && sorted_more == std::vector<double>{1, 2, 3});
  //! [explain_sort_pairs]
  const auto key = sheaf::sort_key::of<std::uint64_t>();
  const sheaf::explanation plan = sheaf::explain_sort_pairs(ctx, keys, key, false, columns);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_sort_pairs]
}

void sort_whole_records(const sheaf::context& ctx) {
  //! [sort_records]
  struct person {
    std::uint32_t age;
    char name[4];
  };
  const std::vector<person> people{{41, "ann"}, {7, "bo"}, {41, "al"}};
  std::vector<person> in_order(people.size());
  // The oldest first; where ages are equal, by name.
  const sheaf::sort_key key{{.offset = 0, .bytes = 4, .type = sheaf::key_type::unsigned_integer, .descending = true},
                            {.offset = 4, .bytes = 4, .type = sheaf::key_type::bytes}};
  sheaf::sort_records(ctx, people, key, in_order);
  ctx.wait();  // al, ann, bo
  //! [sort_records]
  expect(in_order[0].name[1] == 'l' && in_order[2].age == 7);
  //! [explain_sort_records]
  const sheaf::explanation plan = sheaf::explain_sort_records(ctx, people, key);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_sort_records]
}

void find_an_order(const sheaf::context& ctx) {
  //! [sort_key]
  // A number of a C++ type at some byte of the record: here a double behind 8 other bytes, highest first.
  const sheaf::sort_key by_price = sheaf::sort_key::of<double>(true, 8);
  //! [sort_key]
  expect(by_price.fields[0].offset == 8);
  //! [sort_gather_index]
  const std::vector<int> keys{30, 10, 20};
  std::vector<std::uint32_t> order(keys.size());
  sheaf::sort_gather_index(ctx, keys, sheaf::sort_key::of<int>(), order);
  ctx.wait();  // order is 1, 2, 0: a gather by it sorts
  //! [sort_gather_index]
  expect(order == std::vector<std::uint32_t>{1, 2, 0});
  //! [explain_sort_gather_index]
  const auto plan = sheaf::explain_sort_gather_index(ctx, keys, sheaf::sort_key::of<int>(), sheaf::index_type::u32);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_sort_gather_index]
}

}  // namespace

void show_sorts(const sheaf::context& ctx) {
  sort_numbers(ctx);
  sort_values_along(ctx);
  sort_whole_records(ctx);
  find_an_order(ctx);
}

}  // namespace calls
