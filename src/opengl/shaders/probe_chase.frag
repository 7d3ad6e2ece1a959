// One fragment follows a cycle: each texel says where the next one lies.
uniform usampler2D table;
uniform uint start;
uniform uint steps;
uniform uint width_bits;
out uvec4 record;

void main() {
  uint i = start;
  for (uint step = 0u; step < steps; ++step) i = texelFetch(table, texel_of(i, width_bits), 0).r;
  record = uvec4(i);
}
