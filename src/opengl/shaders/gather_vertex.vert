// A vertex is a record of the table. The list is the element array: the vertex stage resolves the indirection.
layout(location = 1) in uvec4 record;
uniform int vertex_count;
flat out uvec4 vertex_record;
flat out int vertex_is_record;

void main() {
  vertex_record = record;
  vertex_is_record = gl_VertexID < vertex_count ? 1 : 0;
  gl_Position = clipped;
}
