#include "cuda/sort/onesweep/launch.cuh"

namespace sheaf::cuda {

template void queue_onesweep<1>(const context&, const char*, const onesweep_arguments&);

}  // namespace sheaf::cuda
