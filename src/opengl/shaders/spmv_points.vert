// A point is an entry of a matrix. Its row says its pixel; its column travels with it to where x is looked up.
layout(location = 0) in uint pixel;
layout(location = 1) in uint column;
layout(location = 2) in float value;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out uint point_column;
flat out float point_value;

void main() {
  uint i = pixel - tile_first;
  gl_Position = i < tile_count ? pixel_of(i, width_bits, size) : clipped;
  point_column = column;
  point_value = value;
}
