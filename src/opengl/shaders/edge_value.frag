flat in vec4 edge_value;
out vec4 value;

void main() { value = edge_value; }
