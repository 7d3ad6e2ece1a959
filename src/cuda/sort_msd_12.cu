#include "cuda/sort_msd.cuh"

namespace sheaf::cuda {

template void run_msd_sort_of<3>(const context&, const char*, const msd_sort&, std::byte*);

}  // namespace sheaf::cuda
