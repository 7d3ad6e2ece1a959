// alpha sum + beta y. Without beta y is not read.
uniform sampler2D sums;
uniform sampler2D before;
uniform uint reads_before;
uniform vec2 factors;
out vec4 result;

void main() {
  float sum = factors.x * texelFetch(sums, ivec2(gl_FragCoord.xy), 0).r;
  if (reads_before != 0u) sum += factors.y * texelFetch(before, ivec2(gl_FragCoord.xy), 0).r;
  result = vec4(sum);
}
