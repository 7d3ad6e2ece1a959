// Machine profiles are untrusted: whatever the text, the parser returns one that predicts finite times, or throws
// sheaf::error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sheaf/error.hpp>
#include <sheaf/machine.hpp>

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

void look_at(const sheaf::machine& m) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    for (const sheaf::machine& machine : {m, m.with_parallelism(1)}) {
      require(std::isfinite(machine.streamed(size, size)) && machine.streamed(size, size) >= 0);
      require(std::isfinite(machine.random_reads(size, 65536, size)) && machine.random_reads(size, 65536, size) >= 0);
      require(std::isfinite(machine.random_writes(size, 1, size)) && machine.random_writes(size, 1, size) >= 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const sheaf::machine m = sheaf::parse_machine(std::string(reinterpret_cast<const char*>(data), size), "input");
    look_at(m);
    const std::string text = sheaf::format_machine(m);
    require(sheaf::format_machine(sheaf::parse_machine(text, "copy")) == text);
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_input);
  }
  return 0;
}
