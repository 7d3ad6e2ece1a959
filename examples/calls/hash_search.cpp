#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void describe(const sheaf::hash_index& index) {
  //! [hash_index]
  std::printf("%llu records, %llu keys, at most %llu of one key\n", static_cast<unsigned long long>(index.count()),
              static_cast<unsigned long long>(index.distinct()),
              static_cast<unsigned long long>(index.longest_chain()));
  std::printf("%llu bytes for keys of %llu, at load %.2f, by %s on %s\n",
              static_cast<unsigned long long>(index.bytes()), static_cast<unsigned long long>(index.key_bytes()),
              index.load(), index.variant().data(), sheaf::name(index.backend()).data());
  const bool narrow = index.id_type() == sheaf::index_type::u32;  // of fewer than 2^32 records
  //! [hash_index]
  expect(index.count() == 4 && index.distinct() == 3 && index.longest_chain() == 2 && narrow);
}

void search_for_all(const sheaf::context& ctx, const sheaf::hash_index& index) {
  //! [hash_search]
  const std::vector<std::uint64_t> wanted{10, 99, 30};
  const sheaf::hash_matches found = sheaf::hash_search(ctx, index, wanted);
  //! [hash_search]
  //! [hash_matches]
  // The records of probe i are ids[offsets[i]] up to ids[offsets[i + 1]]; both lie where the context works.
  std::vector<std::uint64_t> offsets(found.probes + 1);
  std::vector<std::uint32_t> ids(found.total);
  sheaf::copy_bytes(ctx, offsets.data(), found.offsets().data, offsets.size() * sizeof(offsets[0]));
  sheaf::copy_bytes(ctx, ids.data(), found.ids().data, ids.size() * sizeof(ids[0]));  // 1, 3, 0
  //! [hash_matches]
  expect(offsets == std::vector<std::uint64_t>{0, 2, 2, 3} && ids == std::vector<std::uint32_t>{1, 3, 0});
  //! [explain_hash_search]
  const sheaf::explanation plan = sheaf::explain_hash_search(ctx, index, wanted);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_hash_search]
}

void search_into_room_for_two(const sheaf::context& ctx, const sheaf::hash_index& index) {
  //! [hash_search_into]
  const std::vector<std::uint64_t> wanted{10, 99, 30};
  std::vector<std::uint64_t> offsets(wanted.size() + 1);
  std::vector<std::uint32_t> ids(2);  // room for two
  const std::uint64_t matches = sheaf::hash_search_into(ctx, index, wanted, offsets, ids);
  ctx.wait();  // matches is 3, ids is 1, 3
  //! [hash_search_into]
  expect(matches == 3 && ids == std::vector<std::uint32_t>{1, 3});
}

void ask_of_each_key(const sheaf::context& ctx, const sheaf::hash_index& index,
                     const std::vector<std::uint64_t>& keys) {
  const std::vector<std::uint64_t> wanted{10, 99};
  //! [hash_count]
  std::vector<std::uint32_t> counts(wanted.size());
  sheaf::hash_count(ctx, index, wanted, counts);  // of the keys 10 and 99: 2, 0
  //! [hash_count]
  //! [hash_contains]
  std::vector<std::uint8_t> found(wanted.size());
  sheaf::hash_contains(ctx, index, wanted, found);  // of the keys 10 and 99: 1, 0
  //! [hash_contains]
  //! [hash_find]
  std::vector<std::int32_t> first(wanted.size());
  sheaf::hash_find(ctx, index, wanted, first);  // of the keys 10 and 99: 1, -1
  //! [hash_find]
  ctx.wait();
  expect(counts == std::vector<std::uint32_t>{2, 0} && found == std::vector<std::uint8_t>{1, 0});
  expect(first == std::vector<std::int32_t>{1, -1});
  //! [explain_hash_count]
  const auto count_plan = sheaf::explain_hash_count(ctx, index, wanted, counts);
  //! [explain_hash_count]
  //! [explain_hash_contains]
  const auto contains_plan = sheaf::explain_hash_contains(ctx, index, wanted);
  //! [explain_hash_contains]
  //! [explain_hash_find]
  const auto find_plan = sheaf::explain_hash_find(ctx, index, wanted);
  //! [explain_hash_find]
  //! [explain_build_hash_index]
  const auto build_plan = sheaf::explain_build_hash_index(ctx, keys);
  std::printf("%s\n", build_plan.choice()->variant.c_str());
  //! [explain_build_hash_index]
  expect(count_plan.choice() != nullptr && contains_plan.choice() != nullptr && find_plan.choice() != nullptr);
}

}  // namespace

void show_hash_search(const sheaf::context& ctx) {
  //! [build_hash_index]
  const std::vector<std::uint64_t> keys{30, 10, 20, 10};
  const sheaf::hash_index index = sheaf::build_hash_index(ctx, keys);
  //! [build_hash_index]
  describe(index);
  search_for_all(ctx, index);
  search_into_room_for_two(ctx, index);
  ask_of_each_key(ctx, index, keys);
}

}  // namespace calls
