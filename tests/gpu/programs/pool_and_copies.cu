// Stream-ordered memory and large copies in all directions; GPU_LARGE_BYTES sets their size.
#include "gpu_program.cuh"

extern "C" __global__ void fill(float* data, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) data[i] = static_cast<float>(i % 1000);
}

static std::size_t large_bytes() {
  const char* text = std::getenv("GPU_LARGE_BYTES");
  return text == nullptr ? std::size_t{256} << 20 : std::strtoull(text, nullptr, 10);
}

int main() {
  const std::size_t bytes = large_bytes(), count = bytes / sizeof(float);
  float* pinned = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMallocHost(&pinned, bytes));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  gpu::run_steps([&](int) {
    float *first = nullptr, *second = nullptr;
    CHECK(cudaMallocAsync(&first, bytes, stream));
    CHECK(cudaMallocAsync(&second, bytes, stream));
    fill<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(first, count);
    gpu::truth().kernel("fill");
    CHECK(cudaMemcpyAsync(second, first, bytes, cudaMemcpyDeviceToDevice, stream));
    gpu::truth().copy("DtoD", bytes);
    CHECK(cudaMemcpyAsync(pinned, second, bytes, cudaMemcpyDeviceToHost, stream));
    gpu::truth().copy("DtoH", bytes);
    CHECK(cudaMemcpyAsync(first, pinned, bytes, cudaMemcpyHostToDevice, stream));
    gpu::truth().copy("HtoD", bytes);
    CHECK(cudaMemsetAsync(second, 0, bytes, stream));
    gpu::truth().set(bytes);
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaFreeAsync(second, stream));
  });
  std::printf("last %.1f\n", static_cast<double>(pinned[count - 1]));
  return 0;
}
