// Points at pixels that a hash scatters, which cost no memory to make.
uniform uint seed;
uniform uint mask;
uniform uint width_bits;
uniform vec2 size;
flat out uvec4 point_record;
flat out float point_value;

void main() {
  uint i = (uint(gl_VertexID) + seed) * 0x9e3779b9u;
  i = (i ^ (i >> 15)) * 0x85ebca6bu;
  i ^= i >> 13;
  gl_Position = pixel_of(i & mask, width_bits, size);
  point_record = uvec4(i);
  point_value = 1.0;
}
