// A point is an edge. The end of this rendering pass says its pixel.
layout(location = 0) in uint first;
layout(location = 1) in uint second;
layout(location = 2) in float weight;
uniform uint is_second_pass;
uniform uint node_count;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out vec4 edge_value;

void main() {
  edge_value = vec4(0.0);
  gl_Position = clipped;
  uint i = (is_second_pass != 0u ? second : first) - tile_first;
  if (first >= node_count || second >= node_count || i >= tile_count) return;
  gl_Position = pixel_of(i, width_bits, size);
  edge_value = contribution(node_value_of(first), node_value_of(second), weight);
}
