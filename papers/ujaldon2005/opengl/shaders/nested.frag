// Follows an index through up to three more lists and into a table, which is a texture or the color table. The first
// index is the pixel's own, or the vertex stage has done the first lookup.
flat in uvec4 point_record;
uniform usampler2D list0;
uniform usampler2D list1;
uniform usampler2D list2;
uniform usampler2D list3;
uniform usampler2D table;
layout(std140) uniform color_table { uvec4 colors[1024]; };
uniform uint lists;
uniform uint first_is_done;
uniform uint count1;
uniform uint count2;
uniform uint count3;
uniform uint width_bits1;
uniform uint width_bits2;
uniform uint width_bits3;
uniform uint table_count;
uniform uint table_width_bits;
uniform uint table_is_colors;
out uvec4 record;

uint entry(usampler2D list, uint count, uint bits, uint i) {
  return i < count ? texelFetch(list, texel_of(i, bits), 0).r : 0xffffffffu;
}

void main() {
  record = point_record;
  if (lists == 1u && first_is_done != 0u) return;
  uint i = first_is_done != 0u ? point_record.r : texelFetch(list0, ivec2(gl_FragCoord.xy), 0).r;
  if (lists > 1u && first_is_done == 0u) i = entry(list1, count1, width_bits1, i);
  if (lists > 2u) i = entry(list2, count2, width_bits2, i);
  if (lists > 3u) i = entry(list3, count3, width_bits3, i);
  if (i >= table_count) discard;
  record = table_is_colors != 0u ? colors[i] : texelFetch(table, texel_of(i, table_width_bits), 0);
}
