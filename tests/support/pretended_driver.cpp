// A library that takes the place of CUDA's driver in memory_space_test.cpp: it goes by the driver's name, and says of
// addresses what it was told.
#include <array>

#define SHEAF_SEEN_BY_DLSYM extern "C" __attribute__((visibility("default")))

namespace {

struct place {
  unsigned long long address = 0;
  unsigned memory_type = 0;
  unsigned is_managed = 0;
  int device = -1;
};

std::array<place, 8> places;
std::size_t places_told = 0;

constexpr int memory_type_asked = 2;
constexpr int is_managed_asked = 8;
constexpr int device_asked = 9;
constexpr int access_asked = 16;
constexpr unsigned read_and_write = 3;
constexpr int invalid_value = 1;

}  // namespace

SHEAF_SEEN_BY_DLSYM void sheaf_pretend(const void* address, unsigned memory_type, unsigned is_managed, int device) {
  places.at(places_told++) = {reinterpret_cast<unsigned long long>(address), memory_type, is_managed, device};
}

// Unknown addresses are an error, as they are to drivers before CUDA 11.
SHEAF_SEEN_BY_DLSYM int cuPointerGetAttributes(unsigned count, int* attributes, void** answers,
                                               unsigned long long address) {
  for (const place& known : places) {
    if (known.address != address) continue;
    for (unsigned i = 0; i < count; ++i) {
      if (attributes[i] == memory_type_asked) *static_cast<unsigned*>(answers[i]) = known.memory_type;
      if (attributes[i] == is_managed_asked) *static_cast<unsigned*>(answers[i]) = known.is_managed;
      if (attributes[i] == device_asked) *static_cast<int*>(answers[i]) = known.device;
      if (attributes[i] == access_asked) *static_cast<unsigned*>(answers[i]) = known.is_managed * read_and_write;
    }
    return 0;
  }
  return invalid_value;
}
