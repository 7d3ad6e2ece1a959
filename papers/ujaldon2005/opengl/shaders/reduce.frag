// A fragment combines two or four values that lie side by side: a pass of a reduction that takes several.
uniform sampler2D values;
uniform uint values_width_bits;
uniform uint width_bits;
uniform uint count;    // of what this pass writes
uniform uint fan_in;   // 2 or 4
uniform uint combine;  // 0: add, 1: least, 2: most
out vec4 value;

float at(uint i) { return texelFetch(values, texel_of(i, values_width_bits), 0).r; }

float combined(float a, float b) { return combine == 0u ? a + b : combine == 1u ? min(a, b) : max(a, b); }

void main() {
  uint i = (uint(gl_FragCoord.y) << width_bits) + uint(gl_FragCoord.x);
  if (i >= count) discard;
  i *= fan_in;
  float all = combined(at(i), at(i + 1u));
  if (fan_in == 4u) all = combined(all, combined(at(i + 2u), at(i + 3u)));
  value = vec4(all);
}
