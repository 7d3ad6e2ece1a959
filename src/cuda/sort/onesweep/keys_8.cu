#include "cuda/sort/onesweep/launch.cuh"

namespace sheaf::cuda {

template void queue_onesweep<2>(const context&, const char*, const onesweep_arguments&);

}  // namespace sheaf::cuda
