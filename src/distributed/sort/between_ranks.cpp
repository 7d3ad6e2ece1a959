#include <sheaf/distributed/sort.hpp>

#include <memory>
#include <numeric>

#include <sheaf/split.hpp>

#include "distributed/grid.hpp"
#include "distributed/movement/record_copy.hpp"
#include "distributed/sort/by_parts.hpp"
#include "distributed/sort/by_primitives.hpp"
#include "distributed/sort/row_parts.hpp"
#include "primitives/views.hpp"

namespace sheaf::distributed {
namespace {

/// Groups of rows that a rank gets one after another, so that one is sorted while the next one travels; each is worth a
/// message.
std::uint64_t groups_of(const group_state& state, std::uint64_t rows, std::uint64_t row_bytes) {
  constexpr std::uint64_t most_groups = 4;
  // Kernels that sort less take as long.
  const std::uint64_t least_part = state.goes_by_primitives ? 16 : 64;
  const std::uint64_t least_bytes = std::max<std::uint64_t>(1, state.bounds.chunk_bytes / least_part);
  const std::uint64_t share = rows / static_cast<std::uint64_t>(state.size) * row_bytes;
  return state.size == 1 ? 1 : std::clamp<std::uint64_t>(share / least_bytes, 1, most_groups);
}

class moved_group {
 public:
  moved_group(group_state& state, const packed_rows& packed, std::span<const const_records> arrays,
              std::uint64_t groups, std::uint64_t number)
      : state_(state) {
    const auto size = static_cast<std::size_t>(state.size);
    std::vector<std::uint64_t> sent(size);
    for (std::size_t r = 0; r < size; ++r) {
      const std::size_t part = r * groups + number;
      sent[r] = packed.offsets[part + 1] - packed.offsets[part];
    }
    begins_ = begins_of(exchange_counts(state, sent));
    std::vector<const_bytes> all_to;
    std::vector<mutable_bytes> all_from;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      const std::uint64_t width = arrays[a].record_bytes;
      came_.push_back(std::make_unique<message_buffer>(state, begins_.back() * width, state.ctx));
      std::vector<const_bytes> to(size);
      std::vector<mutable_bytes> from(size);
      for (std::size_t r = 0; r < size; ++r) {
        to[r] = {packed.arrays[a].data() + packed.offsets[r * groups + number] * width, sent[r] * width};
        from[r] = {came_.back()->data() + begins_[r] * width, (begins_[r + 1] - begins_[r]) * width};
      }
      if (state.goes_by_primitives) {
        all_to.insert(all_to.end(), to.begin(), to.end());
        all_from.insert(all_from.end(), from.begin(), from.end());
      } else if (state.size >= state.bounds.two_level_ranks) {
        exchange_parts(state, to, from);
      } else {
        on_their_way_.push_back(std::make_unique<exchange>(state, to, from));
      }
    }
    if (state.goes_by_primitives) arrays_on_their_way_ = std::make_unique<array_exchange>(state, all_to, all_from);
  }

  std::uint64_t count() const noexcept { return begins_.back(); }
  const std::byte* array(std::size_t a) const noexcept { return came_[a]->data(); }
  void finish() {
    for (const auto& e : on_their_way_) e->finish();
    on_their_way_.clear();
    if (arrays_on_their_way_) arrays_on_their_way_->finish();
    arrays_on_their_way_.reset();
  }

 private:
  group_state& state_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::unique_ptr<message_buffer>> came_;
  std::vector<std::unique_ptr<exchange>> on_their_way_;
  std::unique_ptr<array_exchange> arrays_on_their_way_;
};

/// A pass over so few parts writes to each of them as to a stream of its own.
constexpr std::uint64_t few_parts = 64;

template <class Part>
packed_rows pack_few(group_state& state, std::span<const const_records> arrays, const parts_of_rows<Part>& of,
                     std::uint64_t count, std::uint64_t parts) {
  std::vector<std::uint64_t> places = of.counts;
  packed_rows packed;
  packed.offsets.assign(parts + 1, 0);
  const row_blocks blocks(count, state.ctx.threads());
  std::uint64_t at = 0;
  for (std::uint64_t part = 0; part < parts; ++part) {
    packed.offsets[part] = at;
    for (std::uint64_t block = 0; block < blocks.blocks; ++block) at += std::exchange(places[block * parts + part], at);
  }
  packed.offsets[parts] = at;
  for (const const_records& array : arrays) {
    packed.arrays.emplace_back(state, count * array.record_bytes);
    std::byte* const to = packed.arrays.back().data();
    with_width(array.record_bytes, [&](auto copy) {
      blocks.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t width = array.record_bytes;
        std::byte* next[few_parts];
        for (std::uint64_t part = 0; part < parts; ++part) next[part] = to + places[block * parts + part] * width;
        const std::byte* from = array.data + begin * array.stride_bytes;
        const std::uint64_t stride = array.stride_bytes;
        const Part* const part = of.part;
        for (std::uint64_t i = begin; i < end; ++i, from += stride) {
          std::byte* const place = next[part[i]];
          next[part[i]] = place + width;
          copy.run(place, from, width);
        }
      });
    });
  }
  return packed;
}

template <class Part>
packed_rows pack(group_state& state, std::span<const const_records> arrays, const parts_of_rows<Part>& of,
                 std::uint64_t count, std::uint64_t parts) {
  if (parts <= few_parts) return pack_few(state, arrays, of, count, parts);
  packed_rows packed;
  packed.offsets.assign(parts + 1, 0);
  const split_key key = split_key::category(const_records(of.part, count, sizeof(Part)), parts);
  for (const const_records& array : arrays) {
    packed.arrays.emplace_back(state, count * array.record_bytes);
    if (count > 0) {
      sheaf::split(state.ctx, array, key, records(packed.arrays.back().data(), count, array.record_bytes),
                   packed.offsets);
    }
  }
  return packed;
}

/// Parts by key begin behind the ties of the splitters' keys, unless these begin there.
template <class Key>
layout layout_by_key(const std::vector<splitter<Key>>& at, std::uint64_t groups, int ranks, std::uint64_t rows) {
  std::vector<std::uint64_t> begins(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t r = 1; r < static_cast<std::size_t>(ranks); ++r) {
    const splitter<Key>& s = at[r * groups - 1];
    begins[r] = s.is_end ? rows : s.less + (s.ties_before() == 0 ? 0 : s.equal);
  }
  begins.back() = rows;
  return layout::at(std::move(begins));
}

void sort_group(group_state& state, const moved_group& group, const sort_request& request, const sorted_pairs& out,
                std::uint64_t first) {
  std::vector<const_records> in{const_records(group.array(0), group.count(), request.keys.record_bytes)};
  for (std::size_t v = 0; v < request.values.size(); ++v)
    in.emplace_back(group.array(v + 1), group.count(), request.values[v].record_bytes);
  sort_arrays(state.ctx, in, request.key, outputs(request, out, first, group.count()));
}

}  // namespace

std::vector<records> outputs(const sort_request& request, const sorted_pairs& out, std::uint64_t first,
                             std::uint64_t count) {
  std::vector<records> to{records(nullptr, 0, request.keys.record_bytes)};
  const auto rows_of = [&](const owned_records& of) {
    return records(of.memory.data() + first * of.record_bytes, count, of.record_bytes);
  };
  if (request.wants_keys) to.front() = rows_of(out.keys);
  for (const owned_records& values : out.values) to.push_back(rows_of(values));
  return to;
}

void take_memory(group_state& state, const sort_request& request, std::uint64_t count, sorted_pairs& out) {
  const auto own = [&](const const_records& of) {
    return owned_records{buffer(state.ctx, count * of.record_bytes), count, of.record_bytes};
  };
  if (request.wants_keys) out.keys = own(request.keys);
  for (const const_records& values : request.values) out.values.push_back(own(values));
}

std::vector<std::uint64_t> inner_positions(const layout& rows, std::uint64_t groups) {
  std::vector<std::uint64_t> positions;
  for (int r = 0; r < rows.ranks(); ++r) {
    const layout inner = layout::even(rows.count(r), static_cast<int>(groups));
    for (std::uint64_t g = 0; g < groups; ++g) positions.push_back(rows.begin(r) + inner.begin(static_cast<int>(g)));
  }
  positions.erase(positions.begin());
  return positions;
}

std::uint64_t fingerprint(const sort_key& key) noexcept {
  std::uint64_t hash = key.count;
  const auto add = [&hash](std::uint64_t n) {
    hash = (hash ^ n) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  };
  for (std::size_t i = 0; i < std::min(key.count, sort_key::most_fields); ++i) {
    const key_field& f = key.fields[i];
    for (const std::uint64_t n : {f.offset, std::uint64_t{f.bytes}, static_cast<std::uint64_t>(f.type),
                                  std::uint64_t{f.descending}, std::uint64_t{f.first_bit}, std::uint64_t{f.bit_count}})
      add(n);
  }
  return hash;
}

namespace {

/// Host memory: the parts of all rows, and the rows in their order.
packed_rows pack_rows(group_state& state, const sort_request& request, std::span<const const_records> arrays,
                      std::uint64_t rows, std::uint64_t groups, layout& where) {
  const std::uint64_t mine = request.keys.count;
  const std::uint64_t parts = groups * static_cast<std::uint64_t>(state.size);
  const std::vector<std::uint64_t> positions = inner_positions(where, groups);
  const key_layout key = layout_of(request.key);
  packed_rows packed;
  const auto pack_parts = [&](auto part) {
    using part_type = decltype(part);
    const buffer part_of(state.ctx, mine * sizeof(part_type));
    parts_of_rows<part_type> rows_parts;
    rows_parts.part = part_of.as<part_type>();
    with_keys(request.keys, key, [&](const auto& keys) {
      using keys_type = std::remove_cvref_t<decltype(keys)>;
      const auto at = splitter_search<keys_type>(state, keys, mine, rows, key.bits).find(positions, rows_parts);
      if (request.parts == balance::by_key) where = layout_by_key(at, groups, state.size, rows);
      write_parts(state, keys, mine, at, request.parts, key.bits, rows_parts);
    });
    packed = pack(state, arrays, rows_parts, mine, parts);
  };
  if (parts <= 256) {
    pack_parts(std::uint8_t{});
  } else {
    pack_parts(std::uint32_t{});
  }
  return packed;
}

/// Each group of rows travels while the one before is sorted.
void move_and_sort(group_state& state, const sort_request& request, std::span<const const_records> arrays,
                   const packed_rows& packed, std::uint64_t groups, const sorted_pairs& out) {
  const std::uint64_t share = out.where.count(state.rank);
  std::uint64_t sorted = 0;
  auto next = std::make_unique<moved_group>(state, packed, arrays, groups, 0);
  for (std::uint64_t g = 0; g < groups; ++g) {
    const auto here = std::move(next);
    here->finish();
    if (g + 1 < groups) next = std::make_unique<moved_group>(state, packed, arrays, groups, g + 1);
    if (sorted + here->count() > share) throw error(error_code::internal, "sort: more rows than a rank's share came");
    sort_group(state, *here, request, out, sorted);
    sorted += here->count();
  }
  if (sorted != share) throw error(error_code::internal, "sort: fewer rows than a rank's share came");
}

}  // namespace

sorted_pairs sort_between_ranks(group_state& state, const sort_request& request,
                                std::span<const std::uint64_t> counts) {
  const std::uint64_t mine = request.keys.count;
  const std::uint64_t rows = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::vector<const_records> arrays{request.keys};
  arrays.insert(arrays.end(), request.values.begin(), request.values.end());
  std::uint64_t row_bytes = 0;
  for (const const_records& array : arrays) row_bytes += array.record_bytes;
  sorted_pairs out;
  out.where = layout::even(rows, state.size);
  if (state.goes_by_primitives && state.size == 1 && request.first_left_out == 0) {
    take_memory(state, request, mine, out);
    sort_arrays(state.ctx, arrays, request.key, outputs(request, out, 0, mine));
    wait_for_queued(state);
    return out;
  }
  const std::uint64_t groups = groups_of(state, rows, row_bytes);
  if (!state.goes_by_primitives) {
    const packed_rows packed = pack_rows(state, request, arrays, rows, groups, out.where);
    take_memory(state, request, out.where.count(state.rank), out);
    move_and_sort(state, request, arrays, packed, groups, out);
    return out;
  }
  if (auto sorted = sort_by_parts(state, request, arrays, counts)) return std::move(*sorted);
  const primitive_parts parts = pack_by_primitives(state, request, arrays, groups);
  out.where = parts.where;
  take_memory(state, request, out.where.count(state.rank), out);
  move_and_sort(state, request, arrays, parts.packed, groups, out);
  wait_for_queued(state);
  return out;
}

namespace {

void require_rows(const group_state& state, std::string_view call, const_records rows, std::string_view what) {
  primitives::require_shape(call, rows, what);
  primitives::require_memory(call, state.ctx, rows.data, primitives::extent(rows), what);
}

}  // namespace

sorted_records sort_records(const group& ranks, const_records in, const sort_key& key, balance parts) {
  return collective(ranks, [&](group_state& state, std::uint64_t) {
    constexpr std::string_view call = "sort_records";
    const agreed_value values[] = {{"the width of a row", in.record_bytes},
                                   agreed_digest("the key", fingerprint(key)),
                                   {"balance", static_cast<std::uint64_t>(parts)}};
    const std::uint64_t shared[] = {in.count};
    const auto headers = state.agree(call, values, shared, [&] {
      primitives::require_enumerator(call, "balance", parts, balance::by_key);
      require_rows(state, call, in, "in");
      sheaf::explain_sort_records(state.ctx, in, key);
    });
    sorted_pairs sorted = sort_between_ranks(state, {in, key, {}, parts, true}, counts_of(headers));
    return sorted_records{std::move(sorted.keys), std::move(sorted.where)};
  });
}

sorted_pairs sort_pairs(const group& ranks, const_records keys, const sort_key& key,
                        std::span<const const_records> values, balance parts) {
  return collective(ranks, [&](group_state& state, std::uint64_t) {
    constexpr std::string_view call = "sort_pairs";
    std::uint64_t widths = values.size();
    for (const const_records& v : values) widths = widths * 65537 + v.record_bytes;
    const agreed_value agreed[] = {{"the width of a row of keys", keys.record_bytes},
                                   agreed_digest("the key", fingerprint(key)),
                                   agreed_digest("the widths of values", widths),
                                   {"balance", static_cast<std::uint64_t>(parts)}};
    const std::uint64_t shared[] = {keys.count};
    const auto headers = state.agree(call, agreed, shared, [&] {
      primitives::require_enumerator(call, "balance", parts, balance::by_key);
      require_rows(state, call, keys, "keys");
      sheaf::explain_sort_records(state.ctx, keys, key);
      if (values.size() > 8) primitives::refuse("{}: {} arrays of values, more than 8", call, values.size());
      for (const const_records& v : values) {
        require_rows(state, call, v, "an array of values");
        if (v.count != keys.count)
          primitives::refuse("{}: {} keys, but an array has {} values", call, keys.count, v.count);
      }
    });
    return sort_between_ranks(state, {keys, key, {values.begin(), values.end()}, parts, true}, counts_of(headers));
  });
}

}  // namespace sheaf::distributed
