flat in float point_value;
out vec4 value;

void main() { value = vec4(point_value); }
