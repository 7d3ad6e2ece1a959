// A point for each record of the output. Points whose condition does not hold are clipped.
layout(location = 0) in uint number;
layout(location = 2) in uint condition;
uniform uint width_bits;
uniform vec2 size;
flat out uint point_number;

void main() {
  gl_Position = condition != 0u ? pixel_of(uint(gl_VertexID), width_bits, size) : clipped;
  point_number = number;
}
