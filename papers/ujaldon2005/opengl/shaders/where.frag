// A bad index gives zeros where the condition holds.
flat in uint point_number;
uniform usampler2D table;
uniform uint table_count;
uniform uint table_width_bits;
out uvec4 record;

void main() {
  record = point_number < table_count ? texelFetch(table, texel_of(point_number, table_width_bits), 0) : uvec4(0u);
}
