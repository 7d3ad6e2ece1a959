// A gather from a texture of one, two or three dimensions, whose sides are powers of two.
uniform usampler2D list;
uniform usampler1D table1;
uniform usampler2D table2;
uniform usampler3D table3;
uniform uint dimensions;
uniform uint table_count;
uniform uint bits;  // of each side but the last
out uvec4 record;

void main() {
  uint i = texelFetch(list, ivec2(gl_FragCoord.xy), 0).r;
  if (i >= table_count) discard;
  uint mask = (1u << bits) - 1u;
  if (dimensions == 1u) {
    record = texelFetch(table1, int(i), 0);
  } else if (dimensions == 2u) {
    record = texelFetch(table2, texel_of(i, bits), 0);
  } else {
    record = texelFetch(table3, ivec3(i & mask, (i >> bits) & mask, i >> (2u * bits)), 0);
  }
}
