#include "cuda/sort/msd/launch.cuh"

namespace sheaf::cuda {

template void run_pair_sort<2>(const context&, const char*, const word_sort&, std::byte*);

}  // namespace sheaf::cuda
