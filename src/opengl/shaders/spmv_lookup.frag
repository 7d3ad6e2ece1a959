// The column is an index of the color table, the last lookup of the pipeline.
flat in uint point_column;
flat in float point_value;
uniform samplerBuffer colors;
out vec4 product;

void main() { product = vec4(point_value * texelFetch(colors, int(point_column)).r); }
