#include "opengl/device/record_numbers.hpp"

#include "primitives/index_reader.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};

// Returns the first position whose index names none of `limit` records. A negative index is above every limit.
template <class Index>
std::uint64_t narrow(const Index* index, std::uint64_t count, std::uint64_t limit, std::uint32_t* numbers) {
  std::uint64_t first_bad = none;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(index[i]);  // extends the sign
    const bool is_good = number < limit;
    numbers[i] = is_good ? static_cast<std::uint32_t>(number) : no_record;
    if (!is_good) first_bad = std::min(first_bad, i);
  }
  return first_bad;
}

}  // namespace

void write_record_numbers(opengl_state& state, const primitives::movement& movement, index_span index,
                          const core::index_wording& wording, std::uint32_t* numbers) {
  const std::uint64_t call = state.begin_call();
  primitives::with_entries(index, [&](const auto* list) {
    const std::uint64_t bad = narrow(list, index.count, movement.indexed_count, numbers);
    if (bad == none || movement.bounds == bounds::trust) return;
    state.keep_first({.call = call,
                      .position = bad,
                      .value = static_cast<std::uint64_t>(list[bad]),  // extends the sign
                      .limit = movement.indexed_count,
                      .wording = &wording,
                      .is_signed = primitives::is_signed(index.type)});
  });
}

}  // namespace sheaf::opengl
