#include "core/startable.hpp"
#include "lab/description/plain_loops.hpp"

namespace sheaf::jobs {
namespace {

template <class Record, class Index>
void gather_loop(int threads, std::uint64_t count, const Record* table, const Index* index, Record* out) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < count; ++i) out[i] = table[index[i]];
}

template <class Record, class Index>
void scatter_loop(int threads, std::uint64_t count, const Record* in, const Index* index, Record* out) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < count; ++i) out[index[i]] = in[i];
}

template <class Value, class Index>
void add_loop(std::uint64_t count, const Value* values, const Index* index, Value* slots) {
  for (std::uint64_t i = 0; i < count; ++i) slots[index[i]] += values[i];
}

template <class Value>
plain_call add_loop_of(const problem_spec& p, const array_set& arrays) {
  return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    return [count = p.count, arrays] {
      add_loop(count, items_of<const Value>(arrays[places::source]), items_of<const Index>(arrays[places::index]),
               items_of<Value>(arrays[places::target]));
    };
  });
}

}  // namespace

plain_call plain_gather(const context& ctx, const problem_spec& p, const array_set& arrays) {
  return with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
      return [threads = ctx.threads(), count = p.count, arrays] {
        gather_loop(threads, count, items_of<const Record>(arrays[places::source]),
                    items_of<const Index>(arrays[places::index]), items_of<Record>(arrays[places::target]));
      };
    });
  });
}

plain_call plain_scatter(const context& ctx, const problem_spec& p, const array_set& arrays) {
  const int threads = p.duplicates == duplicates::last ? 1 : ctx.threads();
  return with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
      return [threads, count = p.count, arrays] {
        scatter_loop(threads, count, items_of<const Record>(arrays[places::source]),
                     items_of<const Index>(arrays[places::index]), items_of<Record>(arrays[places::target]));
      };
    });
  });
}

plain_call plain_scatter_reduce(const context&, const problem_spec& p, const array_set& arrays) {
  if (p.op != reduction::add) return {};
  switch (p.value) {
    case value_type::f32: return add_loop_of<float>(p, arrays);
    case value_type::f64: return add_loop_of<double>(p, arrays);
    case value_type::i32:
    case value_type::u32: return add_loop_of<std::uint32_t>(p, arrays);
    case value_type::i64:
    case value_type::u64: return add_loop_of<std::uint64_t>(p, arrays);
  }
  return {};
}

}  // namespace sheaf::jobs
