// Calls each of the commonly traced functions at least once, with some that must fail, and prints
// every result: the same with and without an agent.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/programs/kernel.hpp"

namespace {

const traceagent::programs::Kernel kernel("all_calls_kernel");

void show(const char* call, int result) { std::printf("%3d %s\n", result, call); }

#define CALL(call) show(#call, static_cast<int>(call))

constexpr std::size_t bytes = 4096;
int device = 0;
cudaStream_t stream = nullptr;
cudaEvent_t event = nullptr;
cudaEvent_t later = nullptr;
void* memory = nullptr;
void* other = nullptr;
void* pinned = nullptr;
char host[bytes];

void call_devices() {
  int number = 0;
  std::size_t free_bytes = 0;
  cudaDeviceProp properties;
  CALL(cudaGetDeviceCount(&number));
  CALL(cudaSetDevice(0));
  CALL(cudaGetDevice(&device));
  CALL(cudaGetDeviceProperties(&properties, 0));
  CALL(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 0));
  CALL(cudaMemGetInfo(&free_bytes, &free_bytes));
  CALL(cudaDeviceCanAccessPeer(&number, 0, 1));
  CALL(cudaDeviceEnablePeerAccess(1, 0));
  CALL(cudaDeviceEnablePeerAccess(1, 0));
  CALL(cudaDeviceDisablePeerAccess(1));
  CALL(cudaRuntimeGetVersion(&number));
  CALL(cudaDriverGetVersion(&number));
  CALL(cudaSetDevice(1000));
  CALL(cudaPeekAtLastError());
  CALL(cudaGetLastError());
  CALL(cudaGetLastError());
}

void call_streams_and_events() {
  CALL(cudaStreamCreate(&stream));
  CALL(cudaStreamDestroy(stream));
  CALL(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  CALL(cudaStreamDestroy(stream));
  CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CALL(cudaEventCreate(&event));
  CALL(cudaEventCreateWithFlags(&later, cudaEventDefault));
  CALL(cudaEventRecord(event, stream));
  CALL(cudaEventSynchronize(event));
  CALL(cudaEventQuery(event));
  CALL(cudaStreamWaitEvent(stream, event, 0));
  CALL(cudaStreamSynchronize(stream));
  CALL(cudaStreamQuery(stream));
  CALL(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(&host)));
  CALL(cudaEventRecord(reinterpret_cast<cudaEvent_t>(&host), stream));
  CALL(cudaGetLastError());
}

void call_memory() {
  std::size_t pitch = 0;
  CALL(cudaMalloc(&memory, bytes));
  CALL(cudaMallocManaged(&other, bytes, cudaMemAttachGlobal));
  CALL(cudaFree(other));
  CALL(cudaMallocPitch(&other, &pitch, 100, 10));
  CALL(cudaMemset2D(other, pitch, 0, 100, 10));
  CALL(cudaMemset2DAsync(other, pitch, 0, 100, 10, stream));
  CALL(cudaMemcpy2D(host, 100, other, pitch, 100, 10, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpy2DAsync(host, 100, other, pitch, 100, 10, cudaMemcpyDeviceToHost, stream));
  CALL(cudaFree(other));
  cudaPitchedPtr pitched{};
  CALL(cudaMalloc3D(&pitched, cudaExtent{100, 10, 2}));
  CALL(cudaFree(pitched.ptr));
  CALL(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault));
  CALL(cudaFreeHost(pinned));
  CALL(cudaMallocHost(&pinned, bytes));
  CALL(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
  CALL(cudaHostUnregister(host));
  CALL(cudaMallocAsync(&other, bytes, stream));
  CALL(cudaMemset(memory, 1, bytes));
  CALL(cudaMemsetAsync(memory, 1, bytes, stream));
  CALL(cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice));
  CALL(cudaMemcpyAsync(memory, pinned, bytes, cudaMemcpyHostToDevice, stream));
  CALL(cudaMemcpyAsync(other, memory, bytes, cudaMemcpyDeviceToDevice, stream));
  void* const targets[] = {memory, other};
  const void* const sources[] = {pinned, memory};
  const std::size_t sizes[] = {bytes, bytes / 2};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first_with_them = 0;
  CALL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, &attributes, &first_with_them, 1, stream));
  CALL(
      cudaMemcpyBatchAsync(nullptr, sources, nullptr, 2, &attributes, &first_with_them, 1, stream));
  CALL(cudaMemcpyPeerAsync(other, 0, memory, 0, bytes, stream));
  CALL(cudaMemcpyPeer(other, 0, memory, 0, bytes));
  CALL(cudaFreeAsync(other, stream));
  CALL(cudaMemcpy(memory, host, 2 * bytes, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(memory, host, bytes, static_cast<cudaMemcpyKind>(7)));
  CALL(cudaMemcpy(nullptr, host, bytes, cudaMemcpyHostToDevice));
  CALL(cudaMalloc(&other, std::size_t{1} << 50));
  CALL(cudaMalloc(nullptr, bytes));
  CALL(cudaFree(&host));
  CALL(cudaFree(nullptr));
  CALL(cudaGetLastError());
}

// Where an array takes part, widths are of its elements: of eight bytes here.
void call_arrays() {
  const cudaExtent extent{16, 4, 2};
  const cudaChannelFormatDesc format{32, 32, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t line = nullptr;
  cudaArray_t array = nullptr;
  CALL(cudaMallocArray(&line, &format, 16, 0));
  CALL(cudaMalloc3DArray(&array, &format, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {host, 128, 16, 4};
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CALL(cudaMemcpy3D(&copy));
  CALL(cudaMemcpy3DAsync(&copy, stream));
  copy.extent.width = 0;
  CALL(cudaMemcpy3DAsync(&copy, stream));
  cudaMemcpy3DParms bytes_only{};
  bytes_only.srcPtr = {host, 128, 16, 4};
  bytes_only.dstPtr = {memory, 128, 16, 4};
  bytes_only.extent = extent;
  bytes_only.kind = cudaMemcpyHostToDevice;
  CALL(cudaMemcpy3D(&bytes_only));
  cudaMemcpy3DPeerParms peer{};
  peer.srcArray = array;
  peer.dstPtr = {memory, 128, 16, 4};
  peer.extent = extent;
  CALL(cudaMemcpy3DPeerAsync(&peer, stream));
  CALL(cudaStreamSynchronize(stream));
  CALL(cudaFreeArray(line));
  CALL(cudaFreeArray(array));
}

void call_batches() {
  cudaMemcpy3DBatchOp copies[2] = {};
  for (cudaMemcpy3DBatchOp& each : copies) {
    each.src.type = cudaMemcpyOperandTypePointer;
    each.src.op.ptr.ptr = pinned;
    each.dst.type = cudaMemcpyOperandTypePointer;
    each.dst.op.ptr.ptr = memory;
    each.extent = {16, 4, 2};
    each.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  }
  CALL(cudaMemcpy3DBatchAsync(2, copies, 0, stream));
  const cudaChannelFormatDesc format{32, 32, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t array = nullptr;
  CALL(cudaMalloc3DArray(&array, &format, {16, 4, 2}));
  copies[1].dst.type = cudaMemcpyOperandTypeArray;
  copies[1].dst.op.array = {array, {}};
  CALL(cudaMemcpy3DBatchAsync(2, copies, 0, stream));
  CALL(cudaStreamSynchronize(stream));
  CALL(cudaFreeArray(array));
}

void call_pool() {
  cudaMemPool_t pool = nullptr;
  CALL(cudaDeviceGetDefaultMemPool(&pool, 0));
  CALL(cudaMallocFromPoolAsync(&other, bytes, pool, stream));
  CALL(cudaFreeAsync(other, stream));
  CALL(cudaMemPoolTrimTo(pool, 0));
}

void on_host(void* count) { ++*static_cast<int*>(count); }

void call_launches() {
  int count = 0;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2, 3, 4);
  config.blockDim = dim3(32);
  config.stream = stream;
  const void* function = kernel.host_function();
  CALL(cudaLaunchKernel(function, dim3(8), dim3(256), nullptr, 0, stream));
  CALL(cudaLaunchKernel(function, dim3(8), dim3(256), nullptr, 1024, nullptr));
  CALL(cudaLaunchKernelExC(&config, function, nullptr));
  CALL(cudaLaunchCooperativeKernel(function, dim3(1), dim3(32), nullptr, 0, stream));
  CALL(cudaLaunchHostFunc(stream, on_host, &count));
  CALL(cudaLaunchKernel(function, dim3(0), dim3(256), nullptr, 0, stream));
  CALL(cudaLaunchKernel(function, dim3(1), dim3(4096), nullptr, 0, stream));
  CALL(cudaLaunchKernel(&host, dim3(1), dim3(32), nullptr, 0, stream));
  CALL(cudaDeviceSynchronize());
  std::printf("host function ran %d time\n", count);
  CALL(cudaGetLastError());
}

void call_graphs() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CALL(cudaLaunchKernel(kernel.host_function(), dim3(8), dim3(256), nullptr, 0, stream));
  CALL(cudaMemsetAsync(memory, 0, bytes, stream));
  CALL(cudaStreamEndCapture(stream, &graph));
  CALL(cudaGraphInstantiate(&executable, graph, 0));
  CALL(cudaGraphUpload(executable, stream));
  CALL(cudaGraphLaunch(executable, stream));
  CALL(cudaGraphLaunch(executable, stream));
  CALL(cudaStreamSynchronize(stream));
  CALL(cudaGraphExecDestroy(executable));
  CALL(cudaGraphDestroy(graph));
  CALL(cudaGraphLaunch(nullptr, stream));
  CALL(cudaGetLastError());
}

void call_collectives(ncclComm_t comm) {
  CALL(ncclAllReduce(memory, memory, 1000, ncclFloat32, ncclSum, comm, stream));
  CALL(ncclReduce(memory, memory, 1000, ncclFloat16, ncclMax, 0, comm, stream));
  CALL(ncclBroadcast(memory, memory, 1000, ncclInt8, 0, comm, stream));
  CALL(ncclBcast(memory, 1000, ncclInt8, 0, comm, stream));
  CALL(ncclAllGather(memory, memory, 100, ncclBfloat16, comm, stream));
  CALL(ncclReduceScatter(memory, memory, 100, ncclFloat64, ncclAvg, comm, stream));
  CALL(ncclAlltoAll(memory, memory, 10, ncclInt64, comm, stream));
  CALL(ncclGather(memory, memory, 10, ncclInt32, 0, comm, stream));
  CALL(ncclScatter(memory, memory, 10, ncclUint8, 0, comm, stream));
  CALL(ncclGroupStart());
  CALL(ncclSend(memory, 50, ncclFloat32, 0, comm, stream));
  CALL(ncclRecv(memory, 50, ncclFloat32, 0, comm, stream));
  CALL(ncclGroupEnd());
  CALL(ncclBroadcast(memory, memory, 1000, ncclInt8, 7, comm, stream));
  CALL(ncclAllReduce(memory, memory, 10, static_cast<ncclDataType_t>(14), ncclSum, comm, stream));
  CALL(ncclAllReduce(memory, memory, 10, ncclFloat32, ncclSum, nullptr, stream));
  CALL(ncclGroupEnd());
}

void call_registration(ncclComm_t comm) {
  void* handle = nullptr;
  ncclWindow_t window = nullptr;
  ncclRedOp_t operation = ncclSum;
  float scalar = 0.5F;
  CALL(ncclMemAlloc(&other, bytes));
  CALL(ncclCommRegister(comm, other, bytes, &handle));
  CALL(ncclCommDeregister(comm, handle));
  CALL(ncclCommWindowRegister(comm, other, bytes, &window, NCCL_WIN_DEFAULT));
  CALL(ncclCommWindowDeregister(comm, window));
  CALL(ncclMemFree(other));
  CALL(ncclRedOpCreatePreMulSum(&operation, &scalar, ncclFloat32, ncclScalarHostImmediate, comm));
  CALL(ncclAllReduce(memory, memory, 10, ncclFloat32, operation, comm, stream));
  CALL(ncclRedOpDestroy(operation, comm));
}

void call_nccl() {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclComm_t part = nullptr;
  ncclResult_t state = ncclSuccess;
  int number = 0;
  CALL(ncclGetVersion(&number));
  CALL(ncclGetUniqueId(&id));
  CALL(ncclCommInitRank(&comm, 1, id, 0));
  CALL(ncclCommCount(comm, &number));
  CALL(ncclCommUserRank(comm, &number));
  CALL(ncclCommCuDevice(comm, &number));
  CALL(ncclCommGetAsyncError(comm, &state));
  call_collectives(comm);
  call_registration(comm);
  CALL(ncclCommSplit(comm, 0, 0, &part, nullptr));
  CALL(ncclCommFinalize(part));
  CALL(ncclCommDestroy(part));
  CALL(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &part, nullptr));
  CALL(ncclCommAbort(comm));
  CALL(ncclCommDestroy(comm));
  std::vector<ncclComm_t> comms(2);
  CALL(ncclCommInitAll(comms.data(), 2, nullptr));
  CALL(ncclCommDestroy(comms[0]));
  CALL(ncclCommDestroy(comms[1]));
  CALL(ncclCommInitRank(&comm, 2, id, 5));
}

void call_ends() {
  float milliseconds = 0;
  CALL(cudaEventRecord(event, stream));
  CALL(cudaEventRecord(later, stream));
  CALL(cudaEventSynchronize(later));
  CALL(cudaEventElapsedTime(&milliseconds, event, later));
  CALL(cudaEventDestroy(event));
  CALL(cudaEventDestroy(later));
  CALL(cudaStreamDestroy(stream));
  CALL(cudaStreamDestroy(stream));
  CALL(cudaFreeHost(pinned));
  CALL(cudaFree(memory));
  CALL(cudaProfilerStop());
  CALL(cudaDeviceReset());
}

}  // namespace

// all_calls [MILLISECONDS]: a pause in which an agent's CUPTI comes on.
int main(int argc, char** argv) {
  call_devices();
  call_streams_and_events();
  if (argc > 1) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[1])));
  call_memory();
  call_arrays();
  call_batches();
  call_pool();
  call_launches();
  call_graphs();
  call_nccl();
  call_ends();
  return 0;
}
