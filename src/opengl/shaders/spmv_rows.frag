// A fragment is a row, and loops over its entries by the protocol of draw_loops() (movement/sum_pixels.hpp).
uniform usampler2DArray rows;
uniform uint rows_width_bits;
uniform uint rows_layer_bits;
uniform usampler2DArray entries;  // column, and the bits of the value
uniform uint entries_width_bits;
uniform uint entries_layer_bits;
uniform sampler2DArray x;
uniform uint x_width_bits;
uniform uint x_layer_bits;
uniform uint x_count;
uniform uint skip;
uniform uint most;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
out vec4 sum;

void main() {
  uint i = (uint(gl_FragCoord.y) << width_bits) + uint(gl_FragCoord.x);
  if (i >= tile_count) discard;
  uvec2 row = texelFetch(rows, layered_texel_of(tile_first + i, rows_width_bits, rows_layer_bits), 0).rg;
  uint count = row.g - row.r;
  if (skip > 0u && skip >= count) discard;
  count = min(count - skip, most);
  float total = 0.0;
  for (uint k = 0u; k < count; ++k) {
    uint place = row.r + skip + k;
    uvec2 entry = texelFetch(entries, layered_texel_of(place, entries_width_bits, entries_layer_bits), 0).rg;
    if (entry.r >= x_count) continue;
    total += uintBitsToFloat(entry.g) * texelFetch(x, layered_texel_of(entry.r, x_width_bits, x_layer_bits), 0).r;
  }
  sum = vec4(total);
}
