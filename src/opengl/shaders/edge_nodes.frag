// A fragment is a node, and loops over its edges from number `skip` on, `most` of them. An entry has the node at the
// other end, and the number of the edge.
uniform usampler2DArray rows;
uniform uint rows_width_bits;
uniform uint rows_layer_bits;
uniform usampler2DArray entries;
uniform uint entries_width_bits;
uniform uint entries_layer_bits;
uniform sampler2DArray weights;
uniform uint weights_width_bits;
uniform uint weights_layer_bits;
uniform uint has_weights;
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
  if (skip >= count) discard;
  count = min(count - skip, most);
  vec4 total = vec4(0.0);
  for (uint k = 0u; k < count; ++k) {
    uint place = row.r + skip + k;
    uvec2 entry = texelFetch(entries, layered_texel_of(place, entries_width_bits, entries_layer_bits), 0).rg;
    float weight = 1.0;
    if (has_weights != 0u) {
      weight = texelFetch(weights, layered_texel_of(entry.g, weights_width_bits, weights_layer_bits), 0).r;
    }
    total += contribution(node, entry.r, weight);
  }
  sum = total;
}
