// A vertex is a number of x. The columns are the element array: the vertex stage resolves the indirection.
layout(location = 0) in float x;
flat out float vertex_x;

void main() {
  vertex_x = x;
  gl_Position = clipped;
}
