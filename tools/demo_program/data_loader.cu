#include "tools/demo_program/check.hpp"
#include "tools/demo_program/data_loader.hpp"

namespace traceagent::demo {

DataLoader::DataLoader(int device, int rank, int floats, int batches)
    : floats_(floats), batches_(2) {
  CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  for (Batch& batch : batches_) {
    const std::size_t bytes = sizeof(float) * 2 * static_cast<std::size_t>(floats_);
    CHECK(cudaMalloc(&batch.device, bytes));
    CHECK(cudaMallocHost(&batch.host, bytes));
    CHECK(cudaEventCreateWithFlags(&batch.ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&batch.used, cudaEventDisableTiming));
    free_.push_back(&batch);
  }
  thread_ = std::thread([=] { run(device, rank, batches); });
}

DataLoader::~DataLoader() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (Batch& batch : batches_) {
    cudaEventDestroy(batch.used);
    cudaEventDestroy(batch.ready);
    cudaFreeHost(batch.host);
    cudaFree(batch.device);
  }
  cudaStreamDestroy(stream_);
}

Batch* DataLoader::take_free() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || !free_.empty(); });
  if (stop_) {
    return nullptr;
  }
  Batch* batch = free_.front();
  free_.pop_front();
  return batch;
}

void DataLoader::run(int device, int rank, int batches) {
  try {
    CHECK(cudaSetDevice(device));
    for (int i = 0; i < batches; ++i) {
      Batch* batch = take_free();
      if (batch == nullptr) {
        return;
      }
      load(*batch, static_cast<unsigned>(rank * batches + i));
      std::lock_guard<std::mutex> lock(mutex_);
      loaded_.push_back(batch);
      changed_.notify_all();
    }
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    problem_ = std::current_exception();
    changed_.notify_all();
  }
}

// Inputs are noise, targets a fixed function of them that a network can learn.
void DataLoader::load(Batch& batch, unsigned seed) {
  CHECK(cudaEventSynchronize(batch.used));
  unsigned x = seed * 2654435761U + 1;
  for (int i = 0; i < floats_; ++i) {
    x = x * 1664525U + 1013904223U;
    const float value = static_cast<float>(x >> 8) / 16777216.0F;
    batch.host[i] = value;
    batch.host[floats_ + i] = 0.5F * value + 0.1F;
  }
  const std::size_t bytes = sizeof(float) * 2 * static_cast<std::size_t>(floats_);
  CHECK(cudaMemcpyAsync(batch.device, batch.host, bytes, cudaMemcpyHostToDevice, stream_));
  CHECK(cudaEventRecord(batch.ready, stream_));
}

Batch& DataLoader::next(cudaStream_t stream) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return problem_ != nullptr || !loaded_.empty(); });
  if (loaded_.empty()) {
    std::rethrow_exception(problem_);
  }
  Batch& batch = *loaded_.front();
  loaded_.pop_front();
  lock.unlock();
  CHECK(cudaStreamWaitEvent(stream, batch.ready, 0));
  return batch;
}

void DataLoader::release(Batch& batch, cudaStream_t stream) {
  CHECK(cudaEventRecord(batch.used, stream));
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(&batch);
  changed_.notify_all();
}

}  // namespace traceagent::demo
