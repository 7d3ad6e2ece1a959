// Stands in front of the shaders of sums over edges: what an edge between two nodes contributes, in four components.
uniform sampler2DArray nodes;
uniform uint nodes_width_bits;
uniform uint nodes_layer_bits;
uniform uint components;
uniform uint part;  // components 4 part up to 4 part + 3
uniform uint is_inverse_square;

// What a node has: the components of this part, and where the function needs them those of the other one.
struct node_value {
  vec4 drawn;
#ifdef HAS_MORE_THAN_FOUR
  vec4 rest;
#endif
};

#ifdef HAS_MORE_THAN_FOUR
float channel_of(uint i) {
  return texelFetch(nodes, layered_texel_of(i, nodes_width_bits, nodes_layer_bits), 0).r;
}

// Components lie in as many texels. There is no loop: llvmpipe counts the rounds of inner loops, too, when it ends
// outer ones.
vec4 part_of(uint node, uint which) {
  uint k = 4u * which;
  uint i = node * components + k;
  vec4 value = vec4(0.0);
  if (k < components) value.x = channel_of(i);
  if (k + 1u < components) value.y = channel_of(i + 1u);
  if (k + 2u < components) value.z = channel_of(i + 2u);
  if (k + 3u < components) value.w = channel_of(i + 3u);
  return value;
}

node_value node_value_of(uint node) {
  node_value value = node_value(part_of(node, part), vec4(0.0));
  if (is_inverse_square != 0u) value.rest = part_of(node, 1u - part);
  return value;
}
#else
// Components are the channels of one texel, the others of which are constant.
node_value node_value_of(uint node) {
  return node_value(texelFetch(nodes, layered_texel_of(node, nodes_width_bits, nodes_layer_bits), 0));
}
#endif

vec4 contribution(node_value first, node_value second, float weight) {
  vec4 difference = second.drawn - first.drawn;
  if (is_inverse_square == 0u) return weight * difference;
  float square = dot(difference, difference);
#ifdef HAS_MORE_THAN_FOUR
  vec4 rest = second.rest - first.rest;
  square += dot(rest, rest);
#endif
  if (square == 0.0) return vec4(0.0);
  return (weight / square) * (difference * (1.0 / sqrt(square)));
}
