// Stands in front of the shaders of sums over edges: what an edge between two nodes contributes, in four components.
uniform sampler2DArray nodes;
uniform uint nodes_width_bits;
uniform uint nodes_layer_bits;
uniform uint components;
uniform uint part;  // components 4 part up to 4 part + 3
uniform uint is_inverse_square;

#ifdef HAS_MORE_THAN_FOUR
float channel_of(uint i) {
  return texelFetch(nodes, layered_texel_of(i, nodes_width_bits, nodes_layer_bits), 0).r;
}

// Components lie in as many texels. There is no loop: llvmpipe counts the rounds of inner loops, too, when it ends
// outer ones.
vec4 value_of(uint node, uint which) {
  uint k = 4u * which;
  uint i = node * components + k;
  vec4 value = vec4(0.0);
  if (k < components) value.x = channel_of(i);
  if (k + 1u < components) value.y = channel_of(i + 1u);
  if (k + 2u < components) value.z = channel_of(i + 2u);
  if (k + 3u < components) value.w = channel_of(i + 3u);
  return value;
}
#else
// Components are the channels of one texel, the others of which are constant.
vec4 value_of(uint node, uint which) {
  return texelFetch(nodes, layered_texel_of(node, nodes_width_bits, nodes_layer_bits), 0);
}
#endif

vec4 contribution(uint first, uint second, float weight) {
  vec4 difference = value_of(second, part) - value_of(first, part);
  if (is_inverse_square == 0u) return weight * difference;
  float square = dot(difference, difference);
#ifdef HAS_MORE_THAN_FOUR
  vec4 rest = value_of(second, 1u - part) - value_of(first, 1u - part);
  square += dot(rest, rest);
#endif
  if (square == 0.0) return vec4(0.0);
  return (weight / square) * (difference * (1.0 / sqrt(square)));
}
