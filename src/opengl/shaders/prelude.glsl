#version 330 core
// Records lie row by row in a rectangle of texels or pixels whose rows are 2^width_bits long.
ivec2 texel_of(uint i, uint width_bits) { return ivec2(i & ((1u << width_bits) - 1u), i >> width_bits); }
// In a texture of layers, each of which has 2^layer_bits records.
ivec3 layered_texel_of(uint i, uint width_bits, uint layer_bits) {
  return ivec3(texel_of(i & ((1u << layer_bits) - 1u), width_bits), i >> layer_bits);
}
// The centre of record i's pixel, in a viewport of `size` pixels.
vec4 pixel_of(uint i, uint width_bits, vec2 size) {
  return vec4((vec2(texel_of(i, width_bits)) + 0.5) * 2.0 / size - 1.0, 0.0, 1.0);
}
// Outside of what the pipeline clips to: a point here draws nothing.
const vec4 clipped = vec4(2.0, 2.0, 2.0, 1.0);
