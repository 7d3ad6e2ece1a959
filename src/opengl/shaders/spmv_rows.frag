// A fragment is a row, and loops over its entries from number `skip` on, `most` of them.
uniform usampler2DArray rows;
uniform uint rows_width_bits;
uniform uint rows_layer_bits;
uniform usampler2DArray columns;
uniform uint columns_width_bits;
uniform uint columns_layer_bits;
uniform sampler2DArray entries;
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
  if (skip >= count) discard;
  count = min(count - skip, most);
  float total = 0.0;
  for (uint k = 0u; k < count; ++k) {
    uint place = row.r + skip + k;
    uint column = texelFetch(columns, layered_texel_of(place, columns_width_bits, columns_layer_bits), 0).r;
    if (column >= x_count) continue;
    total += texelFetch(entries, layered_texel_of(place, entries_width_bits, entries_layer_bits), 0).r *
             texelFetch(x, layered_texel_of(column, x_width_bits, x_layer_bits), 0).r;
  }
  sum = vec4(total);
}
