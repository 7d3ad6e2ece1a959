flat in uvec4 point_record;
out uvec4 record;

void main() { record = point_record; }
