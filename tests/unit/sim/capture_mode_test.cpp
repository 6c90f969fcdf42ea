// Calls that end the capture of another thread, as cudaEventQuery does on the real run-time
// library.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>

namespace simgpu {
namespace {

class CaptureMode : public testing::Test {
 protected:
  CaptureMode() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreate(&event_);
    cudaEventRecord(event_, nullptr);
    cudaEventSynchronize(event_);
  }
  ~CaptureMode() override {
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }

  // What the capture comes to when another thread, in its own mode, queries an event meanwhile.
  cudaError_t capture(cudaStreamCaptureMode mode, cudaStreamCaptureMode other) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
    std::thread([this, other] {
      cudaStreamCaptureMode exchanged = other;
      cudaThreadExchangeStreamCaptureMode(&exchanged);
      queried_ = cudaEventQuery(event_);
    }).join();
    cudaGraph_t graph = nullptr;
    const cudaError_t result = cudaStreamEndCapture(stream_, &graph);
    EXPECT_EQ(graph != nullptr, result == cudaSuccess);
    return result;
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaError_t queried_ = cudaSuccess;
};

TEST_F(CaptureMode, AQueryInAnotherThreadEndsAGlobalCapture) {
  EXPECT_EQ(capture(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(queried_, cudaErrorStreamCaptureUnsupported);
}

TEST_F(CaptureMode, ARelaxedThreadEndsNone) {
  EXPECT_EQ(capture(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(queried_, cudaSuccess);
}

TEST_F(CaptureMode, ACaptureOfItsThreadAloneGoesOn) {
  EXPECT_EQ(capture(cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(capture(cudaStreamCaptureModeRelaxed, cudaStreamCaptureModeGlobal), cudaSuccess);
}

TEST_F(CaptureMode, TheNextCaptureIsANewOne) {
  capture(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(capture(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed), cudaSuccess);
}

}  // namespace
}  // namespace simgpu
