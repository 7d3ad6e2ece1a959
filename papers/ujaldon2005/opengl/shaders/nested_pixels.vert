// One triangle that covers every pixel of the viewport. The first index comes from a texture, so points carry nothing.
flat out uvec4 point_record;

void main() {
  point_record = uvec4(0u);
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}
