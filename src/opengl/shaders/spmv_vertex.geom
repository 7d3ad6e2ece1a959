// The entry, which the primitive's number is, has the row, which says the pixel, and the bits of the value.
layout(points) in;
layout(points, max_vertices = 1) out;
flat in float vertex_x[];
uniform usamplerBuffer entries;
uniform uint first;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out float point_value;

void main() {
  uvec2 entry = texelFetch(entries, int(first) + gl_PrimitiveIDIn).rg;
  uint i = entry.r - tile_first;
  if (i >= tile_count) return;
  gl_Position = pixel_of(i, width_bits, size);
  point_value = uintBitsToFloat(entry.g) * vertex_x[0];
  EmitVertex();
  EndPrimitive();
}
