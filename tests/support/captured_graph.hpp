#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>

#include <sheaf/interop/cuda.hpp>

namespace sheaf::tests {

/// A CUDA graph of the work that `work` queues on a context's stream. Capture runs nothing.
class captured_graph {
 public:
  template <class Work>
  captured_graph(const context& ctx, Work work) : stream_(cuda_stream(ctx)) {
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph_);  // ends the capture, so that the stream stays usable
      throw;
    }
    require(cudaStreamEndCapture(stream_, &graph_));
    require(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;
  ~captured_graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }

  void launch() const { launch(stream_); }
  void launch(cudaStream_t stream) const { require(cudaGraphLaunch(executable_, stream)); }

 private:
  static void require(cudaError_t result) {
    if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
  }

  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace sheaf::tests
