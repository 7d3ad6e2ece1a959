// A contribution as it is, or for frame buffers without a sign the positive components alone, or the negative ones
// without theirs.
flat in vec4 edge_value;
uniform int sign_of;
out vec4 value;

void main() { value = sign_of == 0 ? edge_value : max(float(sign_of) * edge_value, vec4(0.0)); }
