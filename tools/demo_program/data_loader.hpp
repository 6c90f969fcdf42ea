#pragma once

#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace traceagent::demo {

/// A batch on the device: inputs, then targets, `floats` each.
struct Batch {
  float* device = nullptr;
  float* host = nullptr;  // pinned
  cudaEvent_t ready{};    // copied
  cudaEvent_t used{};     // no longer needed by the compute stream
};

/// A thread that makes batches and copies them to the device on a stream of its own, two ahead.
class DataLoader {
 public:
  DataLoader(int device, int rank, int floats, int batches);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// The next batch; the given stream waits for its copy. Throws what stopped the loader.
  Batch& next(cudaStream_t stream);
  /// Gives the batch back, once the stream is through with it.
  void release(Batch& batch, cudaStream_t stream);

 private:
  void run(int device, int rank, int batches);
  void load(Batch& batch, unsigned seed);
  Batch* take_free();

  int floats_;
  cudaStream_t stream_{};
  std::vector<Batch> batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch*> free_;
  std::deque<Batch*> loaded_;
  std::exception_ptr problem_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace traceagent::demo
