#include "cpu/edges/ends.hpp"

namespace sheaf::cpu {
namespace {

/// The number of components if it is not a constant, and a place where erased functions find it.
constexpr std::uint32_t numbers[most_edge_components + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

template <class T, std::uint32_t Components>
struct difference {
  std::uint32_t number;

  void operator()(const T* first, const T* second, const T* weight, T* out) const {
    const std::uint32_t components = Components == 0 ? number : Components;
    const T w = weight == nullptr ? T{1} : *weight;
    for (std::uint32_t k = 0; k < components; ++k) out[k] = w * (second[k] - first[k]);
  }
};

template <class T, std::uint32_t Components>
struct inverse_square {
  std::uint32_t number;

  void operator()(const T* first, const T* second, const T* weight, T* out) const {
    const std::uint32_t components = Components == 0 ? number : Components;
    T square = 0;
    for (std::uint32_t k = 0; k < components; ++k) {
      out[k] = second[k] - first[k];
      square += out[k] * out[k];
    }
    // Nodes at one place have a strength of 0 and a distance of 1, so that nothing is divided by 0.
    const T w = weight == nullptr ? T{1} : *weight;
    const T divisor = square == 0 ? T{1} : square;
    const T strength = (square == 0 ? T{0} : w) / divisor;
    const T inverse = T{1} / std::sqrt(divisor);
    for (std::uint32_t k = 0; k < components; ++k) out[k] = strength * (out[k] * inverse);
  }
};

template <class T, std::uint32_t Components, template <class, std::uint32_t> class Function>
void sum(const void* number, const detail::host_edge_list& edges, const void* values, void* sums,
         detail::host_node_range own, bool owns_all) {
  const std::uint32_t components = *static_cast<const std::uint32_t*>(number);
  detail::sum_edges_by<T, Components, Components>(Function<T, Components>{components}, edges, values, sums, own,
                                                  owns_all, components);
}

template <class T, std::uint32_t Components>
auto sum_of(edge_function function) {
  return function == edge_function::weighted_difference ? &sum<T, Components, difference>
                                                        : &sum<T, Components, inverse_square>;
}

/// Loops with a constant number of components, for the numbers that graphs and meshes have most.
template <class T>
auto sum_of(edge_function function, std::uint32_t components) {
  switch (components) {
    case 1: return sum_of<T, 1>(function);
    case 2: return sum_of<T, 2>(function);
    case 3: return sum_of<T, 3>(function);
    case 4: return sum_of<T, 4>(function);
    case 5: return sum_of<T, 5>(function);
    case 8: return sum_of<T, 8>(function);
    default: return sum_of<T, 0>(function);
  }
}

}  // namespace

detail::host_edge_function function_of(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) {
  if (b.on_host != nullptr) return *b.on_host;
  return {
      &numbers[p.components], p.components, p.components,
      p.value == value_type::f64 ? sum_of<double>(p.function, p.components) : sum_of<float>(p.function, p.components)};
}

}  // namespace sheaf::cpu
