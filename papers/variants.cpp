#include "papers/variants.hpp"

namespace sheaf {

// Each is defined in <paper>/<backend>, in the file that has its name.
namespace cpu {

extern const primitives::split_variant split_one_step, split_two_step, split_iterated;
extern const primitives::sort_variant sort_radix_clustering, sort_split_sort;
extern const primitives::hash_search_variant hash_search_cache_chunks;

}  // namespace cpu

#if SHEAF_HAS_CUDA
namespace cuda {

extern const primitives::gather_variant gather_thread_per_record, gather_lane_rule;
extern const primitives::scatter_variant scatter_thread_per_record, scatter_lane_rule;
extern const primitives::split_variant split_one_step, split_two_step, split_hardware_atomics, split_global_atomics,
    split_thread_histograms, split_one_bit, split_iterated;
extern const primitives::sort_variant sort_bitonic, sort_msd_bitonic, sort_sample_bitonic, sort_split_sort;

}  // namespace cuda
#endif

namespace papers {
namespace {

using primitives::table;

constexpr primitives::variant_table tables[] = {
    table<cpu::split_one_step, cpu::split_two_step, cpu::split_iterated>,
    table<cpu::sort_radix_clustering, cpu::sort_split_sort>,
    table<cpu::hash_search_cache_chunks>,
#if SHEAF_HAS_CUDA
    table<cuda::gather_thread_per_record, cuda::gather_lane_rule>,
    table<cuda::scatter_thread_per_record, cuda::scatter_lane_rule>,
    table<cuda::split_one_step, cuda::split_two_step, cuda::split_hardware_atomics, cuda::split_global_atomics,
          cuda::split_thread_histograms, cuda::split_one_bit, cuda::split_iterated>,
    table<cuda::sort_bitonic, cuda::sort_msd_bitonic, cuda::sort_sample_bitonic, cuda::sort_split_sort>,
#endif
};

}  // namespace

constinit const primitives::variant_tables variants{tables};

}  // namespace papers
}  // namespace sheaf
