// `fetches` texels at places that a hash scatters, or with a mask of no bits the fragment's own texel.
uniform usampler2D table;
uniform uint seed;
uniform uint mask;
uniform uint width_bits;
out uvec4 record;

void main() {
  if (mask == 0u) {
    record = texelFetch(table, ivec2(gl_FragCoord.xy), 0);
    return;
  }
  uint i = (uint(gl_FragCoord.x) + uint(gl_FragCoord.y) * 4099u + seed) * 0x9e3779b9u;
  i = (i ^ (i >> 15)) * 0x85ebca6bu;
  i ^= i >> 13;
  record = texelFetch(table, texel_of(i & mask, width_bits), 0);
}
