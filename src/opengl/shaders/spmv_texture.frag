// The column says the texel of x.
flat in uint point_column;
flat in float point_value;
uniform sampler2DArray x;
uniform uint x_width_bits;
uniform uint x_layer_bits;
out vec4 product;

void main() {
  product = vec4(point_value * texelFetch(x, layered_texel_of(point_column, x_width_bits, x_layer_bits), 0).r);
}
