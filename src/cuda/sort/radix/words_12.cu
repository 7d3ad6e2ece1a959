#include "cuda/sort/radix/launch.cuh"

namespace sheaf::cuda {

template void run_radix_sort_of<3>(const context&, const char*, const word_sort&, std::byte*, group_finisher);

}  // namespace sheaf::cuda
