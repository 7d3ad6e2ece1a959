#include "papers/variants.hpp"

namespace sheaf {

#if SHEAF_HAS_CUDA
// Each is defined in <paper>/cuda, in the file that has its name.
namespace cuda {

extern const primitives::gather_variant gather_thread_per_record;
extern const primitives::scatter_variant scatter_thread_per_record;
extern const primitives::split_variant split_one_step, split_two_step;
extern const primitives::sort_variant sort_bitonic, sort_msd_bitonic;

}  // namespace cuda

namespace papers {
namespace {

using primitives::table;

constexpr primitives::variant_table tables[] = {
    table<cuda::gather_thread_per_record>,
    table<cuda::scatter_thread_per_record>,
    table<cuda::split_one_step, cuda::split_two_step>,
    table<cuda::sort_bitonic, cuda::sort_msd_bitonic>,
};

}  // namespace

constinit const primitives::variant_tables variants{tables};

}  // namespace papers
#else
constinit const primitives::variant_tables papers::variants{};
#endif

}  // namespace sheaf
