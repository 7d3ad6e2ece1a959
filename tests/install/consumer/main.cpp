// Calls the installed library and checks every answer. The argument is the version that its headers must name.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <sheaf/sheaf.hpp>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "consumer: %s\n", what);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 2 && std::string_view(argv[1]) == SHEAF_VERSION, "version.hpp names another version: " SHEAF_VERSION);

  const sheaf::context ctx = sheaf::context::cpu(2);
  const std::vector<double> table{0, 10, 20, 30};
  const std::vector<std::uint32_t> index{3, 1, 2, 0};
  std::vector<double> out(4);
  sheaf::gather(ctx, table, index, out);
  ctx.wait();
  expect(out == std::vector<double>{30, 10, 20, 0}, "gather gave a wrong answer");

  std::vector<double> back(4);
  sheaf::scatter(ctx, out, index, back);
  ctx.wait();
  expect(back == table, "scatter gave a wrong answer");

  // The exception passes from the library to the program with its type.
  const std::vector<std::uint32_t> wrong{3, 1, 999, 0};
  sheaf::gather(ctx, table, wrong, out);
  try {
    ctx.wait();
    expect(false, "a bad index went unnoticed");
  } catch (const sheaf::error& e) {
    expect(e.code() == sheaf::error_code::bad_index, "a bad index came back as something else");
    expect(std::strstr(e.what(), "index[2] is 999") != nullptr, e.what());
  }

  const sheaf::explanation why = sheaf::explain_gather(ctx, table, index, out);
  expect(why.choice() != nullptr && why.choice()->seconds > 0, "no plan for a gather");
  expect(!sheaf::shipped_machines().empty(), "no machine profiles inside");
  return failures == 0 ? 0 : 1;
}
