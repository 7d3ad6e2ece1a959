#include "papers/variants.hpp"

namespace sheaf::papers {

#if SHEAF_HAS_CUDA
namespace {

using namespace primitives;

constexpr const gather_variant* gather_list[] = {&cuda::gather_thread_per_record};
constexpr const scatter_variant* scatter_list[] = {&cuda::scatter_thread_per_record};
constexpr const split_variant* split_list[] = {&cuda::split_one_step, &cuda::split_two_step};
constexpr const sort_variant* sort_list[] = {&cuda::sort_bitonic, &cuda::sort_msd_bitonic};

}  // namespace

constinit const backend_variants variants{
    .gather = gather_list,
    .scatter = scatter_list,
    .split = split_list,
    .sort = sort_list,
};
#else
constinit const primitives::backend_variants variants{};
#endif

}  // namespace sheaf::papers
