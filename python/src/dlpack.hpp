#pragma once

#include <cstdint>

// DLPack 1.3 (https://dmlc.github.io/dlpack), as far as this module uses it: the layouts of its structures are fixed.
namespace sheaf::python::dlpack {

struct version {
  std::uint32_t major;
  std::uint32_t minor;
};

enum device_kind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum type_code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  brain_floating = 4,
  complex = 5,
  boolean = 6
};

struct device {
  device_kind kind;
  std::int32_t id;
};

struct data_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t dimensions;
  data_type type;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null where they lie side by side
  std::uint64_t byte_offset;
};

struct managed_tensor {
  dlpack::tensor tensor;
  void* manager;
  void (*deleter)(managed_tensor* self);
};

struct versioned_tensor {
  dlpack::version version;
  void* manager;
  void (*deleter)(versioned_tensor* self);
  std::uint64_t flags;
  dlpack::tensor tensor;
};
inline constexpr std::uint64_t read_only = 1;
inline constexpr std::uint64_t is_copied = 2;

struct exchange_header {
  dlpack::version version;
  exchange_header* previous;
};

/// What `type.__dlpack_c_exchange_api__` points to: the protocol as functions in C. They return 0, or -1 with Python's
/// error set.
struct exchange_api {
  exchange_header header;
  int (*allocate)(tensor* prototype, versioned_tensor** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, versioned_tensor** out);
  int (*object_from_managed)(versioned_tensor* tensor, void** object);
  int (*view_of_object)(void* object, tensor* out);  ///< may be null
  int (*current_stream)(device_kind kind, std::int32_t id, void** stream);
};

}  // namespace sheaf::python::dlpack
