// A product as it is, or for frame buffers without a sign the positive ones alone, or the negative ones without theirs.
flat in uint point_column;
flat in float point_value;
uniform sampler2DArray x;
uniform uint x_width_bits;
uniform uint x_layer_bits;
uniform int sign_of;
out vec4 product;

void main() {
  float all = point_value * texelFetch(x, layered_texel_of(point_column, x_width_bits, x_layer_bits), 0).r;
  product = vec4(sign_of == 0 ? all : max(float(sign_of) * all, 0.0));
}
