#pragma once

// Marks what the shared library exports. Everything else stays hidden.
#if defined(__GNUC__)
#define SHEAF_API __attribute__((visibility("default")))
#else
#define SHEAF_API
#endif
