// A fragment is a record of the output. The index list has the shape of the frame buffer.
uniform usampler2D list;
uniform usampler2D table;
uniform uint table_first;
uniform uint table_count;
uniform uint table_width_bits;
out uvec4 record;

void main() {
  uint i = texelFetch(list, ivec2(gl_FragCoord.xy), 0).r - table_first;
  if (i >= table_count) discard;
  record = texelFetch(table, texel_of(i, table_width_bits), 0);
}
