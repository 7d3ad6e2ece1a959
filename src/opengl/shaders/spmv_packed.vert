// A point is up to four entries of one row of a matrix. Its row says its pixel.
layout(location = 0) in uint pixel;
layout(location = 1) in uvec4 columns;
layout(location = 2) in vec4 values;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out uvec4 point_columns;
flat out vec4 point_values;

void main() {
  uint i = pixel - tile_first;
  gl_Position = i < tile_count ? pixel_of(i, width_bits, size) : clipped;
  point_columns = columns;
  point_values = values;
}
