// A point is a value to combine. Its index says its pixel; points of other tiles are clipped.
layout(location = 0) in uint number;
layout(location = 1) in float value;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out float point_value;

void main() {
  uint i = number - tile_first;
  gl_Position = i < tile_count ? pixel_of(i, width_bits, size) : clipped;
  point_value = value;
}
