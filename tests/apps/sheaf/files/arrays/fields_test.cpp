#include "apps/sheaf/files/arrays/fields.hpp"

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_files_arrays_fields_test {
namespace {

io::npy_type type_of(const std::string& descr) { return io::parse_npy_type(descr, "x"); }

TEST(Fields, AreFoundByNameTitleAndPath) {
  const io::npy_type type = type_of(
      "[('id', '<i4'), ('', '|V4'), (('Title', 'p'), [('x', '<f4'), ('q', [('y', '>i2')])]), ('p.x', '<u8'), "
      "('two', [('z', '|u1')], (2,)), ('0', '|u1')]");
  const auto offset_of = [&](std::string_view name) {
    const auto field = io::find_field(type, name);
    return field ? static_cast<std::int64_t>(field->offset) : -1;
  };
  EXPECT_EQ(offset_of("id"), 0);
  EXPECT_EQ(offset_of("p"), 8);
  EXPECT_EQ(offset_of("Title"), 8);
  EXPECT_EQ(offset_of("Title.q"), 12);
  EXPECT_EQ(offset_of("p.q.y"), 12);
  EXPECT_EQ(offset_of("p.x"), 14) << "a field's own name comes before a path";
  EXPECT_EQ(offset_of("Title.x"), 8);
  EXPECT_EQ(offset_of("two"), 22);
  EXPECT_EQ(offset_of("0"), 24);
  for (const char* none : {"", "x", "id.x", "p.", ".p", "p.q.z", "two.z", "ID"}) EXPECT_EQ(offset_of(none), -1) << none;
  EXPECT_EQ(io::find_field(type, "two")->count, 2U);
  EXPECT_EQ(io::field_names(type), "id, p.x, p.q.y, p.x, two, 0");
  EXPECT_EQ(io::field_names(type_of("'<f4'")), "");
}

TEST(Fields, OfOneNameAreNone) {
  EXPECT_FALSE(io::find_field(type_of("[('a', '<i4'), ('a', '<i4')]"), "a").has_value());
}

TEST(Fields, OfLongPathsAreLookedUpAtOnce) {
  std::string path = "a";
  for (int i = 0; i < 60; ++i) path += ".a";
  EXPECT_FALSE(io::find_field(type_of("[('a', [('a', '<i4')])]"), path).has_value());
}

TEST(Fields, OfManyTheFirstAreNamed) {
  std::string descr = "[";
  for (int i = 0; i < 30; ++i) descr += "('f" + std::to_string(i) + "', '|u1'), ";
  const std::string names = io::field_names(type_of(descr + "]"));
  EXPECT_TRUE(names.starts_with("f0, f1, ")) << names;
  EXPECT_TRUE(names.ends_with("f19 and more")) << names;
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_arrays_fields_test
