// Four products and their sum. A column of all ones is none.
flat in uvec4 point_columns;
flat in vec4 point_values;
uniform sampler2DArray x;
uniform uint x_width_bits;
uniform uint x_layer_bits;
out vec4 product;

float term(uint column, float value) {
  if (column == 0xffffffffu) return 0.0;
  return value * texelFetch(x, layered_texel_of(column, x_width_bits, x_layer_bits), 0).r;
}

void main() {
  product = vec4(term(point_columns.x, point_values.x) + term(point_columns.y, point_values.y) +
                 (term(point_columns.z, point_values.z) + term(point_columns.w, point_values.w)));
}
