#pragma once

// Marks functions that host and device share.
#if defined(__CUDACC__)
#define SHEAF_HOST_DEVICE __host__ __device__
#else
#define SHEAF_HOST_DEVICE
#endif
