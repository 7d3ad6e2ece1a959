#include <cuda_runtime_api.h>

#include "papers/wei2010/memory_test.hpp"

namespace sheaf::bench::papers::wei2010::device {
namespace {

void require(cudaError_t result, const char* operation) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(operation) + ": " + cudaGetErrorString(result));
}

template <bool AtRandom, bool Writes>
__global__ void access_words(std::uint64_t* data, std::uint64_t words, std::uint64_t stride, std::uint64_t accesses,
                             unsigned long long* sum) {
  const std::uint64_t walker = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint64_t word = first_word(walker, words);
  unsigned long long total = 0;
  for (std::uint64_t access = 0; access < accesses; ++access) {
    total += data[word];
    if constexpr (Writes) data[word] = word;
    word = next_word(AtRandom, word, stride, words);
  }
  atomicAdd(sum, total);
}

}  // namespace

void queue_memory_test(const context& ctx, const memory_test& test, std::uint64_t* data, std::uint64_t words,
                       std::uint64_t* sum) {
  const auto kernel = test.at_random ? (test.writes ? &access_words<true, true> : &access_words<true, false>)
                                     : (test.writes ? &access_words<false, true> : &access_words<false, false>);
  kernel<<<static_cast<unsigned>(test.blocks), static_cast<unsigned>(test.threads), 0, ctx.stream()>>>(
      data, words, test.stride, test.accesses, reinterpret_cast<unsigned long long*>(sum));
  require(cudaGetLastError(), "memory test");
}

std::uint64_t multiprocessors(const context& ctx) {
  int count = 0;
  require(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, ctx.device()), "cudaDeviceGetAttribute");
  return static_cast<std::uint64_t>(count);
}

}  // namespace sheaf::bench::papers::wei2010::device
