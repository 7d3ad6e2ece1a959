// A point is a record of the input. Its index says its pixel; points of other tiles are clipped.
layout(location = 0) in uint number;
layout(location = 1) in uvec4 record;
uniform uint tile_first;
uniform uint tile_count;
uniform uint width_bits;
uniform vec2 size;
flat out uvec4 point_record;

void main() {
  uint i = number - tile_first;
  gl_Position = i < tile_count ? pixel_of(i, width_bits, size) : clipped;
  point_record = record;
}
