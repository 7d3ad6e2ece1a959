// A fragment is a node, and loops over its edges by the protocol of draw_loops() (movement/sum_pixels.hpp). Others are
// the nodes at the other ends, numbers those of the edges, which weights alone need.
uniform usampler2DArray rows;
uniform uint rows_width_bits;
uniform uint rows_layer_bits;
uniform usampler2DArray others;
uniform uint others_width_bits;
uniform uint others_layer_bits;
#ifdef HAS_WEIGHTS
uniform usampler2DArray numbers;
uniform uint numbers_width_bits;
uniform uint numbers_layer_bits;
uniform sampler2DArray weights;
uniform uint weights_width_bits;
uniform uint weights_layer_bits;
#endif
uniform uint skip;
uniform uint most;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
out vec4 sum;

void main() {
  uint node = (uint(gl_FragCoord.y) << width_bits) + uint(gl_FragCoord.x);
  if (node >= tile_count) discard;
  node += tile_first;
  uvec2 row = texelFetch(rows, layered_texel_of(node, rows_width_bits, rows_layer_bits), 0).rg;
  uint count = row.g - row.r;
  if (skip > 0u && skip >= count) discard;
  count = min(count - skip, most);
  node_value own = node_value_of(node);
  vec4 total = vec4(0.0);
  for (uint k = 0u; k < count; ++k) {
    uint place = row.r + skip + k;
    uint other = texelFetch(others, layered_texel_of(place, others_width_bits, others_layer_bits), 0).r;
    float weight = 1.0;
#ifdef HAS_WEIGHTS
    uint edge = texelFetch(numbers, layered_texel_of(place, numbers_width_bits, numbers_layer_bits), 0).r;
    weight = texelFetch(weights, layered_texel_of(edge, weights_width_bits, weights_layer_bits), 0).r;
#endif
    total += contribution(own, node_value_of(other), weight);
  }
  sum = total;
}
