// The position in the list, which the primitive's number is, says the pixel.
layout(points) in;
layout(points, max_vertices = 1) out;
flat in uvec4 vertex_record[];
flat in int vertex_is_record[];
uniform uint first;
uniform uint width_bits;
uniform vec2 size;
flat out uvec4 point_record;

void main() {
  if (vertex_is_record[0] == 0) return;
  gl_Position = pixel_of(first + uint(gl_PrimitiveIDIn), width_bits, size);
  point_record = vertex_record[0];
  EmitVertex();
  EndPrimitive();
}
