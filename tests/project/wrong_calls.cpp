// Calls with views of a wrong type, one for each CASE, and what the compiler has to say first. wrong_calls.cmake
// compiles them; no target has this file.
#include <list>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

using floats = std::vector<float>;
using doubles = std::vector<double>;
using strings = std::vector<std::string>;

void call(const sheaf::context& ctx, const std::vector<std::uint32_t>& index, floats& in, floats& out) {
#if CASE == 1  // could not convert|no viable conversion
  sheaf::gather(ctx, std::list<float>(), index, out);
#elif CASE == 2   // could not convert|no viable conversion
  sheaf::gather(ctx, in, in, out);
#elif CASE == 3   // sort_keys: keys is not a vector, array or span of numbers of at most 16 bytes
  strings sorted;
  sheaf::sort_keys(ctx, strings(), sorted);
#elif CASE == 4   // sort_keys: sorted is not a vector, array or span of the keys' type that may be written
  doubles sorted;
  sheaf::sort_keys(ctx, in, sorted);
#elif CASE == 5   // sort_keys: sorted is not a vector, array or span of the keys' type that may be written
  const floats sorted;
  sheaf::sort_keys(ctx, in, sorted);
#elif CASE == 6   // sort_pairs: values is not a vector, array or span of trivially copyable values
  strings sorted;
  sheaf::sort_pairs(ctx, in, out, strings(), sorted);
#elif CASE == 7   // sort_pairs: values_out is not a vector, array or span of the values' type that may be written
  sheaf::sort_pairs(ctx, in, out, index, out);
#elif CASE == 8   // list_scan: out is not a vector, array or span of in's type that may be written
  doubles wide;
  sheaf::list_scan(ctx, index, in, wide, [](float a, float b) { return a + b; });
#elif CASE == 9   // list_scan: op\(earlier, later\) does not take two values, or does not return one
  sheaf::list_scan(ctx, index, in, out, [](float a) { return a; });
#elif CASE == 10  // list_scan: nodes is not a vector, array or span of list_node of out's type
  sheaf::list_scan(ctx, std::vector<sheaf::list_node<int>>(), out, [](float a, float b) { return a + b; });
#elif CASE == 11  // edge_sum: weights is not a vector, array or span of the values' type
  sheaf::edge_sum<1, 1>(ctx, {}, in, doubles(), out, [](const float*, const float*, const float*, float*) {});
#elif CASE == 12  // edge_sum: f does not take \(first, second, weights, contribution\), pointers to values
  sheaf::edge_sum<1, 1>(ctx, {}, in, in, out, [](float a, float b) { return a + b; });
#else             // none
  sheaf::gather(ctx, in, index, out);
  sheaf::sort_keys(ctx, in, out);
#endif
}
